package simulator

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/conform-dev/conform/simulator/strict"
)

// TestParseSchedule: YAML and JSON say the same.
func TestParseSchedule(t *testing.T) {
	want := Schedule{[]Fault{
		{Name: "gap", At: At{Connection: 1, Sequence: 7}, With: map[string]string{"skip": "2"}},
		{Name: "status", At: At{Request: "resume"}, Times: Always, With: map[string]string{"code": "429", "retryAfter": "5"}},
		{Name: "cut", At: At{After: 50 * time.Millisecond}, With: map[string]string{"as": "reset"}},
		{Name: "gap-notice", At: At{Event: 3}, Times: 2, With: map[string]string{"terminal": "true"}},
		{Name: "cut", At: At{Byte: 333}},
	}}
	for _, text := range []string{`
faults:
  - fault: gap
    at: {connection: 1, sequence: 7}
    with: {skip: 2}
  - fault: status
    at: {request: resume}
    times: -1
    with: {code: 429, retryAfter: "5"}
  - {fault: cut, at: {ms: 50}, with: {as: reset}}
  - {fault: gap-notice, at: {event: 3}, times: 2, with: {terminal: true}}
  - {fault: cut, at: {byte: 333}}
`, `{"faults":[{"fault":"gap","at":{"connection":1,"sequence":7},"with":{"skip":2}},
{"fault":"status","at":{"request":"resume"},"times":-1,"with":{"code":429,"retryAfter":"5"}},
{"fault":"cut","at":{"ms":50},"with":{"as":"reset"}},
{"fault":"gap-notice","at":{"event":3},"times":2,"with":{"terminal":true}},
{"fault":"cut","at":{"byte":333}}]}`} {
		got, err := ParseSchedule([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s\n%s", text, diff)
		}
	}
	if s, err := ParseSchedule([]byte("faults: []")); err != nil || len(s.Faults) != 0 {
		t.Errorf("no faults: %v, %v", s, err)
	}
}

// TestScheduleRefuses: what a schedule does not know is refused, with its place.
func TestScheduleRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "1:1: the document is empty"},
		{"faults: [", "1:1: no YAML"},
		{"fault: []", "1:1: fault: unknown member; known are faults"},
		{"faults: {}", "1:9: faults: must be a list, is an object"},
		{"faults:\n  - gap", "2:5: faults[0]: must be an object, is a text"},
		{"faults:\n  - fault: gapp", `2:12: faults[0].fault: unknown fault "gapp"; known are gap, duplicate, `},
		{"faults:\n  - at: {sequence: 1}", `2:5: faults[0]: unknown fault ""`},
		{"faults:\n  - fault: gap\n    when: 3", "3:5: faults[0].when: unknown member; known are fault, at, times, with"},
		{"faults:\n  - fault: gap\n    at: {seqence: 3}", "3:10: faults[0].at.seqence: unknown member; known are connection, request, sequence, event"},
		{"faults:\n  - fault: gap\n    at: {byte: 3}", "3:10: faults[0].at.byte: unknown member; known are connection, request, sequence, event"},
		{"faults:\n  - fault: gap\n    at: {sequence: 0}", "3:20: faults[0].at.sequence: 0 is not a whole number in 1 to 9007199254740991"},
		{"faults:\n  - fault: gap\n    at: {sequence: 9007199254740992}", "3:20: faults[0].at.sequence: 9007199254740992 is not"},
		{"faults:\n  - fault: gap\n    at: {sequence: 1.5}", "3:20: faults[0].at.sequence: 1.5 is not"},
		{"faults:\n  - fault: gap\n    at: {sequence: \"7\"}", "3:20: faults[0].at.sequence: must be a number, is a text"},
		{"faults:\n  - fault: status\n    at: {request: both}", "3:19: faults[0].at.request: must be resume or snapshot"},
		{"faults:\n  - fault: cut\n    at: {byte: 3, event: 1}", "2:5: faults[0]: at: byte stands alone, or with connection and request"},
		{"faults:\n  - fault: gap\n    times: 1000001", "3:12: faults[0].times: 1000001 is not a whole number in -1 to 1000000"},
		{"faults:\n  - fault: gap\n    with: {skip: 0}", "3:18: faults[0].with.skip: 0 is not a whole number in 1 to 65536"},
		{"faults:\n  - fault: gap\n    with: {skip: yes}", "3:18: faults[0].with.skip: must be a number"},
		{"faults:\n  - fault: gap\n    with: {count: 2}", "3:12: faults[0].with.count: unknown member; known are skip"},
		{"faults:\n  - fault: cut\n    with: {as: bang}", `3:16: faults[0].with.as: "bang" is none of cut, eof, reset`},
		{"faults:\n  - fault: undecodable\n    with: {data: \"a\\nb\"}", "3:18: faults[0].with.data: a text without line ends"},
		{"faults:\n  - fault: gap\n    fault: gap", "3:5: faults[0].fault: member given twice"},
		{"faults:\n  - &a {fault: gap}\n  - *a", "2:5: faults[0]: anchors and aliases are not allowed"},
		{"faults:\n  - !!map {fault: gap}", "2:5: faults[0]: tags are not allowed"},
		{"faults: []\n---\nfaults: []", "2:1: a second document follows"},
		{`{"faults":[{"fault":"gap","with":{"skip":"2"}}]}`, "1:42: faults[0].with.skip: must be a number"},
		{`{"faults":[` + strings.Repeat(`{"fault":"gap"},`, MaxFaults) + `{"fault":"gap"}]}`, "1:11: faults: has 1001 entries, limit 1000"},
		{"faults: []" + strings.Repeat(" ", MaxScheduleBytes), "1:1: 1048586 bytes, limit 1048576"},
	} {
		_, err := ParseSchedule([]byte(c.text))
		var place *strict.Error
		if !errors.As(err, &place) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%.80q\n got %v\nwant %s", c.text, err, c.want)
		}
	}
}

