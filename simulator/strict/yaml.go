package strict

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// ParseYAML reads one YAML document of at most limit bytes: the part of YAML that JSON has too. Anchors, aliases, tags and
// merge keys are refused, so that what stands there is what is meant.
func ParseYAML(text []byte, limit int) (*Node, error) {
	if len(text) > limit {
		return nil, &Error{"", 1, 1, fmt.Sprintf("%d bytes, limit %d", len(text), limit)}
	}
	dec := yaml.NewDecoder(strings.NewReader(string(text)))
	var root, next yaml.Node
	if err := dec.Decode(&root); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, &Error{"", 1, 1, "the document is empty"}
		}
		return nil, yamlError(err)
	}
	if err := dec.Decode(&next); !errors.Is(err, io.EOF) {
		if err != nil {
			return nil, yamlError(err)
		}
		return nil, &Error{"", next.Line, max(next.Column, 1), "a second document follows"}
	}
	if len(root.Content) != 1 {
		return nil, &Error{"", 1, 1, "the document is empty"}
	}
	return fromYAML(root.Content[0], "", 0)
}

var yamlLine = regexp.MustCompile(`line (\d+)`)

func yamlError(err error) error {
	line := 1
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		line, _ = strconv.Atoi(m[1])
	}
	return &Error{"", line, 1, "no YAML: " + strings.TrimPrefix(err.Error(), "yaml: ")}
}

func fromYAML(y *yaml.Node, path string, depth int) (*Node, error) {
	n := &Node{Path: path, Line: y.Line, Column: y.Column, Text: y.Value}
	switch {
	case depth > MaxDepth:
		return nil, n.Refuse("nested deeper than %d", MaxDepth)
	case y.Kind == yaml.AliasNode || y.Anchor != "":
		return nil, n.Refuse("anchors and aliases are not allowed")
	case y.Style&yaml.TaggedStyle != 0:
		return nil, n.Refuse("tags are not allowed")
	}
	switch y.Kind {
	case yaml.MappingNode:
		n.Kind = Object
		for i := 0; i+1 < len(y.Content); i += 2 {
			k := y.Content[i]
			m := Member{Name: k.Value, Line: k.Line, Col: k.Column}
			if k.Kind != yaml.ScalarNode || k.Tag == "!!merge" || k.Anchor != "" {
				return nil, n.Refuse("a member's name is a text")
			}
			if len(n.Members) == MaxMembers {
				return nil, n.Refuse("more than %d members", MaxMembers)
			}
			if n.Get(m.Name) != nil {
				return nil, &Error{n.at(m.Name), m.Line, m.Col, "member given twice"}
			}
			v, err := fromYAML(y.Content[i+1], n.at(m.Name), depth+1)
			if err != nil {
				return nil, err
			}
			m.Value = v
			n.Members = append(n.Members, m)
		}
	case yaml.SequenceNode:
		n.Kind = List
		for i, item := range y.Content {
			v, err := fromYAML(item, fmt.Sprintf("%s[%d]", path, i), depth+1)
			if err != nil {
				return nil, err
			}
			n.Items = append(n.Items, v)
		}
	default:
		switch y.Tag {
		case "!!str", "!!timestamp":
			n.Kind = Text
		case "!!int", "!!float":
			n.Kind = Number
		case "!!bool":
			n.Kind, n.Text = Bool, strings.ToLower(y.Value)
		case "!!null":
			n.Kind = Null
		default:
			return nil, n.Refuse("%s is not allowed", y.Tag)
		}
	}
	return n, nil
}
