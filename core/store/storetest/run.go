// Package storetest is the conformance suite of checkpoint stores: Run for anybody's own store, Shipped for those that
// stand on a store.Keeper and promise more.
package storetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/store"
)

// Scope is the context that the suite's checkpoints are bound to.
func Scope() checkpoint.Context {
	return checkpoint.Context{
		SourceID: "incidents", QueryFingerprint: "sha256:q", SourceVersion: "v7", SchemaVersion: "s3",
		AuthorizationScopeFingerprint: "scope-a",
	}
}

// At is a checkpoint under Scope with every position set.
func At(seq event.Seq, savedAt int64) checkpoint.Checkpoint {
	return checkpoint.Checkpoint{
		Context: Scope(),
		Resume: event.Position{
			Seq: seq, Cursor: fmt.Sprint("c-", seq), Watermark: fmt.Sprint("w-", seq),
			Timestamp: "2026-07-27T03:59:59.500Z", DeltaToken: fmt.Sprint("d-", seq),
		},
		SavedAt: savedAt,
	}
}

// Run checks what every Store promises. open gives an empty one.
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	now := func() int64 { return time.Now().UnixMilli() }
	cases := []struct {
		name string
		run  func(t *testing.T, s store.Store)
	}{
		{"empty: a load finds nothing", func(t *testing.T, s store.Store) {
			wantNothing(t, s, Scope())
			if err := s.Forget(t.Context(), Scope()); err != nil {
				t.Errorf("forgetting what is not there: %v", err)
			}
		}},
		{"a saved position is loaded again", func(t *testing.T, s store.Store) {
			c := At(41, now())
			save(t, s, c)
			wantPosition(t, s, c)
			wantPosition(t, s, c) // a load does not use it up
		}},
		{"absent positions stay absent, sequence 0 and 2^53-1 are exact", func(t *testing.T, s store.Store) {
			for _, seq := range []event.Seq{0, event.MaxSeq} {
				c := At(0, now())
				c.Resume = event.Position{Seq: seq}
				save(t, s, c)
				wantPosition(t, s, c)
			}
		}},
		{"the last save wins, also with a lower sequence", func(t *testing.T, s store.Store) {
			for _, seq := range []event.Seq{41, 42, 7} {
				save(t, s, At(seq, now()))
			}
			wantPosition(t, s, At(7, 0))
		}},
		{"forget deletes this scope only", func(t *testing.T, s store.Store) {
			other := At(5, now())
			other.Context.SourceID = "buses"
			save(t, s, At(41, now()))
			save(t, s, other)
			if err := s.Forget(t.Context(), Scope()); err != nil {
				t.Fatal(err)
			}
			wantNothing(t, s, Scope())
			wantPosition(t, s, other)
			save(t, s, At(43, now()))
			wantPosition(t, s, At(43, 0))
		}},
		{"another source, query or authorization scope cannot address the record", func(t *testing.T, s store.Store) {
			save(t, s, At(41, now()))
			for name, change := range map[string]func(*checkpoint.Context){
				"source": func(c *checkpoint.Context) { c.SourceID = "incidents2" },
				"query":  func(c *checkpoint.Context) { c.QueryFingerprint = "sha256:q2" },
				"scope":  func(c *checkpoint.Context) { c.AuthorizationScopeFingerprint = "scope-b" },
			} {
				scope := Scope()
				change(&scope)
				if a := s.Load(t.Context(), scope); a.Found != checkpoint.Nothing {
					t.Errorf("another %s: %v (%v)", name, a.Found, a.Reason)
				}
			}
			wantPosition(t, s, At(41, 0))
		}},
		{"a changed version discards the record for good", discardsVersions},
		{"white space around the members of a context does not matter", func(t *testing.T, s store.Store) {
			c := At(41, now())
			c.Context.SourceID, c.Context.SchemaVersion = " incidents ", "s3\n"
			save(t, s, c)
			wantPosition(t, s, At(41, 0))
		}},
		{"a context that is done leaves everything as it is", func(t *testing.T, s store.Store) {
			save(t, s, At(41, now()))
			done, cancel := context.WithCancel(t.Context())
			cancel()
			if err := s.Save(done, At(42, now())); err != nil {
				t.Errorf("save: %v", err)
			}
			if a := s.Load(done, Scope()); a.Found != checkpoint.Nothing {
				t.Errorf("load: %v", a.Found)
			}
			if err := s.Forget(done, Scope()); err != nil {
				t.Errorf("forget: %v", err)
			}
			wantPosition(t, s, At(41, 0))
		}},
		{"the store keeps its own copy", func(t *testing.T, s store.Store) {
			c := At(41, now())
			c.RecentIDs = []string{"a", "b"}
			save(t, s, c)
			c.RecentIDs[0] = "changed"
			for _, id := range s.Load(t.Context(), Scope()).Checkpoint.RecentIDs {
				if id == "changed" {
					t.Error("a change after the save is seen by a load")
				}
			}
		}},
		{"calls at once leave one whole record per scope", concurrent},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { c.run(t, open(t)) })
	}
}

