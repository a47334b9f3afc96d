package credential

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

var yamlLine = regexp.MustCompile(`line (\d+)`)

// parseConfig reads
//
//	fleet:
//	  planeAdmissionBearerFile: /run/secrets/fleet
//
// Unknown keys are refused: a leaf under a slip of a name would otherwise be a leaf that nobody declared. No error repeats a value, nor
// the text of the parser, which does.
func parseConfig(text []byte) (map[string]string, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		if at := yamlLine.FindString(err.Error()); at != "" {
			return nil, fmt.Errorf("%s: is not YAML", at)
		}
		return nil, errors.New("is not YAML")
	}
	leaves := map[string]string{}
	if doc.Kind == 0 {
		return leaves, nil // nothing in it
	}
	err := pairs(doc.Content[0], func(key, value *yaml.Node) error {
		if key.Value != "fleet" {
			return fmt.Errorf("line %d: unknown key; the only one at the top is fleet", key.Line)
		}
		return pairs(value, func(key, value *yaml.Node) error { return leaf(leaves, key, value) })
	})
	return leaves, err
}

// pairs goes over a mapping.
func pairs(n *yaml.Node, each func(key, value *yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: must be a mapping of keys to values", n.Line)
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if seen[key.Value] {
			return fmt.Errorf("line %d: the key is there twice", key.Line)
		}
		seen[key.Value] = true
		if err := each(key, n.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}

func leaf(leaves map[string]string, key, value *yaml.Node) error {
	name := "fleet." + key.Value
	if variables[name] == "" {
		return fmt.Errorf("line %d: unknown key under fleet; known are %s", key.Line, strings.Join(leafKeys(), ", "))
	}
	switch {
	case value.Kind == yaml.ScalarNode && value.Tag == "!!null":
		return nil
	case value.Kind != yaml.ScalarNode || value.Tag != "!!str":
		return fmt.Errorf("line %d: %s must be text; put it in quotes", key.Line, name)
	}
	leaves[name] = value.Value
	return nil
}

func leafKeys() (keys []string) {
	for name := range variables {
		keys = append(keys, strings.TrimPrefix(name, "fleet."))
	}
	slices.Sort(keys)
	return keys
}
