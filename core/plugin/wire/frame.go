package wire

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	pb "github.com/conform-dev/conform/core/plugin/wire/transportv1"
	"github.com/conform-dev/conform/core/transport"
)

// Frame is one PluginFrame as it arrived. A stream is read with one Frame again and again; what it handed out is void from the
// next RecvMsg on.
type Frame struct {
	buf    mem.Buffer
	events []byte // Batch, encoded; nil if the frame is none
	signal []byte // Signal, encoded
	kind   protowire.Number
}

var errTruncated = errors.New("plugin frame is damaged")

// read takes one message. Unknown fields are skipped: a newer plugin may send them.
func (f *Frame) read(data mem.BufferSlice) error {
	f.Free()
	f.buf = data.MaterializeToBuffer(pool)
	rest := f.buf.ReadOnlyData()
	for len(rest) > 0 {
		num, typ, n := consumeTag(rest)
		if n < 0 {
			return errTruncated
		}
		rest = rest[n:]
		if (num != frameBatch && num != frameSignal) || typ != protowire.BytesType {
			n = protowire.ConsumeFieldValue(num, typ, rest)
			if n < 0 {
				return errTruncated
			}
			rest = rest[n:]
			continue
		}
		value, n := protowire.ConsumeBytes(rest)
		if n < 0 {
			return errTruncated
		}
		rest = rest[n:]
		// Protobuf would merge a repeated member of a oneof; no encoder writes one, so it is damage.
		if f.kind != 0 {
			return errors.New("plugin frame has two contents")
		}
		f.kind = num
		if num == frameBatch {
			f.events = value
		} else {
			f.signal = value
		}
	}
	return nil
}

// consumeTag is protowire's, and refuses field numbers that no message can have, as generated code does.
func consumeTag(in []byte) (protowire.Number, protowire.Type, int) {
	num, typ, n := protowire.ConsumeTag(in)
	if num > protowire.MaxValidNumber {
		n = -1
	}
	return num, typ, n
}

// Free gives the bytes back. The zero value and a freed Frame may be freed again.
func (f *Frame) Free() {
	if f.buf != nil {
		f.buf.Free()
	}
	*f = Frame{}
}

// Empty says that the frame had no content that this version knows.
func (f *Frame) Empty() bool { return f.kind == 0 }

// Signal is the frame's signal, checked; ok is false if the frame is none.
func (f *Frame) Signal() (s transport.Signal, ok bool, err error) {
	if f.kind != frameSignal {
		return s, false, nil
	}
	var in pb.Signal
	if err := proto.Unmarshal(f.signal, &in); err != nil {
		return s, true, fmt.Errorf("signal: %w", err)
	}
	s, err = ToSignal(&in)
	return s, true, err
}

// Next is the frame's next document; ok is false after the last one. JSON is valid until the next RecvMsg.
func (f *Frame) Next() (d transport.Document, ok bool, err error) {
	for len(f.events) > 0 {
		num, typ, n := consumeTag(f.events)
		if n < 0 {
			return d, false, errTruncated
		}
		f.events = f.events[n:]
		if num != batchEvents || typ != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(num, typ, f.events); n < 0 {
				return d, false, errTruncated
			}
			f.events = f.events[n:]
			continue
		}
		inner, n := protowire.ConsumeBytes(f.events)
		if n < 0 {
			return d, false, errTruncated
		}
		f.events = f.events[n:]
		d, err = readEvent(inner)
		return d, err == nil, err
	}
	return d, false, nil
}

func readEvent(in []byte) (d transport.Document, err error) {
	for len(in) > 0 {
		num, typ, n := consumeTag(in)
		if n < 0 {
			return d, errTruncated
		}
		in = in[n:]
		if num > eventID || typ != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(num, typ, in); n < 0 {
				return d, errTruncated
			}
			in = in[n:]
			continue
		}
		value, n := protowire.ConsumeBytes(in)
		if n < 0 {
			return d, errTruncated
		}
		in = in[n:]
		if num != eventDoc && !utf8.Valid(value) {
			return d, errors.New("event.cursor or event.id is not UTF-8")
		}
		switch num {
		case eventDoc:
			d.JSON = value
		case eventCursor:
			d.Cursor = string(value)
		case eventID:
			d.ID = string(value)
		}
	}
	return d, nil
}
