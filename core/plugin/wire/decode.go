package wire

import (
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/conform-dev/conform/core/event"
)

var errText = errors.New("a text of an event is not UTF-8")

// decode reads one Event. What generated code accepts of it is read the same (tested); a kind or a reason of no meaning is
// refused here already.
func (f *Frame) decode(in []byte, it *Item) error {
	*it = Item{ev: event.Event{Pos: event.NoPosition}}
	for i := 0; i < len(in); {
		// Nearly every tag and length is one byte.
		num, typ, n := protowire.Number(in[i]>>3), protowire.Type(in[i]&7), 1
		if in[i] >= 0x80 || num == 0 {
			num, typ, n = consumeTag(in[i:])
		}
		if n < 0 {
			return errDamaged
		}
		i += n
		switch {
		case typ == protowire.BytesType:
			var value []byte
			if i < len(in) && in[i] < 0x80 && int(in[i]) < len(in)-i {
				n = 1 + int(in[i])
				value = in[i+1 : i+n]
			} else if value, n = protowire.ConsumeBytes(in[i:]); n < 0 {
				return errDamaged
			}
			if err := f.bytes(num, value, it); err != nil {
				return err
			}
		case typ == protowire.VarintType:
			var value uint64
			if value, n = protowire.ConsumeVarint(in[i:]); n < 0 {
				return errDamaged
			}
			if err := varint(num, value, it); err != nil {
				return err
			}
		default:
			if n = protowire.ConsumeFieldValue(num, typ, in[i:]); n < 0 {
				return errDamaged
			}
		}
		i += n
	}
	return nil
}

func varint(num protowire.Number, value uint64, it *Item) error {
	switch num {
	case eventKind:
		kind := int32(value) // as generated code cuts it
		if kind < 0 || kind > int32(event.Delta) {
			return fmt.Errorf("event.kind %d is unknown", kind)
		}
		it.ev.Kind = event.Kind(kind)
		it.captured = it.captured || kind != 0
	case eventMerge:
		it.ev.Merge = value != 0
	case eventSequence:
		it.ev.Pos.Seq = event.Seq(value)
		if !it.ev.Pos.Seq.Valid() {
			return fmt.Errorf("event.sequence %d is outside 0 to %d", it.ev.Pos.Seq, event.MaxSeq)
		}
	case eventBytes:
		it.size = int(min(value, math.MaxInt32)) // far above any limit
	}
	return nil
}

func (f *Frame) bytes(num protowire.Number, value []byte, it *Item) error {
	var to *string
	switch num {
	case eventDocument:
		it.ev.Payload = value[:len(value):len(value)]
		return nil
	case eventCursor:
		to = &it.ev.Pos.Cursor
	case eventID:
		to = &it.ev.ID
	case eventWatermark:
		to = &it.ev.Pos.Watermark
	case eventTimestamp:
		to = &it.ev.Pos.Timestamp
	case eventDeltaToken:
		to = &it.ev.Pos.DeltaToken
	case eventCorrelation:
		return f.correlation(value, it)
	case eventDefect:
		return f.defect(value, it)
	default:
		return nil
	}
	if !utf8.Valid(value) {
		return errText
	}
	*to = ""
	if len(value) > 0 {
		*to = f.keep(value)
	}
	return nil
}

func (f *Frame) correlation(in []byte, it *Item) error {
	if it.ev.Trace == nil {
		it.ev.Trace = new(event.Correlation)
	}
	t := it.ev.Trace
	return members(in, func(num protowire.Number, text []byte, _ uint64) error {
		switch num {
		case traceInstance:
			t.OperationInstance = f.keep(text)
		case traceCorrelation:
			t.Correlation = f.keep(text)
		case traceAudit:
			t.Audit = f.keep(text)
		case traceProposal:
			t.Proposal = f.keep(text)
		}
		return nil
	}, traceProposal, 0)
}

func (f *Frame) defect(in []byte, it *Item) error {
	it.captured = true
	err := members(in, func(num protowire.Number, text []byte, value uint64) error {
		switch num {
		case defectReason:
			reason, ok := event.ParseReason(string(text))
			if !ok {
				return fmt.Errorf("event.defect.reason is none of the contract's reasons (%d bytes)", len(text))
			}
			it.ev.Fault = reason
		case defectDetail:
			it.ev.Detail = f.keep(text)
		case defectHole:
			it.ev.Hole = value != 0
		}
		return nil
	}, defectDetail, defectHole)
	if err == nil && it.ev.Fault == event.None {
		err = errors.New("event.defect.reason is missing")
	}
	return err
}

// members reads a small message whose fields up to texts are texts, and whose field flag is a number.
func members(in []byte, give func(num protowire.Number, text []byte, value uint64) error, texts, flag protowire.Number) error {
	for len(in) > 0 {
		num, typ, n := consumeTag(in)
		if n < 0 {
			return errDamaged
		}
		in = in[n:]
		var text []byte
		var value uint64
		known := true
		switch {
		case num <= texts && typ == protowire.BytesType:
			if text, n = protowire.ConsumeBytes(in); n >= 0 && !utf8.Valid(text) {
				return errText
			}
		case num == flag && typ == protowire.VarintType:
			value, n = protowire.ConsumeVarint(in)
		default:
			known = false
			n = protowire.ConsumeFieldValue(num, typ, in)
		}
		if n < 0 {
			return errDamaged
		}
		if known {
			if err := give(num, text, value); err != nil {
				return err
			}
		}
		in = in[n:]
	}
	return nil
}
