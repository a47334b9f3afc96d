package event

// check goes through facts 2.2 in its order and fills e. The first check that fails wins.
func (c *capture) check(e *Event) (Reason, string) {
	t := &c.top
	if t[typ].form != text {
		return InvalidEvent, wrong(typ, "not a string")
	}
	if e.Kind = c.kind(); e.Kind == Malformed {
		return InvalidEvent, wrong(typ, "none of snapshot, upsert, delete, delta")
	}
	for m := eventID; m <= proposal; m++ {
		if t[m].form > text {
			return InvalidEvent, wrong(m, "not a string")
		}
	}
	if f := t[checkpoint].form; f != absent && f != object && f != array {
		return InvalidEvent, wrong(checkpoint, "not an object")
	}
	if f := t[receivedAt].form; f != absent && f != number {
		return InvalidEvent, wrong(receivedAt, "not a number")
	}
	if m, what := c.shape(e); what != "" {
		return InvalidEvent, wrong(m, what)
	}
	if m, what := c.strings(e); what != "" {
		return InvalidEvent, wrong(m, what)
	}
	for m := cursor; m < positions; m++ {
		if what := c.position(m); what != "" {
			return CheckpointConflict, wrong(m, what)
		}
	}
	if v := c.either(sequenceNo); v.form == number {
		e.Pos.Seq = sequence(c.b[v.a:v.b])
	}
	return None, ""
}

func wrong(m member, what string) string { return names[m] + ": " + what }

func (c *capture) kind() Kind {
	v := &c.top[typ]
	name := c.b[v.a:v.b]
	if v.escaped {
		name, _ = unescape(nil, name)
	}
	switch string(name) {
	case "snapshot":
		return Snapshot
	case "upsert":
		return Upsert
	case "delete":
		return Delete
	case "delta":
		return Delta
	}
	return Malformed
}

// shape checks the members that belong to the event's type (step 7). An array passes where an object is asked for, as in
// the reference.
func (c *capture) shape(e *Event) (m member, what string) {
	t := &c.top
	switch e.Kind {
	case Snapshot:
		switch t[replace].form {
		case no:
			e.Merge = true
		case absent, yes:
		default:
			return replace, "not a boolean"
		}
		if t[features].form != array {
			return features, "not an array"
		}
	case Upsert:
		if f := t[feature].form; f != object && f != array {
			return feature, "not an object"
		}
	case Delete:
		if f := t[id].form; f != text && f != number {
			return id, "neither a string nor a number"
		}
	case Delta:
		if f := t[upserts].form; f != absent && f != array {
			return upserts, "not an array"
		}
		if f := t[deletes].form; f != absent && f != array {
			return deletes, "not an array"
		}
	}
	return 0, ""
}

// either is the effective span of a position: the top level if it counts there, else the nested one. An empty string is
// absent (D-17).
func (c *capture) either(m member) *span {
	if v := &c.top[m]; v.form != absent && !v.empty() {
		return v
	}
	return &c.nested[m]
}

func (v *span) empty() bool { return v.form == text && v.a == v.b }

// position checks the type of a position at both levels, then that they agree (step 8).
func (c *capture) position(m member) string {
	want, what := text, "not a string"
	if m == sequenceNo {
		want, what = number, "not a number"
	}
	top, nested := &c.top[m], &c.nested[m]
	if top.form != absent && top.form != want || nested.form != absent && nested.form != want {
		return what
	}
	if top.form == absent || nested.form == absent || top.empty() || nested.empty() {
		return ""
	}
	a, b := c.b[top.a:top.b], c.b[nested.a:nested.b]
	switch {
	case want == number:
		if sameNumber(a, b) {
			return ""
		}
	case !top.escaped && !nested.escaped:
		if string(a) == string(b) {
			return ""
		}
	default:
		a, _ = c.text(nil, top)
		b, _ = c.text(nil, nested)
		if string(a) == string(b) {
			return ""
		}
	}
	return "differs between the event and its checkpoint"
}

const loneSurrogate = "holds a lone surrogate"

// torn says whether a position is a string with a lone surrogate, even if it is not the one that counts.
func (c *capture) torn(m member, v *span) bool {
	if !v.escaped || v.form != text || m == sequenceNo {
		return false
	}
	_, ok := c.text(nil, v)
	return !ok
}

// strings copies what e keeps out of the document, all of it in one allocation, and refuses what a string cannot carry: a
// lone surrogate (D-17), and an id that is too long to be remembered.
func (c *capture) strings(e *Event) (m member, what string) {
	var room [256]byte
	all := room[:0]
	var ends [proposal + 1]int
	ok := true
	for m := cursor; m <= proposal; m++ {
		v := &c.top[m]
		if m < positions {
			if c.torn(m, v) || c.torn(m, &c.nested[m]) {
				return m, loneSurrogate
			}
			v = c.either(m)
		}
		if v.form == text && m != typ && m != sequenceNo {
			if all, ok = c.text(all, v); !ok {
				return m, loneSurrogate
			}
		}
		ends[m] = len(all)
	}
	own := string(all)
	e.Pos.Cursor = own[:ends[cursor]]
	e.Pos.Watermark = own[ends[cursor]:ends[watermark]]
	e.Pos.Timestamp = own[ends[watermark]:ends[timestamp]]
	e.Pos.DeltaToken = own[ends[sequenceNo]:ends[deltaToken]]
	e.ID = own[ends[typ]:ends[eventID]]
	if len(e.ID) > MaxIDBytes {
		return eventID, longID
	}
	if ends[proposal] > ends[eventID] {
		e.Trace = &Correlation{
			OperationInstance: own[ends[eventID]:ends[operationInstance]],
			Correlation:       own[ends[operationInstance]:ends[correlation]],
			Audit:             own[ends[correlation]:ends[audit]],
			Proposal:          own[ends[audit]:ends[proposal]],
		}
	}
	return 0, ""
}
