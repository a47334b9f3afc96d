package bolt

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/store"
	"github.com/conform-dev/conform/core/store/storetest"
)

func texts(docs [][]byte) string {
	var out []string
	for _, d := range docs {
		out = append(out, string(d))
	}
	return fmt.Sprint(out)
}

func (s *storage) mustList(t *testing.T) string {
	t.Helper()
	docs, err := s.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return texts(docs)
}

func (s *storage) must(t *testing.T, keys ...string) {
	t.Helper()
	for _, k := range keys {
		if err := s.Write(t.Context(), k, []byte(k), 3); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOrderSurvives: the order of writes is that of the process before (issue 4, point 6), whatever the keys and the clock
// say, and eviction follows it.
func TestOrderSurvives(t *testing.T) {
	path := at(t)
	s := openAt(t, path, store.Config{}, Options{})
	s.under.must(t, "c", "a", "b", "c")
	s.Close()
	s = openAt(t, path, store.Config{}, Options{})
	if got := s.under.mustList(t); got != "[a b c]" {
		t.Errorf("order %s", got)
	}
	s.under.must(t, "d")
	if got := s.under.mustList(t); got != "[b c d]" {
		t.Errorf("after an eviction: %s", got)
	}
}

// TestOrderFollowsTransactions: the order in memory takes part in what the application's transactions do, committed or
// rolled back.
func TestOrderFollowsTransactions(t *testing.T) {
	db := database(t)
	s, err := Over(db, store.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.under.must(t, "a", "b", "c")
	undo := errors.New("undo")
	within := func(end error, keys ...string) {
		t.Helper()
		err := db.Update(func(tx *bbolt.Tx) error {
			in := &inside{under: s.under, tx: tx}
			for _, k := range keys {
				if err := in.Write(t.Context(), k, []byte(k), 3); err != nil {
					return err
				}
			}
			return end
		})
		if err != end {
			t.Fatal(err)
		}
	}
	within(undo, "a", "d") // would evict b
	if got := s.under.mustList(t); got != "[a b c]" {
		t.Errorf("after a rollback: %s", got)
	}
	s.under.must(t, "x", "y") // as many changes as were undone, but others
	if got := s.under.mustList(t); got != "[c x y]" {
		t.Errorf("after a rollback and two writes: %s", got)
	}
	within(nil, "c", "z")
	s.under.must(t, "w")
	if got := s.under.mustList(t); got != "[c z w]" {
		t.Errorf("after a commit of the application's: %s", got)
	}
}

// TestRecordIsWhole: a value that anything was done to is an error, not a record; it is the first to be evicted.
func TestRecordIsWhole(t *testing.T) {
	s := openAt(t, at(t), store.Config{}, Options{})
	s.under.must(t, "a", "b", "c")
	for name, spoil := range map[string]func(v []byte) []byte{
		"a bit":           func(v []byte) []byte { v[len(v)-1] ^= 1; return v },
		"the number":      func(v []byte) []byte { v[8] ^= 1; return v },
		"the form":        func(v []byte) []byte { v[0] = 2; return v },
		"the end":         func(v []byte) []byte { return v[:len(v)-1] },
		"all but a piece": func(v []byte) []byte { return v[:3] },
		"everything":      func([]byte) []byte { return nil },
		"more":            func(v []byte) []byte { return append(v, 'x') },
		"of another key":  func([]byte) []byte { return encode([]byte("a"), 7, []byte("c")) },
	} {
		s.under.must(t, "a", "b", "c")
		update(t, s, func(b *bbolt.Bucket) error {
			return b.Put([]byte("c"), spoil(append([]byte(nil), b.Get([]byte("c"))...)))
		})
		if doc, err := s.under.Read(t.Context(), "c"); !errors.Is(err, ErrCorrupt) || doc != nil {
			t.Errorf("%s: got %q, %v", name, doc, err)
		}
		if got := s.under.mustList(t); got != "[a b]" {
			t.Errorf("%s: listed %s", name, got)
		}
		s.under.order.at = nil // as after a restart
		s.under.must(t, "d")
		if got := s.under.mustList(t); got != "[a b d]" {
			t.Errorf("%s: after an eviction %s", name, got)
		}
	}
}

// update changes the bucket behind the store's back.
func update(t *testing.T, s *Store, f func(*bbolt.Bucket) error) {
	t.Helper()
	db, err := s.under.file.get()
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Update(func(tx *bbolt.Tx) error { return f(tx.Bucket(bucketName)) }); err != nil {
		t.Fatal(err)
	}
}

// TestWithdrawn: a request whose caller is gone before its commit is not done; one in a commit is waited for.
func TestWithdrawn(t *testing.T) {
	f := &file{path: at(t), opt: Options{Timeout: DefaultTimeout}}
	u := newStorage(f)
	began, release := make(chan bool, 1), make(chan bool)
	u.hook = func(p phase) {
		if p == commitBegins {
			began <- true
			<-release
		}
	}
	u.start()
	t.Cleanup(func() { u.close(); f.close() })
	ctx, cancel := context.WithCancel(t.Context())
	first, second := make(chan error, 1), make(chan error, 1)
	go func() { first <- u.Write(ctx, "first", []byte("1"), 9) }()
	<-began
	go func() { second <- u.Write(ctx, "second", []byte("2"), 9) }()
	for len(u.queue) == 0 { // until it waits
	}
	cancel()
	if err := <-second; !errors.Is(err, context.Canceled) {
		t.Errorf("waiting: %v", err)
	}
	release <- true
	if err := <-first; err != nil {
		t.Errorf("in a commit: %v", err)
	}
	if got := u.mustList(t); got != "[1]" {
		t.Errorf("kept %s", got)
	}
}

// TestPut: a checkpoint in the application's transaction is there after the commit, not after a rollback, and the save
// that follows is not written again.
func TestPut(t *testing.T) {
	db := database(t)
	now := int64(1_000_000)
	var heard []store.Diagnostic
	s, err := Over(db, store.Config{Now: func() int64 { return now }, OnDiagnostic: func(d store.Diagnostic) { heard = append(heard, d) }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	held := func() event.Seq {
		a := s.Load(t.Context(), storetest.Scope())
		if a.Found != checkpoint.Stored {
			return event.NoSeq
		}
		return a.Checkpoint.Resume.Seq
	}
	in := func(c checkpoint.Checkpoint, end error) error {
		return db.Update(func(tx *bbolt.Tx) error { return errors.Join(s.Put(tx, c), end) })
	}
	if err := in(storetest.At(41, now), nil); err != nil || held() != 41 {
		t.Fatalf("%v, held %d", err, held())
	}
	if err := in(storetest.At(42, now), errors.New("undo")); err == nil || held() != 41 {
		t.Errorf("after a rollback: %v, held %d", err, held())
	}
	commits := func(f func()) int {
		before := db.Stats()
		f()
		after := db.Stats()
		return int(after.TxStats.GetWrite() - before.TxStats.GetWrite())
	}
	if n := commits(func() { in(storetest.At(43, now), nil) }); n == 0 {
		t.Error("a commit writes nothing")
	}
	if n := commits(func() { s.Save(t.Context(), storetest.At(43, now)) }); n != 0 {
		t.Errorf("the save after Put wrote %d pages", n)
	}
	if n := commits(func() { s.Save(t.Context(), storetest.At(43, now+1)) }); n == 0 {
		t.Error("the save after that was not written")
	}
	in(storetest.At(44, now), nil)
	s.Forget(t.Context(), storetest.Scope())
	s.Save(t.Context(), storetest.At(44, now))
	if held() != 44 {
		t.Errorf("held %d: a save counted on a record that was forgotten", held())
	}
	secret := storetest.At(66, now)
	secret.Resume.Cursor = "password=x"
	if err := in(secret, nil); err != nil || held() != event.NoSeq {
		t.Errorf("after the screen's refusal: %v, held %d", err, held())
	}
	if len(heard) != 1 || heard[0].Reason != store.CredentialScreened {
		t.Errorf("heard %+v", heard)
	}
	bad := storetest.At(45, now)
	bad.Resume.Seq = event.NoSeq
	if err := in(bad, nil); !errors.Is(err, ErrNotKept) {
		t.Errorf("an invalid checkpoint: %v", err)
	}
	db.View(func(tx *bbolt.Tx) error {
		if err := s.Put(tx, storetest.At(46, now)); err == nil {
			t.Error("written in a transaction that only reads")
		}
		return nil
	})
	database(t).Update(func(tx *bbolt.Tx) error {
		if err := s.Put(tx, storetest.At(46, now)); err == nil {
			t.Error("written into another database")
		}
		return nil
	})
}