func discardsVersions(t *testing.T, s store.Store) {
	for reason, change := range map[event.Reason]func(*checkpoint.Context){
		event.SourceVersionChanged: func(c *checkpoint.Context) { c.SourceVersion = "v8" },
		event.SchemaVersionChanged: func(c *checkpoint.Context) { c.SchemaVersion = "s4" },
	} {
		save(t, s, At(41, time.Now().UnixMilli()))
		scope := Scope()
		change(&scope)
		if a := s.Load(t.Context(), scope); a.Found != checkpoint.Discarded || a.Reason != reason {
			t.Errorf("got %v %v, want discarded %v", a.Found, a.Reason, reason)
		}
		wantNothing(t, s, scope)
		wantNothing(t, s, Scope())
	}
}

// concurrent saves, loads and forgets from several goroutines; every load must see a whole record or none.
func concurrent(t *testing.T, s store.Store) {
	const workers, rounds = 8, 50
	now := time.Now().UnixMilli()
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range rounds {
				c := At(event.Seq(w*rounds+i), now)
				c.Context.SourceID = fmt.Sprint("source-", w%4)
				if err := s.Save(t.Context(), c); err != nil {
					t.Errorf("save: %v", err)
				}
				a := s.Load(t.Context(), c.Context)
				if a.Found == checkpoint.Discarded {
					t.Errorf("discarded: %v %s", a.Reason, a.Detail)
				}
				if p := a.Checkpoint.Resume; a.Found == checkpoint.Stored && p != At(p.Seq, 0).Resume {
					t.Errorf("half a record: %+v", p)
				}
				if i%10 == 9 {
					if err := s.Forget(t.Context(), c.Context); err != nil {
						t.Errorf("forget: %v", err)
					}
				}
			}
		})
	}
	wg.Wait()
	final := At(9, now)
	save(t, s, final)
	wantPosition(t, s, final)
}

func save(t *testing.T, s store.Store, c checkpoint.Checkpoint) {
	t.Helper()
	if err := s.Save(t.Context(), c); err != nil {
		t.Fatalf("save: %v", err)
	}
}

func wantPosition(t *testing.T, s store.Store, want checkpoint.Checkpoint) {
	t.Helper()
	a := s.Load(t.Context(), want.Context)
	if a.Found != checkpoint.Stored || a.Checkpoint.Resume != want.Resume {
		t.Fatalf("load: %v (%v %s) %+v, want %+v", a.Found, a.Reason, a.Detail, a.Checkpoint.Resume, want.Resume)
	}
	if r := checkpoint.Evaluate(want.Context, &a.Checkpoint); r != event.Compatible {
		t.Fatalf("the loaded checkpoint is %v", r)
	}
}

func wantNothing(t *testing.T, s store.Store, scope checkpoint.Context) {
	t.Helper()
	if a := s.Load(t.Context(), scope); a.Found != checkpoint.Nothing {
		t.Fatalf("load: %v (%v %s), want nothing", a.Found, a.Reason, a.Detail)
	}
}
