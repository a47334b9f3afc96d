package strict

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestPlaces: the place of every value is that of its first byte.
func TestPlaces(t *testing.T) {
	for _, parse := range []struct {
		name string
		text string
		do   func([]byte, int) (*Node, error)
	}{
		{"json", "{\n  \"a\": [1,\n    {\"b\": true}, \"x\"],\n  \"c\": null\n}", ParseJSON},
		{"yaml", "a:\n  - 1\n  - b: true\n  - x\nc: null\n", ParseYAML},
	} {
		n, err := parse.do([]byte(parse.text), 1000)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		var walk func(n *Node)
		walk = func(n *Node) {
			out = append(out, fmt.Sprintf("%s %s %d:%d %s", n.Path, n.Kind, n.Line, n.Column, n.Text))
			for _, m := range n.Members {
				walk(m.Value)
			}
			for _, i := range n.Items {
				walk(i)
			}
		}
		walk(n)
		want := map[string]string{
			"json": " object 1:1 |a list 2:8 |a[0] number 2:9 1|a[1] object 3:5 |a[1].b boolean 3:11 true|a[2] text 3:18 x|c null 4:8 ",
			"yaml": " object 1:1 |a list 2:3 |a[0] number 2:5 1|a[1] object 3:5 |a[1].b boolean 3:8 true|a[2] text 4:5 x|c null 5:4 null",
		}[parse.name]
		if got := strings.Join(out, "|"); got != want {
			t.Errorf("%s\n got %s\nwant %s", parse.name, got, want)
		}
	}
}

// TestRefuses: what is no document, and what two readers could read in two ways.
func TestRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "1:1: no JSON: the document ends too early"},
		{"{", "1:2: no JSON: the document ends too early"},
		{"{\"a\":1,\n\"a\":2}", "2:1: a: member given twice"},
		{"{\"a\":1} x", "1:9: something follows the document"},
		{"{\"a\":\n 01}", "2:3: no JSON: "},
		{"[1 2]", "1:4: [1]: no JSON: "},
		{"\xff", "1:1: not UTF-8"},
		{strings.Repeat("[", MaxDepth+2), fmt.Sprintf("1:%d: ", MaxDepth+2)},
		{strings.Repeat(" ", 70000) + "1", "1:1: 70001 bytes, limit 65536"},
	} {
		_, err := ParseJSON([]byte(c.text), 65536)
		var place *Error
		if !errors.As(err, &place) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%.40q: %v, want %s", c.text, err, c.want)
		}
	}
	var many strings.Builder
	for i := range MaxMembers + 1 {
		fmt.Fprintf(&many, `,"m%d":0`, i)
	}
	if _, err := ParseJSON([]byte("{"+many.String()[1:]+"}"), 1<<20); err == nil || !strings.Contains(err.Error(), "more than 4096 members") {
		t.Errorf("too many members: %v", err)
	}
}

// FuzzJSON: this reader and the standard library's agree on what JSON is, apart from what is refused on purpose.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"a":[1,true,null,"x"]}`, `{"a":1,"a":2}`, `[1 2]`, `{"a"1}`, `[,1]`, `{"a":1,}`, `"\ud800"`, `1e5`, ` {} `, `[]]`, `{]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		n, err := ParseJSON(text, 1<<16)
		if err == nil && !json.Valid(text) {
			t.Fatalf("accepted %q", text)
		}
		if err == nil && !json.Valid(n.Raw) {
			t.Fatalf("raw text %q of %q", n.Raw, text)
		}
		var place *Error
		if err != nil && !errors.As(err, &place) {
			t.Fatalf("no place: %v", err)
		}
		if err != nil && json.Valid(text) && !strings.Contains(err.Error(), "given twice") && !strings.Contains(err.Error(), "UTF-8") &&
			!strings.Contains(err.Error(), "deeper") && !strings.Contains(err.Error(), "members") && !strings.Contains(err.Error(), "limit") {
			t.Fatalf("refused %q: %v", text, err)
		}
	})
}
