// Package inspect shows what a part of conform makes of something a person holds in hand: sse, ws and odata what the decoders make of
// bytes, gate what the delivery gate makes of inputs, checkpoint and screen what a store would make of documents and texts.
// Nothing here decides anything: the parts are the ones that certify runs use. docs/inspect.md is the manual.
package inspect

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/conform-dev/conform/plugins/sse"
)

// TooLarge is the error of a stream with a line or event above the limit (D-32). Nothing behind it was read.
type TooLarge struct {
	Limit  int   // bytes
	Offset int64 // in the stream, from 0: the first byte of the event
}

// Error names the limit and the place.
func (e *TooLarge) Error() string {
	return fmt.Sprintf("frame-too-large: the event that begins at byte %d of the stream is above the limit of %d bytes", e.Offset, e.Limit)
}

// sseEvent is the line of one event. ID and LastEventID are one text under its two names: the id in force, and what
// EventSource calls it.
type sseEvent struct {
	Type        string `json:"type"`
	Data        string `json:"data"`
	ID          string `json:"id"`
	LastEventID string `json:"lastEventId"`
	RetryMs     *int64 `json:"retryMs"`
}

// sseEnd is the last line: what a reconnect would use.
type sseEnd struct {
	ID          string `json:"id"`
	LastEventID string `json:"lastEventId"`
	RetryMs     *int64 `json:"retryMs"`
}

type sseError struct {
	Error         string `json:"error"`
	MaxEventBytes int    `json:"maxEventBytes"`
	Offset        int64  `json:"offset"`
}

// readBytes is the size of one read: what a pipe holds is taken in two or three.
const readBytes = 32 << 10

// SSE reads an event stream to its end and writes one JSON line per event as it arrives, then one with the id and the retry
// in force. maxEventBytes is 1 to sse.CeilingMaxEventBytes. It fails with *TooLarge for an event above the limit, after a
// line that says so, and with the error of in or out. The last line is written in every case but the last.
func SSE(in io.Reader, out io.Writer, maxEventBytes int) error {
	if maxEventBytes < 1 || maxEventBytes > sse.CeilingMaxEventBytes {
		return fmt.Errorf("inspect: maxEventBytes is %d, but must be between 1 and %d", maxEventBytes, sse.CeilingMaxEventBytes)
	}
	s := sseReader{d: sse.NewDecoder(maxEventBytes), buffer: bufio.NewWriter(out)}
	s.out = encoder(s.buffer)
	cause := s.read(in)
	var large *TooLarge
	if errors.As(cause, &large) {
		s.write(sseError{"frame-too-large", large.Limit, large.Offset})
	}
	id := string(s.d.LastID())
	s.write(sseEnd{id, id, s.retry})
	if err := s.flush(); err != nil {
		return err
	}
	return cause
}

type sseReader struct {
	d      *sse.Decoder
	retry  *int64
	buffer *bufio.Writer
	out    *json.Encoder
	failed error // of out
}

func (s *sseReader) write(line any) {
	if s.failed == nil {
		s.failed = s.out.Encode(line)
	}
}

func (s *sseReader) flush() error {
	if s.failed == nil {
		s.failed = s.buffer.Flush()
	}
	return s.failed
}

// read takes the stream in. Lines are written out once per read, so that nothing waits for bytes to come.
func (s *sseReader) read(in io.Reader) error {
	buf := make([]byte, readBytes)
	for {
		n, err := in.Read(buf)
		s.d.Feed(buf[:n])
		for b, ok := s.d.Next(); ok; b, ok = s.d.Next() {
			switch b.Kind {
			case sse.EventBlock:
				s.event(b)
			case sse.RetryLine:
				ms := b.Retry
				s.retry = &ms
			case sse.TooLarge:
				return &TooLarge{s.d.Max(), b.At}
			}
		}
		if err := s.flush(); err != nil {
			return err
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

func (s *sseReader) event(b sse.Block) {
	name, id := string(b.Event), string(b.ID)
	if name == "" {
		name = "message"
	}
	s.write(sseEvent{name, string(b.Data), id, id, s.retry})
}

// encoder writes JSON lines for people: `<` stays `<`.
func encoder(out io.Writer) *json.Encoder {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	return e
}
