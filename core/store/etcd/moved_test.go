//go:build unix

package etcd

import (
	"errors"
	"fmt"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/store"
	"github.com/conform-dev/conform/core/store/storetest"
)

// pair is two stores on one prefix, as two hosts have them.
type pair struct {
	a, b   *Store
	client *clientv3.Client
	opt    Options
	heard  []store.Diagnostic
}

func newPair(t *testing.T) *pair {
	t.Helper()
	p := &pair{client: cluster(t).client(t), opt: fresh()}
	p.a, p.b = over(t, p.client, p.cfg(), p.opt), over(t, p.client, p.cfg(), p.opt)
	return p
}

func (p *pair) cfg() store.Config {
	return store.Config{OnDiagnostic: func(d store.Diagnostic) { p.heard = append(p.heard, d) }}
}

// save saves and says whether it was kept. What is not kept is another store's move, and nothing else.
func (p *pair) save(t *testing.T, s *Store, c checkpoint.Checkpoint) (kept bool) {
	t.Helper()
	p.heard = nil
	if err := s.Save(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	switch {
	case len(p.heard) == 0:
		return true
	case len(p.heard) > 1 || p.heard[0].Reason != store.StorageFailed || p.heard[0].Operation != store.Saving || !errors.Is(p.heard[0].Err, ErrMoved):
		t.Fatalf("heard %+v", p.heard)
	}
	return false
}

// holds checks what a third store finds.
func (p *pair) holds(t *testing.T, want event.Seq) {
	t.Helper()
	if a := over(t, p.client, store.Config{}, p.opt).Load(t.Context(), storetest.Scope()); a.Checkpoint.Resume.Seq != want {
		t.Fatalf("the scope is at %d (%v), want %d", a.Checkpoint.Resume.Seq, a.Found, want)
	}
}

func at(seq event.Seq) checkpoint.Checkpoint { return storetest.At(seq, time.Now().UnixMilli()) }

// TestMoved: what a store may do to a record that is another's.
func TestMoved(t *testing.T) {
	p := newPair(t)
	step := func(s *Store, seq event.Seq, want bool) {
		t.Helper()
		if kept := p.save(t, s, at(seq)); kept != want {
			t.Fatalf("saving %d: kept %v", seq, kept)
		}
	}
	step(p.a, 41, true)
	step(p.b, 40, false) // it never saw 41
	p.holds(t, 41)
	step(p.b, 41, true) // not lower
	step(p.a, 43, true) // past the other's
	step(p.b, 42, false)
	step(p.b, 42, false) // asking again changes nothing
	p.holds(t, 43)
	if a := p.b.Load(t.Context(), storetest.Scope()); a.Checkpoint.Resume.Seq != 43 {
		t.Fatalf("%+v", a)
	}
	step(p.b, 7, true) // it knows what it replaces: the server began anew
	step(p.b, 6, true) // its own
	step(p.a, 5, false)
	p.holds(t, 6)
	anew := over(t, p.client, p.cfg(), p.opt) // a relay that starts knows what it loaded
	if a := anew.Load(t.Context(), storetest.Scope()); a.Checkpoint.Resume.Seq != 6 {
		t.Fatalf("%+v", a)
	}
	step(anew, 4, true)
	p.holds(t, 4)
	if err := p.a.Forget(t.Context(), storetest.Scope()); err != nil {
		t.Fatal(err)
	}
	step(p.b, 3, true) // nothing is there
	p.holds(t, 3)
}

// TestMovedVersions: positions of another numbering are not compared; the record stays until somebody looks at it.
func TestMovedVersions(t *testing.T) {
	p := newPair(t)
	next := at(1)
	next.Context.SourceVersion = "v8"
	if !p.save(t, p.a, at(900)) || p.save(t, p.b, next) {
		t.Fatal("a record of another version was replaced unseen")
	}
	p.holds(t, 900)
	if a := p.b.Load(t.Context(), next.Context); a.Found != checkpoint.Discarded || a.Reason != event.SourceVersionChanged {
		t.Fatalf("%+v", a)
	}
	if !p.save(t, p.b, next) || p.save(t, p.a, at(901)) {
		t.Fatal("after a load")
	}
}

// TestForward: what compares, what does not, and what counts for nothing.
func TestForward(t *testing.T) {
	doc := func(change func(*checkpoint.Checkpoint)) []byte {
		c := at(41)
		change(&c)
		rec, err := checkpoint.NewRecord(&c, 1)
		if err != nil {
			t.Fatal(err)
		}
		text, err := rec.JSON()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	here := doc(func(*checkpoint.Checkpoint) {})
	for name, c := range map[string]struct {
		there []byte
		want  bool
	}{
		"the same":         {here, true},
		"lower":            {doc(func(c *checkpoint.Checkpoint) { c.Resume.Seq = 40 }), true},
		"higher":           {doc(func(c *checkpoint.Checkpoint) { c.Resume.Seq = 42 }), false},
		"another source":   {doc(func(c *checkpoint.Checkpoint) { c.Context.SourceVersion = "v8" }), false},
		"another schema":   {doc(func(c *checkpoint.Checkpoint) { c.Context.SchemaVersion = "s4" }), false},
		"no record":        {[]byte("{}"), true},
		"nothing of sense": {nil, true},
	} {
		if got := forward(c.there, here); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if forward(here, []byte("{}")) {
		t.Error("no record replaces one")
	}
}

// TestBetween: whatever another store does after a write has looked and before it commits, the write looks again.
func TestBetween(t *testing.T) {
	other := func(source string) checkpoint.Checkpoint {
		c := at(1)
		c.Context.SourceID = source
		return c
	}
	for name, c := range map[string]struct {
		meanwhile func(p *pair, t *testing.T) // what b does
		kept      bool
		holds     event.Seq
	}{
		"further":            {func(p *pair, t *testing.T) { p.save(t, p.b, at(50)) }, false, 50},
		"not so far":         {func(p *pair, t *testing.T) { p.save(t, p.b, at(44)) }, true, 45},
		"another scope":      {func(p *pair, t *testing.T) { p.save(t, p.b, other("x")) }, true, 45},
		"forgotten":          {func(p *pair, t *testing.T) { _ = p.b.Forget(t.Context(), storetest.Scope()) }, true, 45},
		"everything is gone": {func(p *pair, t *testing.T) { _ = p.b.Clear(t.Context()) }, true, 45},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			if !p.save(t, p.b, at(41)) {
				t.Fatal("first")
			}
			looked := 0
			p.a.under.between = func() {
				if looked++; looked == 1 {
					c.meanwhile(p, t)
				}
			}
			if kept := p.save(t, p.a, at(45)); kept != c.kept {
				t.Errorf("kept %v after %d looks", kept, looked)
			}
			if c.kept && looked != 2 {
				t.Errorf("looked %d times, want 2", looked)
			}
			p.holds(t, c.holds)
		})
	}
}

// TestBetweenEvictions: a record that another store writes just before it would be evicted stays, and the one that is then the
// oldest goes; a record that another store removes saves the next one.
func TestBetweenEvictions(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(b *storage, t *testing.T)
		want      string
	}{
		"rewritten": {func(b *storage, t *testing.T) { mustWrite(t, b, "a", "a2", 3) }, "[c a2 d1]"},
		"removed":   {func(b *storage, t *testing.T) { _ = b.Remove(t.Context(), "c", nil) }, "[a b d1]"},
		"one more":  {func(b *storage, t *testing.T) { mustWrite(t, b, "e", "e1", 9) }, "[c e1 d1]"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			for _, key := range []string{"a", "b", "c"} {
				mustWrite(t, p.b.under, key, key, 3)
			}
			looked := false
			p.a.under.between = func() {
				if !looked {
					looked = true
					c.meanwhile(p.b.under, t)
				}
			}
			mustWrite(t, p.a.under, "d", "d1", 3)
			if got := mustList(t, p.a.under); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func mustWrite(t testing.TB, s *storage, key, doc string, limit int) {
	t.Helper()
	if err := s.Write(t.Context(), key, []byte(doc), limit); err != nil {
		t.Fatal(err)
	}
}

func mustList(t testing.TB, s *storage) string {
	t.Helper()
	docs, err := s.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, d := range docs {
		out = append(out, string(d))
	}
	return fmt.Sprint(out)
}

// TestLimitAtOnce: a store that knows its record and how many there were still keeps to the limit when another one added some,
// or when the limit is lower now.
func TestLimitAtOnce(t *testing.T) {
	p := newPair(t)
	mustWrite(t, p.a.under, "a", "a1", 2)
	for _, key := range []string{"b", "c", "d"} {
		mustWrite(t, p.b.under, key, key, 9)
	}
	mustWrite(t, p.a.under, "a", "a2", 2)
	if got := mustList(t, p.a.under); got != "[d a2]" {
		t.Errorf("after others came: %s", got)
	}
	mustWrite(t, p.a.under, "a", "a3", 1)
	if got := mustList(t, p.a.under); got != "[a3]" {
		t.Errorf("with a lower limit: %s", got)
	}
}

// TestManyGoBetween: of more records than are compared one by one, one that was written meanwhile stays all the same.
func TestManyGoBetween(t *testing.T) {
	p := newPair(t)
	for i := range maxCompared + 2 {
		mustWrite(t, p.b.under, fmt.Sprint(i), "old", 99)
	}
	looked := false
	p.a.under.between = func() {
		if !looked {
			looked = true
			mustWrite(t, p.b.under, "0", "new", 99)
		}
	}
	mustWrite(t, p.a.under, "mine", "mine", 2)
	if got := mustList(t, p.a.under); got != "[new mine]" {
		t.Error(got)
	}
}

// TestManyGo: as many records as may lie there are evicted in one step, by a write that keeps one; more than that are an
// error and stay.
func TestManyGo(t *testing.T) {
	p := newPair(t)
	s := p.a.under
	plant := func(n int) {
		t.Helper()
		for from := 0; from < n; from += 100 {
			var puts []clientv3.Op
			for i := from; i < min(from+100, n); i++ {
				key := fmt.Sprintf("old-%04d", i)
				v, err := encode(key, stamp{}, []byte("x"))
				if err != nil {
					t.Fatal(err)
				}
				puts = append(puts, clientv3.OpPut(s.records+key, string(v)))
			}
			if _, err := p.client.Txn(t.Context()).Then(puts...).Commit(); err != nil {
				t.Fatal(err)
			}
		}
	}
	plant(maxKeys)
	mustWrite(t, s, "new", "new", 1)
	if got := mustList(t, s); got != "[new]" {
		t.Errorf("%.60s", got)
	}
	plant(maxKeys)
	if err := s.Write(t.Context(), "newer", []byte("x"), 1); !errors.Is(err, ErrCorrupt) {
		t.Errorf("write: %v", err)
	}
	if _, err := s.List(t.Context()); !errors.Is(err, ErrCorrupt) {
		t.Errorf("list: %v", err)
	}
	if err := s.Clear(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, s, "newer", "newer", 1)
}
