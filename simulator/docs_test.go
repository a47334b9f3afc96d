package simulator

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the generated parts of docs/simulator.md anew")

const docs = "../docs/simulator.md"

// faultTable is the fault table of the documentation, made from the registry.
func faultTable() string {
	var b strings.Builder
	b.WriteString("| fault | does | triggers | wires | parameters |\n| --- | --- | --- | --- | --- |\n")
	for _, s := range Faults() {
		var params []string
		for _, p := range s.Params {
			kind := p.Kind
			if len(p.Values) > 0 {
				kind = strings.Join(p.Values, ", ")
			}
			def := ", default `" + p.Default + "`"
			if p.Default == "" || p.Default == "-1" {
				def = ""
			}
			params = append(params, fmt.Sprintf("`%s` (%s%s): %s", p.Name, kind, def, p.Doc))
		}
		wires := strings.Join(s.wires(), ", ")
		switch len(s.wires()) {
		case len(WireNames()):
			wires = "all"
		case 0:
			wires = "the feed"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", s.Name, s.Doc, strings.Join(s.At, ", "), wires, strings.Join(params, "; "))
	}
	return b.String()
}

// TestFaultTable: the table in the documentation is the registry.
func TestFaultTable(t *testing.T) {
	text, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	const from, to = "<!-- faults: generated, see TestFaultTable -->\n", "<!-- /faults -->"
	before, rest, ok := strings.Cut(string(text), from)
	got, after, ok2 := strings.Cut(rest, to)
	if !ok || !ok2 {
		t.Fatal("the marks of the table are gone")
	}
	want := "\n" + faultTable() + "\n"
	if got == want {
		return
	}
	if !*update {
		t.Fatalf("the fault table of %s is not the registry's; run with -update. Want:\n%s", docs, want)
	}
	if err := os.WriteFile(docs, []byte(before+from+want+to+after), 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestDocsExamples: the schedule of the documentation can be read, and the digest it names is the one it says.
func TestDocsExamples(t *testing.T) {
	text, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```yaml schedule\n")
	schedule, _, ok := strings.Cut(rest, "```")
	s, err := ParseSchedule([]byte(schedule))
	if !ok || err != nil || len(s.Faults) != 3 {
		t.Fatalf("schedule: %v, %d faults", err, len(s.Faults))
	}
	if _, err := New(Options{Schedule: s}); err != nil {
		t.Fatal(err)
	}
	r := NewRows("incidents")
	apply(t, r, `{"type":"snapshot","features":[{"id":"1","sourceId":"incidents","version":2,"feature":{"b":1.0,"a":"x\ny"}},{"id":2,"sourceId":"other","version":1,"feature":{}}]}`)
	if !strings.Contains(string(text), "have the digest `"+r.Digest()+"`") {
		t.Errorf("the digest of the example is %s", r.Digest())
	}
}
