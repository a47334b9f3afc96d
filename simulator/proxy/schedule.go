package proxy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Limits of a schedule.
const (
	// MaxFile is how long its text may be, in bytes.
	MaxFile = 256 << 10
	// MaxConnections bounds the connections that a schedule speaks of.
	MaxConnections = 1000
	// MaxFaults bounds the faults of one connection.
	MaxFaults = 64
	// MaxTime is the ceiling of a time that is waited.
	MaxTime = 10 * time.Minute
	// MaxOffset is the ceiling of a place in the bytes of one direction.
	MaxOffset = 1 << 40
)

// Schedule is what is done to which connection.
type Schedule struct {
	Connections [][]Fault // of the n-th connection, from the first
	Rest        []Fault   // of all later ones
}

// Of are the faults of connection n, from 1.
func (s *Schedule) Of(n int) []Fault {
	if n >= 1 && n <= len(s.Connections) {
		return s.Connections[n-1]
	}
	return s.Rest
}

// Side is where bytes come from.
type Side string

// The sides.
const (
	Client Side = "client"
	Server Side = "server"
)

// Fault is one thing that happens to a connection. Which members count is said with each kind.
type Fault struct {
	Kind  Kind          `yaml:"fault"`
	From  Side          `yaml:"from"`  // the bytes it happens to; refuse has none
	At    int64         `yaml:"at"`    // behind so many of them; 0: before the first
	For   time.Duration `yaml:"for"`   // stall; 0: for good
	By    time.Duration `yaml:"by"`    // delay
	Bytes int           `yaml:"bytes"` // drip
	Every time.Duration `yaml:"every"` // drip

	line int
}

// Parse reads a schedule. An error names file, line and what is wrong there.
func Parse(name string, data []byte) (*Schedule, error) {
	if len(data) > MaxFile {
		return nil, fmt.Errorf("%s: longer than %d bytes", name, MaxFile)
	}
	var doc struct {
		Connections []struct {
			Faults []Fault `yaml:"faults"`
		} `yaml:"connections"`
		Rest []Fault `yaml:"rest"`
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return &Schedule{}, nil
		}
		return nil, fmt.Errorf("%s: %s", name, strings.Join(strings.Fields(strings.TrimPrefix(err.Error(), "yaml: ")), " "))
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: more than one document", name)
	}
	if len(doc.Connections) > MaxConnections {
		return nil, fmt.Errorf("%s: more than %d connections", name, MaxConnections)
	}
	s := &Schedule{Rest: doc.Rest}
	for _, c := range doc.Connections {
		s.Connections = append(s.Connections, c.Faults)
	}
	for _, list := range append(s.Connections[:len(s.Connections):len(s.Connections)], s.Rest) {
		if len(list) > MaxFaults {
			return nil, fmt.Errorf("%s: more than %d faults of one connection", name, MaxFaults)
		}
		for i := range list {
			if err := list[i].check(); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", name, list[i].line, err)
			}
		}
	}
	return s, nil
}

// Check holds every fault of a schedule that was made in Go to its kind.
func (s *Schedule) Check() error {
	for _, list := range append(s.Connections[:len(s.Connections):len(s.Connections)], s.Rest) {
		for i := range list {
			if err := list[i].check(); err != nil {
				return err
			}
		}
	}
	return nil
}

// UnmarshalYAML keeps the line.
func (f *Fault) UnmarshalYAML(n *yaml.Node) error {
	type plain Fault
	for i := 0; i+1 < len(n.Content); i += 2 { // a custom reader loses the library's own check
		switch n.Content[i].Value {
		case "fault", "from", "at", "for", "by", "bytes", "every":
		default:
			return fmt.Errorf("line %d: field %q not found in a fault", n.Content[i].Line, n.Content[i].Value)
		}
	}
	if err := n.Decode((*plain)(f)); err != nil {
		return err
	}
	f.line = n.Line
	return nil
}

// check holds a fault to its kind.
func (f *Fault) check() error {
	k, known := kinds[f.Kind]
	switch {
	case !known:
		return fmt.Errorf("fault %q is none of %s", f.Kind, strings.Join(Kinds(), ", "))
	case f.Kind == Refuse && f.From != "":
		return errors.New("refuse has no from: nothing was sent yet")
	case f.Kind != Refuse && f.From != Client && f.From != Server:
		return fmt.Errorf("from %q is neither client nor server", f.From)
	case f.At < 0 || f.At > MaxOffset:
		return fmt.Errorf("at %d is not in 0 to %d", f.At, int64(MaxOffset))
	}
	for _, d := range []struct {
		name string
		is   time.Duration
	}{{"for", f.For}, {"by", f.By}, {"every", f.Every}} {
		if d.is < 0 || d.is > MaxTime {
			return fmt.Errorf("%s %v is not in 0 to %v", d.name, d.is, MaxTime)
		}
	}
	return k.check(f)
}