// TestFaultText: a fault written as JSON is read back as it was, for everything that a fault can be.
func TestFaultText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := anyFault(t)
		if len(f.With) == 0 {
			f.With = nil
		}
		text, err := json.Marshal(Schedule{[]Fault{f}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseSchedule(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if diff := cmp.Diff([]Fault{f}, got.Faults); diff != "" {
			t.Fatalf("%s:\n%s", text, diff)
		}
	})
}

// TestRegistry: every fault says what it does, its defaults are good, and it acts somewhere.
func TestRegistry(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range Faults() {
		if s.Doc == "" || seen[s.Name] || len(s.At) == 0 {
			t.Errorf("%s: no text, no trigger, or twice", s.Name)
		}
		seen[s.Name] = true
		for _, p := range s.Params {
			given := p.Default != "" && (p.Default != "-1" || p.Min < 0) // -1 stands for "left out" and cannot be given
			if p.Doc == "" || given && p.check(p.Default) != nil {
				t.Errorf("%s.%s: no text, or a default %q that would be refused", s.Name, p.Name, p.Default)
			}
		}
		logic := s.build(args{spec: &s})
		_, a := logic.(answerer)
		_, b := logic.(sender)
		_, c := logic.(idler)
		_, d := logic.(feeder)
		_, e := logic.(rounder)
		if !a && !b && !c && !d && !e {
			t.Errorf("%s acts nowhere", s.Name)
		}
	}
	for _, name := range []string{"gap", "duplicate", "late", "cursor-expired", "stale-snapshot", "id-reused", "silence", "cut", "status", "restart"} {
		if !seen[name] {
			t.Errorf("%s is missing", name)
		}
	}
}

// FuzzSchedule: no text makes the reader panic or hang, and what is accepted can be served.
func FuzzSchedule(f *testing.F) {
	for _, s := range []string{"faults: [{fault: gap}]", `{"faults":[{"fault":"cut","at":{"byte":3}}]}`, "faults: &a [*a]", "{", "\"", "- - -", "a: !!binary x"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := ParseSchedule(text)
		if err != nil {
			var place *strict.Error
			if !errors.As(err, &place) || place.Line < 1 || place.Column < 1 {
				t.Fatalf("no place: %#v", err)
			}
			return
		}
		if _, err := New(Options{Schedule: s}); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzRows: no document makes the reducer panic, and one that is refused changes nothing.
func FuzzRows(f *testing.F) {
	f.Add([]byte(`{"type":"delta","upserts":[{"id":"1","version":1,"feature":{"a":1e9}}],"deletes":[{"id":2}]}`))
	f.Add([]byte(`{"event":{"kind":"snapshot","features":[{"id":-1}]}}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		r := NewRows("s")
		if err := r.Apply([]byte(`{"type":"upsert","feature":{"id":"1","version":1,"feature":{}}}`)); err != nil {
			t.Fatal(err)
		}
		before := r.Digest()
		if err := r.Apply(doc); err != nil && r.Digest() != before {
			t.Fatalf("refused (%v) and changed", err)
		}
		if c := Canonical(doc); string(Canonical(c)) != string(c) {
			t.Fatalf("canonical form of %q changes again: %q, %q", doc, c, Canonical(c))
		}
	})
}
