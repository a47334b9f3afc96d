//go:build unix

package etcd

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/store"
	"github.com/conform-dev/conform/core/store/storetest"
)

// script is the history of a run while it is written: one order of all begins and ends.
type script struct {
	mu   sync.Mutex
	tick int
	run  []operation

	saved chan struct{} // holds a token after a save
}

func (s *script) begin() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tick++
	return s.tick
}

func (s *script) end(o operation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tick++
	o.end = s.tick
	s.run = append(s.run, o)
	if o.save {
		select {
		case s.saved <- struct{}{}:
		default:
		}
	}
}

func (s *script) saves(out outcome) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.run {
		if o.save && o.out == out {
			n++
		}
	}
	return n
}

// relay is one of several that follow a scope: a client and a store of its own. One goroutine uses it.
type relay struct {
	name   string
	store  *Store
	script *script
	heard  error // the last diagnostic
	at     event.Seq
}

func newRelay(t *testing.T, m *members, name, prefix string, s *script) *relay {
	t.Helper()
	r := &relay{name: name, script: s}
	cfg := store.Config{OnDiagnostic: func(d store.Diagnostic) { r.heard = d.Err }}
	var err error
	if r.store, err = Open(t.Context(), Cluster{Endpoints: m.endpoints()}, cfg, Options{Prefix: prefix, Timeout: 20 * time.Second}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.store.Close() })
	return r
}

// load is what a relay does when it starts: it goes on where the record says.
func (r *relay) load(t *testing.T) {
	o := operation{relay: r.name, seq: event.NoSeq, out: acked, begin: r.script.begin()}
	r.heard = nil
	a := r.store.Load(t.Context(), storetest.Scope())
	if a.Found == checkpoint.Stored {
		o.seq, r.at = a.Checkpoint.Resume.Seq, a.Checkpoint.Resume.Seq
	}
	if r.heard != nil || a.Found == checkpoint.Discarded {
		t.Logf("%s: load: %v, %v", r.name, a.Found, r.heard)
		o.out = unknown
	}
	r.script.end(o)
}

// save takes the next event of the stream.
func (r *relay) save(t *testing.T) {
	r.at = max(r.at, 0) + 1
	o := operation{relay: r.name, save: true, seq: r.at, out: acked, begin: r.script.begin()}
	r.heard = nil
	if err := r.store.Save(t.Context(), storetest.At(r.at, time.Now().UnixMilli())); err != nil {
		t.Errorf("save: %v", err)
	}
	switch {
	case errors.Is(r.heard, ErrMoved):
		o.out = refused
	case r.heard != nil:
		t.Logf("%s: save: %v", r.name, errors.Unwrap(r.heard))
		o.out = unknown
	}
	r.script.end(o)
}

// TestRelays: two relays write one scope in turn and at once, while a third one reads; the member that leads is killed in
// mid-run and comes back. No acknowledged position is ever read back lower, and none is lost: neither by what the relays
// saw, nor by what etcd itself held.
func TestRelays(t *testing.T) {
	const turns, turn, before, after, restart = 6, 20, 150, 150, 40
	m, err := startMembers(3, "nosync")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.end(); err != nil {
			t.Error(err)
		}
	})
	c := m.client(t)
	const prefix = "relays"
	s := &script{saved: make(chan struct{}, 1)}
	a, b, reader := newRelay(t, m, "a", prefix, s), newRelay(t, m, "b", prefix, s), newRelay(t, m, "reader", prefix, s)

	inTurn(t, []*relay{a, b}, turns, turn)
	if n := s.saves(acked); n != turns*turn {
		t.Fatalf("in turn: %d saves acknowledged of %d", n, turns*turn)
	}

	// At once: each relay starts anew from time to time, so that now this one and now that one is ahead.
	follow, stop := context.WithCancel(t.Context())
	defer stop()
	var all sync.WaitGroup
	for i, r := range []*relay{a, b} {
		all.Go(func() {
			for n := i * restart / 2; follow.Err() == nil; n++ {
				if n%restart == 0 {
					r.load(t)
				}
				r.save(t)
			}
		})
	}
	all.Go(func() {
		for follow.Err() == nil {
			select {
			case <-s.saved:
				reader.load(t)
			case <-follow.Done():
			}
		}
	})
	reached := func(what string, n int) {
		t.Helper()
		wait(t, what, func() bool { return s.saves(acked) >= n })
	}
	reached("saves at once", turns*turn+before)
	leader := leaderOf(t, m)
	m.kill(leader)
	killed := s.begin()
	reached("saves without the leader", s.saves(acked)+after)
	if err := m.start(leader); err != nil {
		t.Fatal(err)
	}
	reached("saves with all members again", s.saves(acked)+after)
	stop()
	all.Wait()

	last := newRelay(t, m, "last", prefix, s)
	last.load(t)
	wrong := append(judgeHistory(s.run), judgeStored(storedPositions(t, c, prefix), s.run)...)
	for _, w := range wrong[:min(len(wrong), 10)] {
		t.Error(w)
	}
	t.Logf("%d calls: %d saves acknowledged, %d refused, %d unknown; member %d, which led, was killed after %d of the calls' ends and begins",
		len(s.run), s.saves(acked), s.saves(refused), s.saves(unknown), leader, killed)
	if s.saves(refused) == 0 {
		t.Error("no save was ever behind: the relays did not meet")
	}
}

// inTurn has the relays go on one after the other, each from where the one before it stopped.
func inTurn(t *testing.T, relays []*relay, turns, saves int) {
	for i := range turns {
		r := relays[i%len(relays)]
		r.load(t)
		for range saves {
			r.save(t)
		}
	}
}

// leaderOf is the number of the member that leads.
func leaderOf(t *testing.T, m *members) (leader int) {
	t.Helper()
	c := m.client(t)
	wait(t, "leader", func() bool {
		for i, e := range m.endpoints() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			st, err := c.Status(ctx, e)
			cancel()
			if err == nil && st.Leader == st.Header.MemberId {
				leader = i
				return true
			}
		}
		return false
	})
	return leader
}

// storedPositions are the sequence numbers that the scope's record had, one after the other, as etcd's own history has it.
func storedPositions(t *testing.T, c *clientv3.Client, prefix string) (out []event.Seq) {
	t.Helper()
	key, err := checkpoint.ScopeKey(storetest.Scope())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), readyTime)
	defer cancel()
	full := prefix + "/record/" + key
	now, err := c.Get(ctx, full)
	if err != nil || len(now.Kvs) != 1 {
		t.Fatalf("%v, %v", now, err)
	}
	for answer := range c.Watch(ctx, full, clientv3.WithRev(1)) {
		if err := answer.Err(); err != nil {
			t.Fatal(err)
		}
		for _, ev := range answer.Events {
			_, doc, err := decode(key, ev.Kv.Value)
			if err != nil {
				t.Fatal(err)
			}
			rec, err := checkpoint.DecodeRecord(doc)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, rec.Resume.Seq)
			if ev.Kv.ModRevision == now.Kvs[0].ModRevision {
				return out
			}
		}
	}
	t.Fatal("etcd's history ended early")
	return nil
}
