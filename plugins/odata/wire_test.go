package odata

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

const wirePage = "../../docs/wire.md"

// TestWirePage plays the conversations of docs/wire.md, whole and byte by byte, and compares with what the page says that comes of the
// service's answers. UPDATE_SCRIPTS writes what comes into the page.
func TestWirePage(t *testing.T) {
	b, err := os.ReadFile(wirePage)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "```odata ", "```\n"
	parts := strings.Split(string(b), begin)
	if len(parts) < 11 {
		t.Fatalf("only %d conversations", len(parts)-1)
	}
	for i, part := range parts[1:] {
		block, rest, _ := strings.Cut(part, end)
		name, text, _ := strings.Cut(block, "\n")
		s := scenario{name: name, attempt: attemptAt(origin + "/odata/incidents")}
		head := ""
		for line := range strings.Lines(text) {
			if with, ok := strings.CutPrefix(line, "with "); ok {
				words(&s.attempt, strings.Fields(with))
				head += line
				continue
			}
			s.lines = append(s.lines, strings.TrimSuffix(line, "\n"))
		}
		_, got := s.run(0)
		if want := strings.Join(s.lines, "\n"); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
		if _, bytewise := s.run(1); bytewise != got {
			t.Errorf("%s, byte by byte: got\n%s\nwhole\n%s", name, bytewise, got)
		}
		parts[i+1] = name + "\n" + head + got + "\n" + end + rest
	}
	if os.Getenv("UPDATE_SCRIPTS") != "" {
		if err := os.WriteFile(wirePage, []byte(strings.Join(parts, begin)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// The first request is as the page shows it, header fields included.
func TestWirePageShowsTheRequest(t *testing.T) {
	text, err := os.ReadFile(wirePage)
	if err != nil {
		t.Fatal(err)
	}
	r := play(attemptAt(origin+"/odata/incidents"), 0).asks[0]
	lines := []string{r.Method + " " + r.URL}
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		lines = append(lines, name+": "+strings.Join(r.Header[name], ", "))
	}
	if want := "```odata-request\n" + strings.Join(lines, "\n") + "\n```\n"; !strings.Contains(string(text), want) {
		t.Errorf("the page does not show\n%s", want)
	}
}

// The page's tables say what the descriptor and the decoder say.
func TestWirePageNamesEverything(t *testing.T) {
	text, err := os.ReadFile(wirePage)
	if err != nil {
		t.Fatal(err)
	}
	_, page, _ := strings.Cut(string(text), "\n## OData delta\n")
	page, _, _ = strings.Cut(page, "\n## ")
	var rows []string
	for _, o := range Describe().Options {
		if o.Ceiling > 0 {
			rows = append(rows, fmt.Sprintf("| `%s` | %s | %d;", o.Name, o.Default, o.Ceiling))
		} else {
			rows = append(rows, fmt.Sprintf("| `%s` | `%s` |", o.Name, o.Default))
		}
	}
	for _, w := range []string{
		FlawNotJSON, FlawCut, FlawNoObject, FlawNoValue, FlawValue, FlawRow, FlawTwice, FlawPageTooBig, FlawRowTooBig, FlawAnnotation, FlawLink,
		FlawNested, FlawForeign, FlawNoKey, FlawNoIdentity, FlawRemoved, FlawPatch, FlawTooManyRows, FlawTooLarge, FlawInSnapshot,
		LinkEmpty, LinkTooLong, LinkBad, LinkUserinfo, LinkOrigin, LinkPath,
	} {
		rows = append(rows, fmt.Sprintf("| `%s` |", w))
	}
	for _, row := range rows {
		if !strings.Contains(page, row) {
			t.Errorf("no %q", row)
		}
	}
}
