// Package strict reads small documents that people write, JSON and YAML, and refuses what it does not know: an unknown or
// repeated member, a wrong type, a number out of range. Every refusal names the member and its place in the text.
package strict

import (
	"fmt"
	"strconv"
	"strings"
)

// Limits of a document.
const (
	// MaxDepth bounds the nesting: a schedule needs 4 levels, a feature's payload some more.
	MaxDepth = 64
	// MaxMembers bounds the members of one object, which are looked through for each new one.
	MaxMembers = 4096
)

// Kind is what a node is.
type Kind string

// The kinds.
const (
	Object Kind = "object"
	List   Kind = "list"
	Text   Kind = "text"
	Number Kind = "number"
	Bool   Kind = "boolean"
	Null   Kind = "null"
)

// Node is one value of a document with its place.
type Node struct {
	Kind    Kind
	Text    string // of a text, number or boolean
	Raw     []byte // the JSON text of the value; nil in YAML
	Line    int    // from 1
	Column  int    // from 1, in bytes
	Path    string // for people: faults[2].at.sequence
	Members []Member
	Items   []*Node
}

// Member is one member of an object.
type Member struct {
	Name  string
	Value *Node
	Line  int // of the name
	Col   int
}

// Error is a refusal.
type Error struct {
	Member string // path of the member, empty for the document itself
	Line   int
	Column int
	Detail string
}

// Error is line:column: member: detail.
func (e *Error) Error() string {
	if e.Member == "" {
		return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Detail)
	}
	return fmt.Sprintf("%d:%d: %s: %s", e.Line, e.Column, e.Member, e.Detail)
}

// Refuse makes the refusal of n.
func (n *Node) Refuse(format string, args ...any) error {
	return &Error{n.Path, n.Line, n.Column, fmt.Sprintf(format, args...)}
}

// Only checks that n is an object and has no member but the known ones.
func (n *Node) Only(known ...string) error {
	if n.Kind != Object {
		return n.Refuse("must be an object, is %s", article(n.Kind))
	}
	for _, m := range n.Members {
		found := false
		for _, k := range known {
			found = found || k == m.Name
		}
		if !found && len(known) == 0 {
			return &Error{n.at(m.Name), m.Line, m.Col, "unknown member; none is known here"}
		}
		if !found {
			return &Error{n.at(m.Name), m.Line, m.Col, fmt.Sprintf("unknown member; known are %s", strings.Join(known, ", "))}
		}
	}
	return nil
}

// Get is the member with the given name, nil if there is none.
func (n *Node) Get(name string) *Node {
	for _, m := range n.Members {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}

// Int reads the integer member name into p; an absent one leaves p alone. Bounds are inclusive.
func (n *Node) Int(name string, p *int64, least, most int64) error {
	m := n.Get(name)
	if m == nil {
		return nil
	}
	if m.Kind != Number {
		return m.Refuse("must be a number, is %s", article(m.Kind))
	}
	v, err := strconv.ParseInt(m.Text, 10, 64)
	if err != nil || v < least || v > most {
		return m.Refuse("%s is not a whole number in %d to %d", clip(m.Text), least, most)
	}
	*p = v
	return nil
}

// String reads the text member name into p; an absent one leaves p alone.
func (n *Node) String(name string, p *string) error {
	m := n.Get(name)
	if m == nil {
		return nil
	}
	if m.Kind != Text {
		return m.Refuse("must be a text, is %s", article(m.Kind))
	}
	*p = m.Text
	return nil
}

// Flag reads the boolean member name into p; an absent one leaves p alone.
func (n *Node) Flag(name string, p *bool) error {
	m := n.Get(name)
	if m == nil {
		return nil
	}
	if m.Kind != Bool {
		return m.Refuse("must be true or false, is %s", article(m.Kind))
	}
	*p = m.Text == "true"
	return nil
}

// Array is the list member name, at most most long; an absent one is empty.
func (n *Node) Array(name string, most int) ([]*Node, error) {
	m := n.Get(name)
	if m == nil {
		return nil, nil
	}
	if m.Kind != List {
		return nil, m.Refuse("must be a list, is %s", article(m.Kind))
	}
	if len(m.Items) > most {
		return nil, m.Refuse("has %d entries, limit %d", len(m.Items), most)
	}
	return m.Items, nil
}

func (n *Node) at(name string) string {
	if n.Path == "" {
		return name
	}
	return n.Path + "." + name
}

func article(k Kind) string {
	if k == Object {
		return "an object"
	}
	if k == Null {
		return "null"
	}
	return "a " + string(k)
}

func clip(s string) string {
	if len(s) > 40 {
		return s[:40] + "..."
	}
	return s
}
