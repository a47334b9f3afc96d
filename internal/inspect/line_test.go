package inspect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/conform-dev/conform/core/gate"
)

// Each mistake is named with its place, and what came before it stays written.
func TestMistakes(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{`x`, `byte 1: not JSON: invalid character 'x' looking for beginning of value`},
		{`{"op":"close"`, `byte 13: not JSON: unexpected end of JSON input`},
		{`{"op":"close"} {}`, `byte 16: not JSON: invalid character '{' after top-level value`},
		{`[{"op":"close"}]`, `byte 1: not an object`},
		{` 7`, `byte 2: not an object`},
		{`{}`, `byte 1: no member op`},
		{`{"op":7}`, `byte 7: op: not a string`},
		{"{\"op\":\"\xff\"}", `byte 7: op: not UTF-8`},
		{`{"op":"resnapshot"}`, `byte 7: unknown op "resnapshot"; known are new, enqueue, applied, saved, requireResnapshot, refresh, fail, close`},
		{`{"op":"close","reason":"closed","op":"close"}`, `byte 33: member "op" is there twice`},
		{`{"op":"close","resaon":"closed"}`, `byte 15: unknown member "resaon" of close; known are op, reason, now`},
		{`{"op":"close","reason":"cursor-expired"}`, `byte 24: reason: "cursor-expired" is no reason for close; one of cancelled, closed`},
		{`{"op":"close","reason":null}`, `byte 24: reason: not a string`},
		{`{"op":"requireResnapshot"}`, `byte 7: requireResnapshot without reason; one of source-version-changed, authorization-scope-changed, cursor-expired, resume-unsupported, transport-gap`},
		{`{"op":"requireResnapshot","reason":"transport-gap","detail":1}`, `byte 61: detail: not a string`},
		{`{"op":"refresh"}`, `byte 7: refresh without position`},
		{`{"op":"refresh","position":7}`, `byte 28: not an object`},
		{`{"op":"refresh","position":{"seq":1}}`, `byte 29: unknown member "seq" of position; known are sequence, cursor, watermark, timestamp, deltaToken`},
		{`{"op":"refresh","position":{"sequence":9007199254740992}}`, `byte 40: sequence: 9007199254740992 is not between 0 and 9007199254740991`},
		{`{"op":"refresh","position":{"cursor":1}}`, `byte 38: cursor: not a string`},
		{`{"op":"fail","reason":""}`, `byte 23: reason: "" is no reason for fail; one of invalid-checkpoint, `},
		{`{"op":"fail","reason":"compatible"}`, `byte 23: reason: "compatible" is no reason for fail; one of `},
		{`{"op":"enqueue"}`, `byte 7: enqueue without event`},
		{`{"op":"applied"}`, `byte 7: applied, but nothing is due`},
		{`{"op":"saved"}`, `byte 7: saved, but nothing is due`},
		{`{"op":"applied","error":true}`, `byte 25: error: not a string`},
		{`{"op":"close","now":1.5}`, `byte 21: now: not a whole number`},
		{`{"op":"close","now":"1"}`, `byte 21: now: not a whole number`},
		{`{"op":"close","now":8640000000000001}`, `byte 21: now: 8640000000000001 is not between -8640000000000000 and 8640000000000000`},
		{`{"op":"close","now":` + strings.Repeat("9", 1000) + `}`, `byte 21: now: ` + strings.Repeat("9", 64) + `... is not between `},
		{`{"op":"new"}`, `byte 7: new without context`},
		{`{"op":"new","context":"s"}`, `byte 23: not an object`},
		{`{"op":"new","context":{}}`, `byte 23: context.sourceId is no string`},
		{`{"op":"new","context":{"sourceID":"s"}}`, `byte 24: unknown member "sourceID" of context; known are sourceId, `},
		{`{"op":"new","context":{"version":1,"sourceId":"s"}}`, `byte 23: context.kind is not honua.realtime-resume-context`},
		{`{"op":"new","context":` + strings.Replace(context, `"v"`, `" "`, 1) + `}`, `byte 23: context.sourceVersion is empty`},
		{`{"op":"new","context":` + context + `,"now":1}`, `: unknown member "now" of new; known are op, context, options`},
	} {
		mistake(t, c.line, c.want)
	}
}

