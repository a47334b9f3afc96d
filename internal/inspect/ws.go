package inspect

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/conform-dev/conform/plugins/websocket"
)

// WSOptions say how a server's frames are read.
type WSOptions struct {
	MaxMessageBytes int  // 1 to websocket.CeilingMaxMessageBytes
	Deflate         bool // permessage-deflate was agreed
	NoTakeover      bool // with server_no_context_takeover
}

// Violation is the error of a stream with a frame that a server must not send. Nothing behind it was read.
type Violation struct {
	Name   string
	Frame  uint64 // from 1
	Offset int64  // in the stream of frames, from 0
	Clause string
}

// Error names the violation, the place and the clause.
func (e *Violation) Error() string {
	return fmt.Sprintf("%s: frame %d, at byte %d of the frames (%s)", e.Name, e.Frame, e.Offset, e.Clause)
}

// wsFrame is the line of one frame.
type wsFrame struct {
	Frame      uint64  `json:"frame"`
	Offset     int64   `json:"offset"`
	Verdict    string  `json:"verdict"` // ok, or violation
	Kind       string  `json:"kind,omitempty"`
	Opcode     int     `json:"opcode"`
	Fin        bool    `json:"fin"`
	Compressed bool    `json:"compressed,omitempty"`
	Length     *int64  `json:"length,omitempty"`
	Message    *int64  `json:"messageOffset,omitempty"`
	Text       *string `json:"text,omitempty"`
	Hex        *string `json:"hex,omitempty"`
	Code       uint16  `json:"code,omitempty"`
	Reason     *string `json:"reason,omitempty"`
	Violation  string  `json:"violation,omitempty"`
	Clause     string  `json:"clause,omitempty"`
	CloseWith  uint16  `json:"closeWith,omitempty"`
}

// wsEnd is the last line: what the stream was cut in, if it was.
type wsEnd struct {
	Frames     uint64 `json:"frames"`
	Bytes      int64  `json:"bytes"` // up to the violation, if there was one
	Unfinished int64  `json:"unfinished"`
	Ended      string `json:"ended"` // closed, violation, or cut: without a close frame (1006)
}

// WS reads what a server sent, as hex digits, and writes one JSON line per frame as it is complete, then one that sums up. White
// space between bytes counts for nothing, and neither does what stands behind a # on a line. It fails with *Violation for a
// frame that a server must not send, after its line and the last one, with *LineError for a line that is not hex, and with the
// error of in or out: in these cases the last line is not written.
func WS(in io.Reader, out io.Writer, o WSOptions) error {
	if o.MaxMessageBytes < 1 || o.MaxMessageBytes > websocket.CeilingMaxMessageBytes {
		return fmt.Errorf("inspect: maxMessageBytes is %d, but must be between 1 and %d", o.MaxMessageBytes, websocket.CeilingMaxMessageBytes)
	}
	w := wsReader{
		d:      websocket.NewDecoder(o.MaxMessageBytes, websocket.Deflate{On: o.Deflate, Takeover: o.Deflate && !o.NoTakeover}),
		buffer: bufio.NewWriter(out),
	}
	w.out = encoder(w.buffer)
	cause := w.read(in)
	var bad *Violation
	if cause != nil && !errors.As(cause, &bad) {
		if err := w.buffer.Flush(); err != nil {
			return err
		}
		return cause
	}
	end := wsEnd{Frames: w.d.Frames(), Bytes: w.d.Offset(), Unfinished: w.d.Unfinished(), Ended: "cut"}
	switch {
	case bad != nil:
		end.Ended, end.Bytes = "violation", bad.Offset // how much had come beyond it depends on the reads
	case w.closed:
		end.Ended = "closed"
	}
	if err := w.out.Encode(end); err != nil {
		return err
	}
	if err := w.buffer.Flush(); err != nil {
		return err
	}
	return cause
}

type wsReader struct {
	d      *websocket.Decoder
	hex    hexReader
	closed bool
	buffer *bufio.Writer
	out    *json.Encoder
}

// read takes the frames in. Lines are written out once per read, so that nothing waits for bytes to come.
func (w *wsReader) read(in io.Reader) error {
	buf, raw := make([]byte, readBytes), make([]byte, 0, readBytes)
	for {
		n, err := in.Read(buf)
		raw, flawed := w.hex.decode(raw[:0], buf[:n])
		w.d.Feed(raw)
		for f, ok := w.d.Next(); ok; f, ok = w.d.Next() {
			if bad := w.frame(f); bad != nil {
				return bad
			}
		}
		if err := w.buffer.Flush(); err != nil {
			return err
		}
		switch {
		case flawed != nil:
			return flawed
		case err == io.EOF:
			return w.hex.end()
		case err != nil:
			return err
		}
	}
}

func (w *wsReader) frame(f websocket.Frame) error {
	line := wsFrame{Frame: f.Number, Offset: f.At, Verdict: "ok", Opcode: int(f.Opcode), Fin: f.Fin, Compressed: f.RSV1}
	if f.Kind == websocket.Invalid {
		line.Verdict, line.Violation, line.Clause, line.CloseWith = "violation", string(f.Violation), f.Violation.Clause(), f.Violation.Code()
		line.Compressed = false
		if err := w.out.Encode(line); err != nil {
			return err
		}
		return &Violation{string(f.Violation), f.Number, f.At, f.Violation.Clause()}
	}
	line.Kind, line.Length = f.Kind.String(), &f.Length
	switch f.Kind {
	case websocket.Fragment:
	case websocket.CloseFrame:
		reason := string(f.Payload)
		line.Code, line.Reason, w.closed = f.Code, &reason, true
	case websocket.TextMessage, websocket.BinaryMessage:
		line.Message = &f.MessageAt
		fallthrough
	default:
		line.Text, line.Hex = shown(f.Kind != websocket.BinaryMessage, f.Payload)
	}
	return w.out.Encode(line)
}

// shown is a payload as text where it is meant to be and can be, otherwise as hex.
func shown(text bool, b []byte) (asText, asHex *string) {
	if text && utf8.Valid(b) {
		s := string(b)
		return &s, nil
	}
	s := hex.EncodeToString(b)
	return nil, &s
}

// hexReader reads hex digits that come cut anywhere.
type hexReader struct {
	line, column int // of what was read last, from 0
	comment      bool
	half         bool
	high         byte
}

func (h *hexReader) decode(dst, in []byte) ([]byte, error) {
	for _, c := range in {
		h.column++
		digit := byte(0)
		switch {
		case c == '\n':
			if h.half {
				return dst, h.flaw("half a byte at the end of the line")
			}
			h.line, h.column, h.comment = h.line+1, 0, false
			continue
		case h.comment:
			continue
		case c == '#':
			h.comment = true
			continue
		case c == ' ' || c == '\t' || c == '\r':
			continue
		case c >= '0' && c <= '9':
			digit = c - '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			digit = c | 0x20 - 'a' + 10
		default:
			return dst, h.flaw("not a hex digit")
		}
		if h.half {
			dst = append(dst, h.high<<4|digit)
		}
		h.high, h.half = digit, !h.half
	}
	return dst, nil
}

func (h *hexReader) end() error {
	if h.half {
		return h.flaw("half a byte at the end")
	}
	return nil
}

func (h *hexReader) flaw(what string) error {
	return &LineError{Line: h.line + 1, Byte: h.column, What: what}
}
