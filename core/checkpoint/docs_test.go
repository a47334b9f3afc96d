package checkpoint

import (
	"os"
	"strings"
	"testing"
)

// TestDocs: the samples of docs/checkpoint.md are what this package writes.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile("../../docs/checkpoint.md")
	if err != nil {
		t.Fatal(err)
	}
	block := func(name string) string {
		_, rest, ok := strings.Cut(string(text), "```json "+name+"\n")
		if !ok {
			t.Fatalf("docs/checkpoint.md has no sample %q", name)
		}
		doc, _, _ := strings.Cut(rest, "\n```")
		return doc
	}
	c, err := Decode([]byte(block("checkpoint")))
	if err != nil {
		t.Fatal(err)
	}
	rec, err := NewRecord(&c, c.SavedAt+250)
	if err != nil {
		t.Fatal(err)
	}
	for name, write := range map[string]func() ([]byte, error){"checkpoint": c.JSON, "redacted": c.RedactedJSON, "record": rec.JSON} {
		if got, err := write(); err != nil || string(got) != block(name) {
			t.Errorf("%s:\n%s\n%v", name, got, err)
		}
	}
}
