package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/store"
)

// texts are the members of a record that hold somebody's text, in the order in which they are screened (facts 4.3).
var texts = []struct {
	path string
	of   func(*checkpoint.Checkpoint) *string
}{
	{"sourceId", func(c *checkpoint.Checkpoint) *string { return &c.Context.SourceID }},
	{"queryFingerprint", func(c *checkpoint.Checkpoint) *string { return &c.Context.QueryFingerprint }},
	{"sourceVersion", func(c *checkpoint.Checkpoint) *string { return &c.Context.SourceVersion }},
	{"schemaVersion", func(c *checkpoint.Checkpoint) *string { return &c.Context.SchemaVersion }},
	{"resume.cursor", func(c *checkpoint.Checkpoint) *string { return &c.Resume.Cursor }},
	{"resume.watermark", func(c *checkpoint.Checkpoint) *string { return &c.Resume.Watermark }},
	{"resume.timestamp", func(c *checkpoint.Checkpoint) *string { return &c.Resume.Timestamp }},
	{"resume.deltaToken", func(c *checkpoint.Checkpoint) *string { return &c.Resume.DeltaToken }},
}

const canary = "canary-7f3a"

// screened: a refused text in any member keeps the whole checkpoint out and takes the record before it along. The
// diagnostic names the first such member and no value.
func (k Kept) screened(t *testing.T) {
	for i, m := range texts {
		b := k.bench(t, store.Config{})
		c := At(42, b.now)
		for _, later := range texts[max(i, 4):] {
			*later.of(&c) = "secret=" + canary // further members are not named
		}
		*m.of(&c) = "Bearer " + canary
		if i >= 2 { // with another source or query it is another scope
			save(t, b, At(41, b.now))
		}
		save(t, b, c)
		d := b.wantHeard(t, store.Saving, store.CredentialScreened, event.CheckpointSaveFailed)
		if d.Err.Message != m.path+" must not be stored" || d.Err.Cause != nil {
			t.Errorf("%s: the diagnostic says %v", m.path, d.Err)
		}
		if key, err := checkpoint.ScopeKey(c.Context); err != nil || d.ScopeKey != key {
			t.Errorf("%s: the diagnostic is about %s", m.path, d.ScopeKey)
		}
		wantNothing(t, b, c.Context)
		if n := len(k.Dump(t, b.Store)); n != 0 {
			t.Errorf("%s: %d documents are kept", m.path, n)
		}
		save(t, b, At(43, b.now)) // the next position that may be kept is
		wantPosition(t, b, At(43, 0))
	}
}

func (k Kept) refusals(t *testing.T) {
	for cursor, saved := range map[string]bool{
		"https://svc.example/odata/Vehicles?$deltatoken=abc": false,
		"Vehicles?$deltatoken=abc":                           false,
		"Bearer eyJhbGciOiJub25lIn0.e30.":                    false,
		"abc&sig=Zm9v":                                       false,
		"https://u@example.test/":                            false,
		"opaque-token-123":                                   true,
	} {
		b := k.bench(t, store.Config{})
		save(t, b, At(41, b.now))
		c := At(42, b.now)
		c.Resume.Cursor = cursor
		save(t, b, c)
		if saved {
			wantPosition(t, b, c)
			continue
		}
		d := b.wantHeard(t, store.Saving, store.CredentialScreened, event.CheckpointSaveFailed)
		if text := everyWord(d.Err); strings.Contains(text, cursor) || !strings.Contains(text, "resume.cursor") {
			t.Errorf("%s: the diagnostic says %s", cursor, text)
		}
		wantNothing(t, b, Scope())
	}
}

