package wire

import (
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	pb "github.com/conform-dev/conform/core/plugin/wire/transportv1"
	"github.com/conform-dev/conform/core/transport"
)

// Frame reads the PluginFrames of one connection, one after another: RecvMsg fills it, then Next and Signal say what came. The
// zero value is ready. After an error it is of no use any more.
//
// The bytes of a message are one buffer, and the texts of its events one string: what Next hands out shares them, and they live
// for as long as any of it does. A consumer that keeps one payload therefore keeps its batch, at most MaxMessage.
type Frame struct {
	// MaxDocument is the longest document, in bytes, that may cross in parts; 0 means DefaultDocument.
	MaxDocument int

	kind  protowire.Number // of the content; 0 if there is none that this version knows
	body  []byte           // the content, encoded; of a batch what Next has not read yet
	n     int              // events read of this batch
	text  strings.Builder  // the texts of this batch
	guess int              // how long text was, last time
	item  Item
	parts pending
}

var errDamaged = errors.New("plugin frame is damaged")

// read takes one message. Unknown fields are skipped: a newer plugin may send them.
func (f *Frame) read(data mem.BufferSlice) error {
	f.kind, f.body, f.n = 0, nil, 0
	if f.text.Len() > 0 {
		f.guess = f.text.Len()
	}
	f.text.Reset()
	rest := data.Materialize()
	for len(rest) > 0 {
		num, typ, n := consumeTag(rest)
		if n < 0 {
			return errDamaged
		}
		rest = rest[n:]
		if num > framePart || typ != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(num, typ, rest); n < 0 {
				return errDamaged
			}
			rest = rest[n:]
			continue
		}
		value, n := protowire.ConsumeBytes(rest)
		if n < 0 {
			return errDamaged
		}
		rest = rest[n:]
		// Protobuf would merge a repeated member of a oneof; no encoder writes one, so it is damage.
		if f.kind != 0 {
			return errors.New("plugin frame has two contents")
		}
		f.kind, f.body = num, value
	}
	return nil
}

// Signal is the frame's signal, checked; ok is false if the frame is none.
func (f *Frame) Signal() (s transport.Signal, ok bool, err error) {
	if f.kind != frameSignal {
		return s, false, nil
	}
	if f.parts.on {
		return s, true, errUnfinished
	}
	var in pb.Signal
	if err := proto.Unmarshal(f.body, &in); err != nil {
		return s, true, fmt.Errorf("signal: %w", err)
	}
	s, err = ToSignal(&in)
	return s, true, err
}

// Next is the next event that is complete, checked; nil after the last one. It counts until the next call, what it points to
// stays.
func (f *Frame) Next() (*Item, error) {
	switch f.kind {
	case frameBatch:
		return f.nextOfBatch()
	case framePart:
		f.kind = 0
		return f.parts.add(f.body)
	}
	return nil, nil
}

func (f *Frame) nextOfBatch() (*Item, error) {
	for len(f.body) > 0 {
		num, typ, n := consumeTag(f.body)
		if n < 0 {
			return nil, errDamaged
		}
		f.body = f.body[n:]
		if num != batchEvents || typ != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(num, typ, f.body); n < 0 {
				return nil, errDamaged
			}
			f.body = f.body[n:]
			continue
		}
		inner, n := protowire.ConsumeBytes(f.body)
		if n < 0 {
			return nil, errDamaged
		}
		f.body = f.body[n:]
		if f.parts.on {
			return nil, errUnfinished
		}
		if f.n++; f.n > MaxBatchEvents {
			return nil, fmt.Errorf("a batch has more than %d events", MaxBatchEvents)
		}
		if err := f.event(inner); err != nil {
			return nil, err
		}
		if f.item.size == 0 {
			return &f.item, nil
		}
		f.parts.begin(&f.item)
	}
	return nil, nil
}

// event decodes and checks one event.
func (f *Frame) event(in []byte) error {
	if err := f.decode(in, &f.item); err != nil {
		return err
	}
	limit := f.MaxDocument
	if limit == 0 {
		limit = DefaultDocument
	}
	size := f.item.size
	if size > limit {
		return fmt.Errorf("event.document_bytes is %d, outside 0 to %d (%s)", size, limit, OptionMaxEventBytes)
	}
	if size > 0 && len(f.item.ev.Payload) > 0 {
		return errors.New("event.document and event.document_bytes are both set")
	}
	return f.item.check()
}

// keep copies a text into the string that the texts of this batch share.
func (f *Frame) keep(b []byte) string {
	if f.text.Len() == 0 {
		f.text.Grow(max(len(b), min(f.guess+f.guess/8, len(f.body)+2*len(b))))
	}
	f.text.Write(b)
	all := f.text.String()
	return all[len(all)-len(b):]
}

// consumeTag is protowire's, and refuses field numbers that no message can have, as generated code does.
func consumeTag(in []byte) (protowire.Number, protowire.Type, int) {
	num, typ, n := protowire.ConsumeTag(in)
	if num > protowire.MaxValidNumber {
		n = -1
	}
	return num, typ, n
}