func TestMistakesInOptions(t *testing.T) {
	for options, want := range map[string]string{
		`7`:                 `: not an object`,
		`{"maxPending":1}`:  `: unknown member "maxPending" of options; known are maxPendingEvents, maxRecentEventIds, saveEvery, store, initialCheckpoint, now`,
		`{"store":1}`:       `: store: neither true nor false`,
		`{"now":null}`:      `: now: not a whole number`,
		`{"saveEvery":1.0}`: `: saveEvery: not a whole number`,
	} {
		mistake(t, strings.TrimSpace(withOptions(options)), want)
	}
	for name, ceiling := range map[string]int{"maxPendingEvents": gate.CeilingPending, "maxRecentEventIds": gate.CeilingIDs, "saveEvery": gate.CeilingSaveEvery} {
		for _, bad := range []string{"0", "-1", fmt.Sprint(ceiling + 1), "1" + strings.Repeat("0", 30)} {
			mistake(t, strings.TrimSpace(withOptions(fmt.Sprintf(`{%q:%s}`, name, bad))), fmt.Sprintf(`: %s: %s is not between 1 and %d`, name, bad, ceiling))
		}
		run(t, true, withOptions(fmt.Sprintf(`{%q:%d}`, name, ceiling)))
	}
}

// mistake puts line behind a good one.
func mistake(t *testing.T, line, want string) {
	t.Helper()
	var out bytes.Buffer
	err := Gate(strings.NewReader(newLine+"\n"+line+"\n"+newLine), &out, false)
	var at *LineError
	if !errors.As(err, &at) || at.Line != 3 || !strings.Contains(err.Error(), want) {
		t.Errorf("%.200s\n got %v\nwant %s", line, err, want)
	}
	if strings.Count(out.String(), "\n") != 1 {
		t.Errorf("%.200s: written:\n%s", line, out.String())
	}
}

func TestMistakesOfTheTurn(t *testing.T) {
	enqueue := `{"op":"enqueue","event":{"type":"snapshot","sequence":0,"features":[]}}` + "\n"
	for in, want := range map[string]string{
		enqueue: "line 1, byte 7: enqueue before a gate was made: begin with new",
		withOptions(`{"store":true}`) + enqueue + `{"op":"saved"}`:                                                    "line 3, byte 7: saved, but an apply is due",
		withOptions(`{"store":true}`) + enqueue + "{\"op\":\"applied\"}\n" + `{"op":"applied"}`:                       "line 4, byte 7: applied, but a save is due",
		newLine + enqueue + "{\"op\":\"applied\"}\n" + `{"op":"saved"}`:                                               "line 4, byte 7: saved, but nothing is due",
		newLine + enqueue + "{\"op\":\"close\"}\n{\"op\":\"applied\"}\n" + `{"op":"applied"}`:                         "line 5, byte 7: applied, but nothing is due",
		newLine + "\n \t\r\n" + `{"op":"enqueue","event":{"type":"snapshot","sequence":0,"features":[]},"wait":true}`: `line 4, byte 72: unknown member "wait" of enqueue; known are op, event, now`,
	} {
		if err := Gate(strings.NewReader(in), &bytes.Buffer{}, false); err == nil || err.Error() != want {
			t.Errorf("%s\n got %v\nwant %s", in, err, want)
		}
	}
}

