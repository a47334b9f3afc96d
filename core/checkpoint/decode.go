package checkpoint

import (
	"errors"
	"fmt"

	"github.com/conform-dev/conform/core/event"
)

// Decode reads an untrusted checkpoint (facts 1.4). Members that the contract does not name are passed over and dropped.
// Numbers are read exactly; an id list of more than MaxRecentIDs is refused by its length, its entries unread. It fails
// with invalid-checkpoint for everything else: bytes that are not strict JSON, a named member twice, a wrong kind, version
// or type, a lone surrogate in a position or an id (D-17), a savedAt that is no date. The error names the member, never a
// value.
func Decode(doc []byte) (Checkpoint, error) {
	var c Checkpoint
	top, err := split(doc, "", "kind", "version", "context", "resume", "recentEventIds", "savedAt")
	if err != nil {
		return c, err
	}
	if err := top.header(Kind, Version); err != nil {
		return c, err
	}
	if c.Context, err = decodeContext(top.raw("context")); err != nil {
		return Checkpoint{}, err
	}
	if c.Resume, err = decodePosition(top.raw("resume"), false); err != nil {
		return Checkpoint{}, err
	}
	if c.RecentIDs, err = top.texts("recentEventIds"); err != nil {
		return Checkpoint{}, err
	}
	if c.SavedAt, err = top.time("savedAt"); err != nil {
		return Checkpoint{}, err
	}
	if err := c.Check(); err != nil {
		return Checkpoint{}, err
	}
	return c, nil
}

// DecodeContext reads an untrusted resume context (facts 1.3) and validates it.
func DecodeContext(doc []byte) (Context, error) {
	c, err := decodeContext(doc)
	if err != nil {
		return Context{}, err
	}
	return c.Validate()
}

func decodeContext(doc []byte) (Context, error) {
	var c Context
	names := []string{"kind", "version"}
	for _, m := range c.members() {
		names = append(names, m.name)
	}
	o, err := split(doc, "context", names...)
	if err != nil {
		return c, err
	}
	if err := o.header(ContextKind, ContextVersion); err != nil {
		return c, err
	}
	for _, m := range c.members() {
		if *m.value, err = o.text(m.name); err != nil {
			return Context{}, err
		}
	}
	return c, nil
}

// decodePosition reads a resume object. A closed one holds nothing beside the five positions.
func decodePosition(doc []byte, closed bool) (event.Position, error) {
	p := event.NoPosition
	o, err := split(doc, "resume", "sequence", "cursor", "watermark", "timestamp", "deltaToken")
	if err != nil {
		return p, err
	}
	if closed && o.unknown > 0 {
		return p, fail(event.InvalidCheckpoint, "resume holds an unknown member")
	}
	if p.Seq, err = o.sequence("sequence"); err != nil {
		return event.NoPosition, err
	}
	for _, m := range positions(&p) {
		if o.raw(m.name) == nil {
			continue
		}
		if *m.value, err = o.text(m.name); err != nil {
			return event.NoPosition, err
		}
	}
	return p, checkPosition(p)
}

// object is an object that was cut into its named members without looking into them.
type object struct {
	path    string
	members map[string][]byte
	unknown int // members beside the named ones
}

// split cuts an object into the raw values of the named members. The whole of doc must be JSON. A list that is too long
// ends the reading at its first entry beyond the limit.
func split(doc []byte, path string, names ...string) (*object, error) {
	o := &object{path: path, members: make(map[string][]byte, len(names))}
	if doc == nil {
		return nil, o.wrong("", "is missing")
	}
	s, err := newScanner(doc)
	if err != nil {
		return nil, fail(event.InvalidCheckpoint, err.Error())
	}
	if s.peek() != '{' {
		return nil, o.wrong("", "is no object")
	}
	known := func(name string) bool {
		for _, n := range names {
			if n == name {
				return true
			}
		}
		return false
	}
	err = s.object(func(name string) error {
		if !known(name) {
			o.unknown++
			return s.skip()
		}
		if o.members[name] != nil {
			return s.fail("a member named twice")
		}
		s.peek()
		from := s.at
		if name == "recentEventIds" && s.peek() == '[' {
			if err := s.skipList(MaxRecentIDs); err != nil {
				return err
			}
		} else if err := s.skip(); err != nil {
			return err
		}
		o.members[name] = s.doc[from:s.at]
		return nil
	})
	if err == nil {
		err = s.end()
	}
	switch {
	case errors.Is(err, errTooMany):
		return nil, tooManyIDs()
	case err != nil:
		return nil, fail(event.InvalidCheckpoint, err.Error())
	}
	return o, nil
}

// skipList passes over an array of at most limit entries.
func (s *scanner) skipList(limit int) error {
	return s.array(func(i int) error {
		if i == limit {
			return errTooMany
		}
		return s.skip()
	})
}

func (o *object) raw(name string) []byte { return o.members[name] }

// wrong is the error about a member, or about the object itself when name is empty.
func (o *object) wrong(name, what string) error {
	path := o.path
	switch {
	case path == "" && name == "":
		path = "checkpoint"
	case path == "":
		path = name
	case name != "":
		path += "." + name
	}
	return fail(event.InvalidCheckpoint, path+" "+what)
}

// header checks kind and version.
func (o *object) header(kind string, version event.Seq) error {
	if text, err := o.text("kind"); err != nil || text != kind {
		return o.wrong("kind", "is not "+kind)
	}
	if v, err := o.sequence("version"); err != nil || v != version {
		return o.wrong("version", fmt.Sprintf("is not %d", version))
	}
	return nil
}

// value opens the raw value of a member, which split has already found to be JSON.
func (o *object) value(name string) *scanner { return &scanner{doc: o.members[name]} }

func (o *object) text(name string) (string, error) {
	text, err := o.value(name).text()
	if err != nil {
		return "", o.wrong(name, "is no string")
	}
	return text, nil
}

func (o *object) sequence(name string) (event.Seq, error) {
	text, err := o.value(name).number()
	if err != nil {
		return event.NoSeq, o.wrong(name, "is no number")
	}
	n, ok := exactSeq(text)
	if !ok {
		return event.NoSeq, o.wrong(name, "is not a safe integer")
	}
	return n, nil
}

func (o *object) time(name string) (int64, error) {
	text, err := o.text(name)
	if err != nil {
		return 0, err
	}
	ms, ok := ParseTime(text)
	if !ok {
		return 0, o.wrong(name, "is no date")
	}
	return ms, nil
}

func (o *object) texts(name string) ([]string, error) {
	s := o.value(name)
	if s.peek() != '[' {
		return nil, o.wrong(name, "is no array")
	}
	out := []string{}
	err := s.array(func(i int) error {
		text, err := s.text()
		if err != nil {
			return o.wrong(fmt.Sprintf("%s[%d]", name, i), "is no string")
		}
		out = append(out, text)
		return nil
	})
	return out, err
}