// canaries: whatever goes wrong with a record, no diagnostic and no error repeats what is in it.
func (k Kept) canaries(t *testing.T) {
	b := k.bench(t, store.Config{})
	scope := func(c *checkpoint.Checkpoint) {
		for _, m := range texts {
			*m.of(c) = canary + "-" + *m.of(c)
		}
		c.Context.AuthorizationScopeFingerprint = canary
		c.RecentIDs = []string{canary}
	}
	full := At(41, b.now)
	scope(&full)
	key, err := checkpoint.ScopeKey(full.Context)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := checkpoint.NewRecord(&full, b.now)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := rec.JSON()
	if err != nil {
		t.Fatal(err)
	}
	heard := 0
	quiet := func(what string, errs ...error) {
		t.Helper()
		for _, d := range b.heard {
			heard++
			text, err := json.Marshal(d)
			if all := string(text) + everyWord(d.Err) + fmt.Sprintf("%v %+v", d, d); err != nil || strings.Contains(all, canary) {
				t.Errorf("%s: the diagnostic says %s", what, all)
			}
		}
		b.heard = nil
		for _, err := range errs {
			if text := everyWord(err); strings.Contains(text, canary) {
				t.Errorf("%s: the error says %s", what, text)
			}
		}
	}
	load := func(what string, doc []byte) {
		t.Helper()
		k.Plant(t, b.Store, key, doc)
		a := b.Load(t.Context(), full.Context)
		if a.Found != checkpoint.Discarded || strings.Contains(a.Detail, canary) {
			t.Errorf("%s: %v %q", what, a.Found, a.Detail)
		}
		quiet(what, a.Err)
	}
	for name, to := range map[string]string{
		`"format":"`: `"format":"` + canary, `"key":"`: `"key":"` + canary, `"sourceId":"`: `"sourceId":"other-`, `"queryFingerprint":"`: `"queryFingerprint":"other-`,
		`"sourceVersion":"`: `"sourceVersion":"other-`, `"schemaVersion":"`: `"schemaVersion":"other-`, `"sequence":41`: `"sequence":"` + canary + `"`,
		`"savedAt":"`: `"savedAt":"` + canary, `"observedAt":"`: `"observedAt":"` + canary, `"authorizationScopeDigest":"`: `"authorizationScopeDigest":"` + canary,
		`"resume":{`: `"resume":{"` + canary + `":1,`, `{"auth`: `{"` + canary + `":1,"auth`, `"cursor":`: `"cursor":1,"cursor":`,
	} {
		changed := strings.Replace(string(doc), name, to, 1)
		if changed == string(doc) {
			t.Fatalf("%s is not in the record", name)
		}
		load(name, []byte(changed))
	}
	for at := range doc {
		load(fmt.Sprint("cut off at ", at), doc[:at])
	}
	for _, m := range texts {
		c := full.Clone()
		*m.of(&c) = "token=" + canary
		quiet(m.path, b.Save(t.Context(), c))
	}
	for what, spoil := range map[string]func(*checkpoint.Checkpoint){
		"no sequence": func(c *checkpoint.Checkpoint) { c.Resume.Seq = event.NoSeq },
		"a bad id":    func(c *checkpoint.Checkpoint) { c.RecentIDs = []string{canary + "\xff"} },
		"a long id":   func(c *checkpoint.Checkpoint) { c.RecentIDs = []string{strings.Repeat(canary, event.MaxIDBytes)} },
		"a long text": func(c *checkpoint.Checkpoint) { c.Resume.Cursor = strings.Repeat(canary, checkpoint.MaxText) },
		"a bad text":  func(c *checkpoint.Checkpoint) { c.Context.SourceVersion = canary + "\xff" },
	} {
		c := full.Clone()
		spoil(&c)
		quiet(what, b.Save(t.Context(), c), b.Forget(t.Context(), c.Context), b.Load(t.Context(), c.Context).Err)
	}
	b.now -= 1
	load("from the future", doc)
	b.now += store.CeilingMaxAge.Milliseconds()
	load("old", doc)
	if heard < len(doc)+20 {
		t.Errorf("only %d diagnostics were looked at", heard)
	}
}

// everyWord is all that an error and its causes say.
func everyWord(err error) string {
	var out strings.Builder
	for ; err != nil; err = errors.Unwrap(err) {
		fmt.Fprintf(&out, "%v %+v %#v\n", err, err, err)
	}
	return out.String()
}
