package simulator

import "strconv"

// The faults in what an event says about its place in the stream.

var conflictFault = Spec{
	Name:  "conflict",
	Wires: notOData,
	Doc:   "makes an event disagree with itself: its nested checkpoint names another position than its top level",
	At:    []string{"connection", "request", "sequence", "event"},
	Params: []Param{{Name: "member", Kind: "text", Doc: "where it disagrees", Default: "cursor",
		Values: []string{"cursor", "sequence", "timestamp", "watermark", "deltaToken"}}},
	build: func(a args) any { return conflict(a.text("member")) },
}

type conflict string

func (c conflict) send(d *dispatch) bool {
	d.shape.conflict = string(c)
	return true
}

// appendConflict writes the members that disagree.
func (f *feed) appendConflict(b []byte, at int64, s shape) []byte {
	switch s.conflict {
	case "":
		return b
	case "sequence":
		b = append(strconv.AppendInt(append(b, `,"checkpoint":{"sequence":`...), int64(s.seq)+1, 10), '}')
	case "timestamp":
		b = append(append(append(b, `,"checkpoint":{"timestamp":"`...), timestamp(at+1)...), `"}`...)
	case "cursor":
		b = append(appendString(append(b, `,"checkpoint":{"cursor":`...), other(s.position)), '}')
	default:
		b = appendString(append(append(append(b, `,"`...), s.conflict...), `":`...), "w-1")
		b = append(append(append(b, `,"checkpoint":{"`...), s.conflict...), `":`...)
		b = append(appendString(b, other("w-1")), '}')
	}
	return b
}

// other is a position that this feed never gave out.
func other(position string) string { return position + "-other" }

var otherCursorFault = Spec{
	Name:  "other-cursor",
	Doc:   "sends an event again under another cursor; on an idle stream the last one",
	At:    []string{"connection", "request", "sequence", "event", "ms"},
	build: func(args) any { return &repeat{copies: 1, other: true} },
}

var noPositionFault = Spec{
	Name:  "no-position",
	Wires: notOData,
	Doc:   "sends an event with its number, but without a position to come back with",
	At:    []string{"connection", "request", "sequence", "event"},
	build: func(args) any { return noPosition{} },
}

type noPosition struct{}

func (noPosition) send(d *dispatch) bool {
	d.shape.bare = true
	return true
}

var mergeSnapshotFault = Spec{
	Name:  "merge-snapshot",
	Wires: notOData,
	Doc:   "sends the rows as they are after a change in the change's place, as a snapshot that adds to what is there and replaces nothing",
	At:    []string{"connection", "request", "sequence", "event"},
	build: func(args) any { return mergeSnapshot{} },
}

type mergeSnapshot struct{}

func (mergeSnapshot) send(d *dispatch) bool {
	if d.entry == nil || !d.st.sim.feed.resumable(d.seq) {
		return false
	}
	d.shape.merge = true
	return true
}
