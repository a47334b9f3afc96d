package wire

import (
	"fmt"
	"unicode/utf8"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/transport"
)

// Item is one Event of the protocol, in either form: captured, or a raw document that the host captures. The zero Item is a raw
// document of no bytes.
//
// Raw, and with a defect, ev holds the framing's cursor and id in Pos.Cursor and ID, as the protocol's Event does.
type Item struct {
	ev       event.Event
	captured bool
	size     int // bytes of a document that crosses in parts; its bytes are then not (or not yet) in ev.Payload
}

// Capture makes it from what a transport gave: captured, here, if its members may cross so, else raw. It fails for what an
// Event cannot carry, and its error quotes nothing of d. The item shares d.JSON.
func (it *Item) Capture(d transport.Document) error {
	if err := checkDocument(d); err != nil {
		return err
	}
	*it = Item{captured: true}
	d.Capture(&it.ev)
	if it.ev.Kind == event.Malformed {
		// A sink that takes documents only must come to the same end, so the framing goes with it.
		it.ev.Pos.Cursor, it.ev.ID = d.Cursor, d.ID
		return nil
	}
	if it.longMember() != "" {
		*it = Item{ev: event.Event{Pos: event.Position{Seq: event.NoSeq, Cursor: d.Cursor}, ID: d.ID, Payload: d.JSON}}
	}
	return nil
}

// SetEvent makes it from a captured event, checked as a host checks what it gets. The item shares ev's payload.
func (it *Item) SetEvent(ev *event.Event) error {
	*it = Item{ev: *ev, captured: true}
	if len(ev.Payload) > MaxDocument {
		return tooLarge(len(ev.Payload), MaxDocument)
	}
	if err := it.check(); err != nil {
		return err
	}
	return it.checkUTF8()
}

// Document is the event for a sink that takes documents only. Of a captured one it names the positions in force, which capture
// finds to agree with those of the document.
func (it *Item) Document() transport.Document {
	return transport.Document{JSON: it.ev.Payload, Cursor: it.ev.Pos.Cursor, ID: it.ev.ID}
}

// Event is the captured event; a raw document is captured now. It belongs to the item, and its payload to nobody else.
func (it *Item) Event() *event.Event {
	switch {
	case !it.captured:
		d := it.Document()
		d.Capture(&it.ev)
		it.captured = true
	case it.ev.Kind == event.Malformed:
		it.ev.Pos, it.ev.ID = event.NoPosition, ""
	}
	return &it.ev
}

// Captured says whether the event crossed captured.
func (it *Item) Captured() bool { return it.captured }

// check is what the host makes sure of before it believes a captured event, and all that its gate relies on: a kind that may
// reach a consumer or a defect that capture can give, a usable sequence or none, bounded texts. Decoding has checked that
// they are UTF-8. What the document says is not looked at again: who can lie about its members can lie in it.
func (it *Item) check() error {
	ev := &it.ev
	if !it.captured || ev.Kind == event.Malformed {
		return it.checkOther()
	}
	if ev.Kind > event.Delta {
		return fmt.Errorf("event.kind %d is unknown", ev.Kind)
	}
	if ev.Merge && ev.Kind != event.Snapshot {
		return fmt.Errorf("event.merge is set on a %v", ev.Kind)
	}
	if ev.Pos.Seq != event.NoSeq && !ev.Pos.Seq.Valid() {
		return fmt.Errorf("event.sequence %d is outside 0 to %d", ev.Pos.Seq, event.MaxSeq)
	}
	if len(ev.ID) > event.MaxIDBytes {
		return fmt.Errorf("event.id is %d bytes long, the limit is %d", len(ev.ID), event.MaxIDBytes)
	}
	if name := it.longMember(); name != "" {
		return fmt.Errorf("event.%s is longer than %d bytes", name, MaxMember)
	}
	if len(ev.Payload) == 0 && it.size == 0 {
		return fmt.Errorf("event.document is missing: a %v has one", ev.Kind)
	}
	if ev.Fault != event.None || ev.Detail != "" || ev.Hole {
		return fmt.Errorf("event.kind and event.defect are both set")
	}
	return nil
}

// checkOther is check for a raw document and for a defect.
func (it *Item) checkOther() error {
	ev := &it.ev
	if len(ev.Pos.Cursor) > MaxFraming || len(ev.ID) > MaxFraming {
		return fmt.Errorf("event.cursor or event.id is longer than %d bytes", MaxFraming)
	}
	p := &ev.Pos
	if ev.Merge || p.Seq != event.NoSeq || p.Watermark != "" || p.Timestamp != "" || p.DeltaToken != "" || ev.Trace != nil {
		return fmt.Errorf("event.kind is missing: there are captured members")
	}
	if !it.captured {
		return nil
	}
	if ev.Fault != event.InvalidEvent && ev.Fault != event.CheckpointConflict {
		return fmt.Errorf("event.defect.reason %q is none that capture gives", ev.Fault)
	}
	if ev.Hole && ev.Fault != event.InvalidEvent {
		return fmt.Errorf("event.defect.hole does not go with %v", ev.Fault)
	}
	if len(ev.Detail) > MaxDetail {
		return fmt.Errorf("event.defect.detail is %d bytes long, the limit is %d", len(ev.Detail), MaxDetail)
	}
	return nil
}

// longMember names a text of a captured event that is longer than MaxMember.
func (it *Item) longMember() string {
	p, t := &it.ev.Pos, it.ev.Trace
	switch {
	case len(p.Cursor) > MaxMember:
		return "cursor"
	case len(p.Watermark) > MaxMember:
		return "watermark"
	case len(p.Timestamp) > MaxMember:
		return "timestamp"
	case len(p.DeltaToken) > MaxMember:
		return "delta_token"
	case t != nil && max(len(t.OperationInstance), len(t.Correlation), len(t.Audit), len(t.Proposal)) > MaxMember:
		return "correlation"
	}
	return ""
}

// checkUTF8 is for texts that were not decoded from a message.
func (it *Item) checkUTF8() error {
	ev, p, t := &it.ev, &it.ev.Pos, it.ev.Trace
	ok := utf8.ValidString(p.Cursor) && utf8.ValidString(p.Watermark) && utf8.ValidString(p.Timestamp) && utf8.ValidString(p.DeltaToken) &&
		utf8.ValidString(ev.ID) && utf8.ValidString(ev.Detail)
	if ok && t != nil {
		ok = utf8.ValidString(t.OperationInstance) && utf8.ValidString(t.Correlation) && utf8.ValidString(t.Audit) && utf8.ValidString(t.Proposal)
	}
	if !ok {
		return errText
	}
	return nil
}

// checkDocument refuses what an Event cannot carry.
func checkDocument(d transport.Document) error {
	if len(d.JSON) > MaxDocument {
		return tooLarge(len(d.JSON), MaxDocument)
	}
	if err := checkText("cursor", d.Cursor, MaxFraming); err != nil {
		return err
	}
	return checkText("id", d.ID, MaxFraming)
}

func tooLarge(size, limit int) error {
	return fmt.Errorf("document is %d bytes long, the limit is %d (%s)", size, limit, OptionMaxEventBytes)
}
