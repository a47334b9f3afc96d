package inspect

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// documents cuts a stream of JSON documents at line ends: a document goes on until its brackets are closed, so that both
// one per line and one over many lines come out whole. A line end inside a string ends it too: no JSON has one there, and
// what was cut off must not swallow what follows. Empty lines between documents are passed over.
type documents struct {
	in    *bufio.Reader
	limit int // bytes of one document
	line  int // that was read last, from 1
	ended bool

	doc      []byte
	depth    int
	inString bool
	escaped  bool
}

func newDocuments(in io.Reader, limit int) *documents {
	return &documents{in: bufio.NewReaderSize(in, readBytes), limit: limit}
}

// next gives the next document and the line in which it begins; io.EOF behind the last one, *LineError for one above the
// limit.
func (d *documents) next() (doc []byte, line int, err error) {
	d.doc, d.depth, d.inString, d.escaped = d.doc[:0], 0, false, false
	begin := 0
	for fresh := true; !d.ended; {
		part, err := d.in.ReadSlice('\n')
		switch {
		case err == io.EOF:
			d.ended = true
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return nil, 0, err
		}
		if fresh && len(part) > 0 {
			d.line++
		}
		fresh = err == nil
		if begin == 0 && space(part, 0) < len(part) {
			begin = d.line
		}
		if begin == 0 {
			continue
		}
		if len(d.doc)+len(part) > d.limit {
			return nil, 0, &LineError{begin, 1, fmt.Sprintf("the document that begins here is longer than %d bytes", d.limit)}
		}
		d.doc = append(d.doc, part...)
		d.follow(part)
		if fresh && (d.inString || d.depth <= 0) {
			break
		}
	}
	if begin == 0 {
		return nil, 0, io.EOF
	}
	return bytes.TrimRight(d.doc, " \t\r\n"), begin, nil
}

// follow counts the brackets of a part.
func (d *documents) follow(part []byte) {
	for _, c := range part {
		switch {
		case c == '\n':
		case d.escaped:
			d.escaped = false
		case d.inString:
			d.escaped, d.inString = c == '\\', c != '"'
		case c == '"':
			d.inString = true
		case c == '{' || c == '[':
			d.depth++
		case c == '}' || c == ']':
			d.depth--
		}
	}
}
