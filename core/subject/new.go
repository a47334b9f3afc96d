package subject

import (
	"embed"
	"fmt"
	"slices"
	"strings"
)

//go:embed new/*.yaml
var templates embed.FS

// New is the text of a commented subject file for a server of wire: it parses as it is, and its comments say what can be added. An error
// names the wires.
func New(wire string) (string, error) {
	if !slices.Contains(Wires, wire) {
		return "", fmt.Errorf("%q is none of %s", clip(wire), strings.Join(Wires, ", "))
	}
	text, err := templates.ReadFile("new/" + wire + ".yaml")
	return string(text), err
}

//go:embed subject.schema.json
var schema string

// Schema is the JSON Schema of a subject file, for editors.
func Schema() string { return schema }
