package ledger

import (
	"strings"
	"testing"
)

// TestLabels: every label is spoken of once, by rows that exist or with a reason; those that must be rows are.
func TestLabels(t *testing.T) {
	l, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	if p := l.checkLabels(); len(p) > 0 {
		t.Errorf("%v", p)
	}
	must := strings.Fields("C1 C2 C3 C4 C5 C6 C7 F6 F7 F8 F9 F10 F11 F12 F13 F14 F15 W1 W2 W3 W4 W5 W6 W7 W8 W9 W10 W11 W12 A8 A14 A15 A16 A17 A18 P14 P15 P16 P17 P19 D1 D2 D3 D4 D5 D6 D7")
	held := map[string]bool{}
	for _, e := range l.Labels {
		for _, name := range e.Labels {
			held[name] = len(e.Rows) > 0
		}
	}
	for _, name := range must {
		if !held[name] {
			t.Errorf("no row holds %s", name)
		}
	}
}

// TestLabelFaults: what is missing, doubled, unknown or empty is found.
func TestLabelFaults(t *testing.T) {
	l, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	l.Labels = append(l.Labels[1:], Label{Labels: []string{"C3", "Z9"}, Rows: []string{"FLEET-999"}})
	said := ""
	for _, p := range l.checkLabels() {
		said += p.Text + "\n"
	}
	for _, want := range []string{"C1 has neither a row nor a reason", "C3 stands there twice", "Z9 does not exist", "row FLEET-999 does not exist"} {
		if !strings.Contains(said, want) {
			t.Errorf("not found: %s in\n%s", want, said)
		}
	}
	for text, want := range map[string]string{
		"labels: [{labels: [C1]}]":                       "entry 1: needs either rows or a reason",
		"labels: [{labels: [C1], rows: [A], reason: b}]": "entry 1: needs either rows or a reason",
		"labels: [{rows: [A]}]":                          "entry 1: needs labels",
		"labels: [{label: [C1]}]":                        "field label not found",
	} {
		if _, err := ParseLabels("x", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