// MaxLine and MaxDepth hold to the byte and the level.
func TestLineLimits(t *testing.T) {
	pad := func(n int) string { return `{"op":"close"` + strings.Repeat(" ", n-14) + `}` }
	for _, end := range []string{"", "\n", "\r\n"} {
		if r := run(t, true, newLine+pad(MaxLine)+end); len(r) != 2 {
			t.Errorf("a line of MaxLine bytes before %q was not read", end)
		}
	}
	for _, n := range []int{MaxLine + 1, MaxLine + 2, MaxLine + 3, 2 * MaxLine} {
		for _, end := range []string{"", "\n"} {
			err := Gate(strings.NewReader(newLine+pad(n)+end), &bytes.Buffer{}, true)
			if err == nil || err.Error() != "line 2, byte 16777217: longer than 16777216 bytes" {
				t.Errorf("%d bytes before %q: %v", n, end, err)
			}
		}
	}
	deep := func(n int) string { // n levels, the line's own object among them
		return newLine + `{"op":"enqueue","event":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + `}`
	}
	if r := run(t, true, deep(MaxDepth)); r[1].State.Detail != "document: nested deeper than 512 levels" {
		t.Errorf("the gate did not get to see it: %+v", r[1].State)
	}
	err := Gate(strings.NewReader(deep(MaxDepth+1)), &bytes.Buffer{}, true)
	if err == nil || err.Error() != "line 2, byte 1048: nested deeper than 1024 levels" {
		t.Error(err)
	}
	many := `{"op":"close"`
	for i := range maxMembers {
		many += fmt.Sprintf(`,"m%d":0`, i)
	}
	if err := Gate(strings.NewReader(newLine+many+"}"), &bytes.Buffer{}, true); err == nil || !strings.HasSuffix(err.Error(), "more than 16 members") {
		t.Error(err)
	}
}

// An event is captured from its own bytes, so that what encoding/json would change reaches the gate as it is.
func TestEventBytesAreKept(t *testing.T) {
	for doc, want := range map[string]string{
		"{\"type\":\"delta\",\"eventId\":\"\xff\"}":                     "invalid-event document: not UTF-8",
		`{"type":"delta","cursor":"\ud800"}`:                            "invalid-event cursor: holds a lone surrogate",
		`{"type":"delta","sequence":1e400}`:                             "sequence-missing ",
		`{"type":"delta","sequence":9007199254740993}`:                  "sequence-missing ",
		`{"type":"delta","sequence":"1"}`:                               "checkpoint-conflict sequence: not a number",
		`{"type":"delta","sequence":1,"checkpoint":{"sequence":1.0e0}}`: "snapshot-required ",
		`"delta"`: "invalid-event document: not an object",
		`null`:    "invalid-event document: not an object",
	} {
		r := run(t, true, newLine+`{"event": `+doc+` ,"op":"enqueue"}`)
		if s := r[1].State; s.Reason+" "+s.Detail != want {
			t.Errorf("%s: got %s %s, want %s", doc, s.Reason, s.Detail, want)
		}
	}
}

// FuzzGate: whatever stands on stdin, the reader never panics, answers every input before the first mistake with one JSON
// line, and names the place of the mistake inside the input.
func FuzzGate(f *testing.F) {
	f.Add([]byte(newLine+`{"op":"enqueue","event":{"type":"snapshot","sequence":1,"features":[],"eventId":"a"}}`+"\n"+`{"op":"applied","now":5}`), false)
	f.Add([]byte(withOptions(`{"store":true,"maxPendingEvents":1,"maxRecentEventIds":1,"saveEvery":2,"initialCheckpoint":{},"now":-1}`)+`{"op":"requireResnapshot","reason":"transport-gap","detail":"d"}`), true)
	f.Add([]byte(withOptions(`{"store":true}`)+`{"op":"refresh","position":{"sequence":1,"deltaToken":"d"}}`), false)
	f.Add([]byte(newLine+`{"op":"enqueue","event":{"type":"delta","sequence":1e1}}`+"\n"+`{"op":"fail","reason":"delivery-failed"}`+"\n"+`{"op":"close"}`), true)
	f.Add([]byte(`{"\u006fp":"close" , "reason":"\"\\"}`), false)
	f.Add([]byte(newLine+`{"op":"enqueue","event":`+"\n"), false)
	f.Fuzz(func(t *testing.T, in []byte, auto bool) {
		if bytes.Contains(in, []byte("maxPendingEvents")) && len(in) > 4096 {
			t.Skip("many large gates")
		}
		var out bytes.Buffer
		err := Gate(bytes.NewReader(in), &out, auto)
		lines := strings.Split(string(in), "\n")
		var at *LineError
		if err != nil {
			if !errors.As(err, &at) || at.Line > len(lines) || at.Byte < 1 || at.Byte > max(len(lines[at.Line-1]), 1) {
				t.Fatalf("%v", err)
			}
			lines = lines[:at.Line-1]
		}
		want := []int{}
		for i, l := range lines {
			if strings.Trim(l, " \t\r") != "" {
				want = append(want, i+1)
			}
		}
		got := replies(t, out.String())
		if len(got) != len(want) {
			t.Fatalf("%d answers to %d inputs", len(got), len(want))
		}
		for i, r := range got {
			if r.Line != want[i] {
				t.Fatalf("answer %d is to line %d, not to %d", i, r.Line, want[i])
			}
		}
	})
}

// FuzzSplit: the members found are those that encoding/json finds, with their exact bytes.
func FuzzSplit(f *testing.F) {
	for _, s := range []string{`{}`, ` { "a" : 1 ,"b":[1,{"c":"}"}],"c":"\"" , "d":null } `, `{"a":1,"\u0061":2}`, `[1]`, `{"a":-1.5e+3,"b":true}`, `{"":{}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		if checkJSON(doc) != nil {
			if json.Valid(doc) && bytes.Count(doc, []byte("["))+bytes.Count(doc, []byte("{")) <= MaxDepth {
				t.Fatal("JSON is refused")
			}
			return
		}
		members, fl := split(doc, 0)
		var want map[string]json.RawMessage
		if json.Unmarshal(doc, &want) != nil || want == nil {
			if fl == nil {
				t.Fatal("what is no object was split")
			}
			return
		}
		if fl != nil {
			if !strings.HasSuffix(fl.what, "is there twice") && !strings.HasSuffix(fl.what, "members") && fl.what != "not UTF-8" {
				t.Fatalf("%+v", fl)
			}
			return
		}
		if len(members) != len(want) {
			t.Fatalf("%d members, want %d", len(members), len(want))
		}
		for _, m := range members {
			if string(want[m.name]) != string(m.raw) || string(doc[m.from:m.from+len(m.raw)]) != string(m.raw) || doc[m.at] != '"' {
				t.Fatalf("%q: got %q, want %q", m.name, m.raw, want[m.name])
			}
		}
	})
}
