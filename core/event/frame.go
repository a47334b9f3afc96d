package event

// Frame lays the cursor and the event id that the wire's own framing named over a captured event (D-43). Each stands in
// where the document has none; empty ones count as absent. If both name one and they differ, the event becomes Malformed:
// checkpoint-conflict for the cursor, which is a position; invalid-event for the id, which is identity (facts 2.2, step 3).
// A malformed event stays as it is.
func (e *Event) Frame(cursor, id string) {
	if e.Kind == Malformed {
		return
	}
	switch {
	case id == "" || id == e.ID:
	case e.ID != "":
		e.malform(InvalidEvent, "eventId: differs between the event and its framing")
		return
	case len(id) > MaxIDBytes:
		e.malform(InvalidEvent, DetailLongID)
		return
	default:
		e.ID = id
	}
	switch {
	case cursor == "" || cursor == e.Pos.Cursor:
	case e.Pos.Cursor != "":
		e.malform(CheckpointConflict, "cursor: differs between the event and its framing")
	default:
		e.Pos.Cursor = cursor
	}
}
