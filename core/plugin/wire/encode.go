package wire

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/conform-dev/conform/core/event"
)

// Field numbers of transport.proto that the hand-written ends use. codec_test.go compares them with the generated code.
const (
	frameBatch  protowire.Number = 1 // PluginFrame.batch
	frameSignal protowire.Number = 2 // PluginFrame.signal
	framePart   protowire.Number = 3 // PluginFrame.part
	batchEvents protowire.Number = 1 // Batch.events

	eventDocument    protowire.Number = 1 // Event
	eventCursor      protowire.Number = 2
	eventID          protowire.Number = 3
	eventKind        protowire.Number = 4
	eventMerge       protowire.Number = 5
	eventSequence    protowire.Number = 6
	eventWatermark   protowire.Number = 7
	eventTimestamp   protowire.Number = 8
	eventDeltaToken  protowire.Number = 9
	eventCorrelation protowire.Number = 10
	eventDefect      protowire.Number = 11
	eventBytes       protowire.Number = 32

	traceInstance    protowire.Number = 1 // Correlation
	traceCorrelation protowire.Number = 2
	traceAudit       protowire.Number = 3
	traceProposal    protowire.Number = 4

	defectReason protowire.Number = 1 // Defect
	defectDetail protowire.Number = 2
	defectHole   protowire.Number = 3

	partOffset protowire.Number = 1 // Part
	partData   protowire.Number = 2
)

// Size is what the item takes in a batch.
func (it *Item) Size() int { return 1 + protowire.SizeBytes(it.inner()) }

// inner is the size of the Event message itself. Tags below 16 take one byte.
func (it *Item) inner() int {
	ev := &it.ev
	n := len(ev.Payload)
	if it.size > 0 {
		n = 2 + protowire.SizeVarint(uint64(it.size))
	} else if n > 0 {
		n = 1 + protowire.SizeBytes(n)
	}
	n += sizeText(ev.Pos.Cursor) + sizeText(ev.ID)
	if !it.captured {
		return n
	}
	if ev.Kind == event.Malformed {
		return n + 1 + protowire.SizeBytes(defectSize(ev))
	}
	n += 2
	if ev.Merge {
		n += 2
	}
	if ev.Pos.Seq >= 0 {
		n += 1 + protowire.SizeVarint(uint64(ev.Pos.Seq))
	}
	n += sizeText(ev.Pos.Watermark) + sizeText(ev.Pos.Timestamp) + sizeText(ev.Pos.DeltaToken)
	if ev.Trace != nil {
		n += 1 + protowire.SizeBytes(traceSize(ev.Trace))
	}
	return n
}

func sizeText(s string) int {
	if s == "" {
		return 0
	}
	return 1 + protowire.SizeBytes(len(s))
}

func defectSize(ev *event.Event) int {
	n := sizeText(ev.Fault.String()) + sizeText(ev.Detail)
	if ev.Hole {
		n += 2
	}
	return n
}

func traceSize(t *event.Correlation) int {
	return sizeText(t.OperationInstance) + sizeText(t.Correlation) + sizeText(t.Audit) + sizeText(t.Proposal)
}

// appendEvent appends the item as Batch.events, in the order of the field numbers.
func (it *Item) appendEvent(b []byte) []byte {
	ev := &it.ev
	b = protowire.AppendVarint(append(b, tag(batchEvents, protowire.BytesType)), uint64(it.inner()))
	if len(ev.Payload) > 0 && it.size == 0 {
		b = protowire.AppendBytes(append(b, tag(eventDocument, protowire.BytesType)), ev.Payload)
	}
	b = appendText(b, eventCursor, ev.Pos.Cursor)
	b = appendText(b, eventID, ev.ID)
	switch {
	case !it.captured:
	case ev.Kind == event.Malformed:
		b = appendDefect(b, ev)
	default:
		b = appendMembers(b, ev)
	}
	if it.size > 0 {
		b = protowire.AppendTag(b, eventBytes, protowire.VarintType)
		b = protowire.AppendVarint(b, uint64(it.size))
	}
	return b
}

func appendMembers(b []byte, ev *event.Event) []byte {
	b = append(b, tag(eventKind, protowire.VarintType), byte(ev.Kind))
	if ev.Merge {
		b = append(b, tag(eventMerge, protowire.VarintType), 1)
	}
	if ev.Pos.Seq >= 0 {
		b = protowire.AppendVarint(append(b, tag(eventSequence, protowire.VarintType)), uint64(ev.Pos.Seq))
	}
	b = appendText(b, eventWatermark, ev.Pos.Watermark)
	b = appendText(b, eventTimestamp, ev.Pos.Timestamp)
	b = appendText(b, eventDeltaToken, ev.Pos.DeltaToken)
	if t := ev.Trace; t != nil {
		b = protowire.AppendVarint(append(b, tag(eventCorrelation, protowire.BytesType)), uint64(traceSize(t)))
		b = appendText(b, traceInstance, t.OperationInstance)
		b = appendText(b, traceCorrelation, t.Correlation)
		b = appendText(b, traceAudit, t.Audit)
		b = appendText(b, traceProposal, t.Proposal)
	}
	return b
}

func appendDefect(b []byte, ev *event.Event) []byte {
	b = protowire.AppendVarint(append(b, tag(eventDefect, protowire.BytesType)), uint64(defectSize(ev)))
	b = appendText(b, defectReason, ev.Fault.String())
	b = appendText(b, defectDetail, ev.Detail)
	if ev.Hole {
		b = append(b, tag(defectHole, protowire.VarintType), 1)
	}
	return b
}

// tag is the one byte of a tag below 16.
func tag(num protowire.Number, typ protowire.Type) byte { return byte(num)<<3 | byte(typ) }

func appendText(b []byte, num protowire.Number, s string) []byte {
	if s == "" {
		return b
	}
	return protowire.AppendString(append(b, tag(num, protowire.BytesType)), s)
}
