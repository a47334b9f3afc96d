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
	"github.com/conform-dev/conform/core/store"
	"github.com/conform-dev/conform/core/store/storetest"
)

// TestLeases: one lease serves a turn, whoever asks; a record that is written at the turn's end still has its whole age.
func TestLeases(t *testing.T) {
	for _, c := range []struct {
		age, turn time.Duration
		ttl       int64
	}{
		{store.DefaultMaxAge, 225 * time.Second, 1125}, {store.CeilingMaxAge, 6 * time.Hour, 108000}, {time.Millisecond, time.Second, 2}, {9 * time.Second, 2250 * time.Millisecond, 12},
	} {
		var granted []int64
		now := time.Unix(1000, 0)
		l := newLeases(c.age, func(_ context.Context, ttl int64) (clientv3.LeaseID, error) {
			granted = append(granted, ttl)
			now = now.Add(time.Millisecond) // the request takes time, which the lease may not lose
			return clientv3.LeaseID(len(granted)), nil
		})
		l.now = func() time.Time { return now }
		want := func(id clientv3.LeaseID) {
			t.Helper()
			if got, err := l.get(t.Context()); err != nil || got != id {
				t.Errorf("age %v: lease %d, %v, want %d", c.age, got, err, id)
			}
		}
		began := now
		want(1)
		now = began.Add(c.turn - 1)
		want(1)
		if left := time.Duration(granted[0])*time.Second - now.Sub(began); left < c.age {
			t.Errorf("age %v: a record at the end of the turn lives for %v", c.age, left)
		}
		now = began.Add(c.turn)
		want(2)
		l.drop(1) // one that is not used any more
		want(2)
		l.drop(2)
		want(3)
		if granted[0] != c.ttl || len(granted) != 3 {
			t.Errorf("age %v: granted %v, want %d s", c.age, granted, c.ttl)
		}
	}
}

// TestLeasesAtOnce: many who ask at once cost one request; one that fails is the error of who asked, and the next one asks
// again; who waits for another's request gives up with its context.
func TestLeasesAtOnce(t *testing.T) {
	grants, goOn := 0, make(chan struct{})
	l := newLeases(time.Minute, func(context.Context, int64) (clientv3.LeaseID, error) {
		grants++
		<-goOn
		return 7, nil
	})
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if id, err := l.get(context.Background()); id != 7 || err != nil {
				t.Errorf("%d, %v", id, err)
			}
		})
	}
	wait(t, "request", func() bool { return len(l.asking) == 0 })
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.get(done); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	close(goOn)
	all.Wait()
	if grants != 1 {
		t.Errorf("%d requests", grants)
	}
	failing := errors.New("full")
	l.drop(7)
	l.grant = func(context.Context, int64) (clientv3.LeaseID, error) { return 0, failing }
	if _, err := l.get(t.Context()); err != failing {
		t.Errorf("%v", err)
	}
	l.grant = func(context.Context, int64) (clientv3.LeaseID, error) { return 8, nil }
	if id, err := l.get(t.Context()); id != 8 || err != nil {
		t.Errorf("%d, %v", id, err)
	}
}

// TestAge: etcd itself deletes a record that nobody wrote again, and no younger one: the lease has the age and a quarter.
func TestAge(t *testing.T) {
	t.Parallel()
	c := cluster(t).client(t)
	opt := fresh()
	short := over(t, c, store.Config{MaxAge: time.Second}, opt)
	usual := over(t, c, store.Config{}, opt)
	kept := at(41)
	kept.Context.SourceID = "kept"
	for range 2 { // the long way and the short one
		_ = usual.Save(t.Context(), kept)
		_ = short.Save(t.Context(), at(41))
	}
	key, err := checkpoint.ScopeKey(storetest.Scope())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), readyTime)
	defer cancel()
	got, err := c.Get(ctx, usual.under.records, clientv3.WithPrefix())
	if err != nil || len(got.Kvs) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	for answer := range c.Watch(ctx, short.under.records+key, clientv3.WithRev(got.Header.Revision)) {
		if err := answer.Err(); err != nil {
			t.Fatal(err)
		}
		if last := answer.Events[len(answer.Events)-1]; last.Type == clientv3.EventTypeDelete {
			break
		}
	}
	if ctx.Err() != nil {
		t.Fatal("the record stays")
	}
	left, err := c.Get(ctx, usual.under.records, clientv3.WithPrefix())
	if err != nil || len(left.Kvs) != 1 {
		t.Fatalf("%+v, %v", left, err)
	}
	ttl, err := c.TimeToLive(ctx, clientv3.LeaseID(left.Kvs[0].Lease))
	if err != nil || ttl.GrantedTTL != 1125 {
		t.Errorf("%+v, %v", ttl, err)
	}
	if a := usual.Load(t.Context(), kept.Context); a.Found != checkpoint.Stored {
		t.Error("the younger one is gone")
	}
	// What a lease took away counts no longer: with room for two, the first one stays.
	two := over(t, c, store.Config{MaxRecords: 2}, opt)
	_ = two.Save(t.Context(), at(42))
	if docs, err := usual.under.List(t.Context()); err != nil || len(docs) != 2 {
		t.Errorf("%d records, %v", len(docs), err)
	}
}

// TestLeaseGone: a lease that the server does not know any more is replaced, within the same save.
func TestLeaseGone(t *testing.T) {
	p := newPair(t)
	if !p.save(t, p.a, at(41)) {
		t.Fatal("first")
	}
	old := p.a.under.leases.current()
	if _, err := p.client.Revoke(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	if a := p.b.Load(t.Context(), storetest.Scope()); a.Found != checkpoint.Nothing { // as when the record is too old
		t.Fatalf("%+v", a)
	}
	if !p.save(t, p.a, at(42)) {
		t.Fatalf("heard %+v", p.heard)
	}
	p.holds(t, 42)
	if now := p.a.under.leases.current(); now == old || now == clientv3.NoLease {
		t.Errorf("lease %d", now)
	}
}
