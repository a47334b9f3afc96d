package trace

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// MaxLine bounds one line of a trace file, in bytes. A bounded record has at most 74 texts (10 members, 64 arguments) of
// MaxText bytes, each byte at most six in JSON; no honest record comes near that, and a reader must not take more.
const MaxLine = 2 << 20

// Encode writes records as NDJSON: one object per line, members in the order of Record, arguments sorted by name, nothing
// escaped that JSON does not ask for. The same records always give the same bytes.
func Encode(w io.Writer, records []Record) error {
	bw := bufio.NewWriter(w)
	enc := encoder(bw)
	for i := range records {
		if err := enc.Encode(&records[i]); err != nil {
			return fmt.Errorf("trace record %d: %w", records[i].N, err)
		}
	}
	return bw.Flush()
}

// Line is the one line of r, with its line end.
func Line(r Record) ([]byte, error) {
	var b bytes.Buffer
	if err := encoder(&b).Encode(&r); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func encoder(w io.Writer) *json.Encoder {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc
}

// ErrTrace is wrapped by every error of Decode: the file is no trace as Encode writes it.
var ErrTrace = errors.New("not a conform trace")

// Decode reads what Encode wrote, at most MaxRecords records. It is strict: each line must be byte for byte what Encode
// would write and of a known kind, and the records must be numbered from 1 without a hole, so that a doctored or truncated file is noticed.
func Decode(r io.Reader) ([]Record, error) {
	br := bufio.NewReader(io.LimitReader(r, int64(MaxRecords)*1024+1))
	var out []Record
	for {
		line, err := readLine(br)
		if err == io.EOF {
			return out, nil
		}
		n := len(out) + 1
		if err != nil {
			return nil, fmt.Errorf("%w: line %d: %w", ErrTrace, n, err)
		}
		if n > MaxRecords {
			return nil, fmt.Errorf("%w: more than %d records", ErrTrace, MaxRecords)
		}
		rec, err := decodeLine(line)
		if err != nil {
			return nil, fmt.Errorf("%w: line %d: %w", ErrTrace, n, err)
		}
		if rec.N != n {
			return nil, fmt.Errorf("%w: line %d has number %d", ErrTrace, n, rec.N)
		}
		out = append(out, rec)
	}
}

func readLine(br *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := br.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > MaxLine {
			return nil, fmt.Errorf("longer than %d bytes", MaxLine)
		}
		switch {
		case err == nil:
			return line, nil
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && len(line) > 0:
			return nil, errors.New("last line is cut short")
		default:
			return nil, err
		}
	}
}

func decodeLine(line []byte) (Record, error) {
	var r Record
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil {
		return r, err
	}
	if !Known(r.Actor, r.Kind) {
		return r, fmt.Errorf("%q has no records of kind %q", r.Actor, r.Kind)
	}
	again, err := Line(r)
	if err != nil {
		return r, err
	}
	if !bytes.Equal(again, line) {
		return r, errors.New("not in canonical form")
	}
	return r, nil
}
