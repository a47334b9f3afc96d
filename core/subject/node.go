package subject

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Error is one fault of a subject file, with its place.
type Error struct {
	File         string
	Line, Column int
	Text         string
}

// Error is FILE:LINE:COLUMN: what is wrong.
func (e *Error) Error() string { return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Text) }

// node is a part of the document that knows where it stands.
type node struct {
	*yaml.Node
	file string
	name string // its path in the document, for people
}

func (n node) fail(format string, args ...any) error {
	what := fmt.Sprintf(format, args...)
	if n.name != "" {
		what = n.name + ": " + what
	}
	return &Error{n.file, n.Line, n.Column, what}
}

// reader takes one member.
type reader func(n node) error

// members reads a table: every member by its reader, and no other one.
func (n node) members(readers map[string]reader) error {
	if n.Kind != yaml.MappingNode {
		return n.fail("a table is wanted here")
	}
	if len(n.Content) > 2*MaxList {
		return n.fail("more than %d members", MaxList)
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := node{n.Content[i], n.file, n.name}
		name := key.Value
		if key.Kind != yaml.ScalarNode {
			return key.fail("a name is wanted here")
		}
		read, known := readers[name]
		switch {
		case !known:
			return key.fail("unknown key %q; known are %s", clip(name), strings.Join(sorted(readers), ", "))
		case seen[name]:
			return key.fail("%s stands there twice", name)
		}
		seen[name] = true
		if err := read(n.child(i+1, name)); err != nil {
			return err
		}
	}
	return nil
}

// table reads a table of names that the author chooses.
func (n node) table(read func(name string, n node) error) error {
	if n.Kind != yaml.MappingNode {
		return n.fail("a table is wanted here")
	}
	if len(n.Content) > 2*MaxList {
		return n.fail("more than %d members", MaxList)
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := node{n.Content[i], n.file, n.name}
		if key.Kind != yaml.ScalarNode || key.Value == "" || len(key.Value) > MaxText || seen[key.Value] {
			return key.fail("a name is wanted here, and each only once")
		}
		seen[key.Value] = true
		if err := read(key.Value, n.child(i+1, key.Value)); err != nil {
			return err
		}
	}
	return nil
}

func (n node) list(read func(n node) error) error {
	if n.Kind != yaml.SequenceNode {
		return n.fail("a list is wanted here")
	}
	if len(n.Content) > MaxList {
		return n.fail("more than %d entries", MaxList)
	}
	for i := range n.Content {
		if err := read(n.child(i, strconv.Itoa(i))); err != nil {
			return err
		}
	}
	return nil
}

func (n node) child(i int, name string) node {
	if n.name != "" {
		name = n.name + "." + name
	}
	return node{n.Content[i], n.file, name}
}

// text is a line of text that is not empty.
func (n node) text(to *string) error {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" || n.Value == "" {
		return n.fail("a text is wanted here")
	}
	if len(n.Value) > MaxText {
		return n.fail("longer than %d bytes", MaxText)
	}
	*to = n.Value
	return nil
}

func text(to *string) reader { return func(n node) error { return n.text(to) } }

// oneOf is a text of a closed list.
func oneOf(to *string, list []string) reader {
	return func(n node) error {
		if err := n.text(to); err != nil {
			return err
		}
		if !slices.Contains(list, *to) {
			return n.fail("%q is none of %s", clip(*to), strings.Join(list, ", "))
		}
		return nil
	}
}

func texts(to *[]string) reader {
	return func(n node) error {
		return n.list(func(n node) error {
			var s string
			if err := n.text(&s); err != nil {
				return err
			}
			*to = append(*to, s)
			return nil
		})
	}
}

func textTable(to *map[string]string) reader {
	return func(n node) error {
		*to = map[string]string{}
		return n.table(func(name string, n node) error {
			var s string
			if err := n.text(&s); err != nil {
				return err
			}
			(*to)[name] = s
			return nil
		})
	}
}

func count(to *int, least, most int) reader {
	return func(n node) error {
		v, err := strconv.Atoi(n.Value)
		if n.Kind != yaml.ScalarNode || err != nil || v < least || v > most {
			return n.fail("a whole number of %d to %d is wanted here", least, most)
		}
		*to = v
		return nil
	}
}

func span(to *time.Duration, most time.Duration) reader {
	return func(n node) error {
		v, err := time.ParseDuration(n.Value)
		if n.Kind != yaml.ScalarNode || err != nil || v < time.Millisecond || v > most {
			return n.fail("a time of 1ms to %v is wanted here, like 500ms or 25s", most)
		}
		*to = v
		return nil
	}
}

// clip keeps an error to one line.
func clip(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, s)
	if len(s) > 60 {
		s = s[:60] + "..."
	}
	return s
}
