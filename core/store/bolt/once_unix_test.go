//go:build unix

package bolt

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/store"
	"github.com/conform-dev/conform/core/store/storetest"
	"github.com/conform-dev/conform/core/subscription"
)

// onceEvents is how many events the consumers below count. A process is killed after a few, so that there are more than a
// hundred kills.
const onceEvents = 1200

var countsBucket = []byte("counts")

func init() {
	roles["apply-once"] = func(path string) { count(path, true) }
	roles["apply-twice"] = func(path string) { count(path, false) }
}

// count follows the feed and counts in a database how often it was given each event, until the last one. With once the
// checkpoint is in the transaction that counts; otherwise the subscription saves it afterwards.
func count(path string, once bool) {
	p, err := share(path + ".progress")
	must(err)
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: time.Second})
	must(err)
	kept, err := Over(db, store.Config{OnDiagnostic: func(d store.Diagnostic) { must(d.Err) }})
	must(err)
	apply := func(ctx context.Context, ev *event.Event) error {
		p.phase(commitBegins)
		defer p.phase(commitEnds)
		err := db.Update(func(tx *bbolt.Tx) error {
			if err := increment(tx, ev.Pos.Seq); err != nil || !once {
				return err
			}
			c, ok := subscription.Candidate(ctx)
			if !ok {
				return errors.New("no candidate")
			}
			return kept.Put(tx, c)
		})
		p.Steps.Add(1)
		return err
	}
	f := &feed{head: 1, last: onceEvents}
	sub, err := subscription.Open(ctx, f, apply, subscription.WithStore(kept), subscription.WithCandidates(), subscription.WithContext(storetest.Scope()))
	must(err)
	for {
		if held, ok := sub.Held(); ok && held.Pos.Seq == onceEvents && sub.State().Persisted {
			break
		}
		if ob := sub.Observation(); ob.Ending != nil {
			must(sub.Wait())
		}
		time.Sleep(time.Millisecond)
	}
	sub.Close()
	must(sub.Wait())
	must(kept.Close())
	must(db.Close())
}

func increment(tx *bbolt.Tx, seq event.Seq) error {
	b, err := tx.CreateBucketIfNotExists(countsBucket)
	if err != nil {
		return err
	}
	key := binary.BigEndian.AppendUint64(nil, uint64(seq))
	n := byte(0)
	if v := b.Get(key); v != nil {
		n = v[0]
	}
	return b.Put(key, []byte{n + 1})
}

// counted gives how often each event was counted, from 1, and the position that is held.
func counted(t *testing.T, path string) (counts []int, held event.Seq) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s, err := Over(db, store.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if a := s.Load(t.Context(), storetest.Scope()); a.Found == checkpoint.Stored {
		held = a.Checkpoint.Resume.Seq
	}
	err = db.View(func(tx *bbolt.Tx) error {
		for err := range tx.Check() {
			t.Errorf("the file is not sound: %v", err)
		}
		if b := tx.Bucket(countsBucket); b != nil {
			return b.ForEach(func(k, v []byte) error {
				for seq := int(binary.BigEndian.Uint64(k)); len(counts) < seq; {
					counts = append(counts, 0)
				}
				counts[len(counts)-1] = int(v[0])
				return nil
			})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return counts, held
}

// applyUntilDone kills the consumer over and over until it has seen the last event, and calls judge after each time.
func applyUntilDone(t *testing.T, name string, judge func(counts []int, held event.Seq)) *killing {
	t.Helper()
	path := at(t)
	p, err := share(path + ".progress")
	if err != nil {
		t.Fatal(err)
	}
	var k killing
	for done := false; !done && !t.Failed(); {
		done = !k.killOnce(t, role(name, path), p, 12)
		counts, held := counted(t, path)
		judge(counts, held)
		if done && (len(counts) != onceEvents || held != onceEvents) {
			t.Errorf("ended with %d events counted, position %d", len(counts), held)
		}
	}
	if k.rounds < 50 {
		t.Errorf("only %d kills", k.rounds)
	}
	return &k
}

// TestExactlyOnce: state and checkpoint in one transaction. Wherever the process dies, what was counted is what the
// position says, and in the end each event was counted once.
func TestExactlyOnce(t *testing.T) {
	k := applyUntilDone(t, "apply-once", func(counts []int, held event.Seq) {
		if len(counts) != int(held) {
			t.Errorf("%d events counted at position %d", len(counts), held)
		}
		for i, n := range counts {
			if n != 1 {
				t.Errorf("event %d was counted %d times", i+1, n)
			}
		}
	})
	k.judge(t)
}

// TestAtLeastOnce (P-CK-06): without that, a process that dies between the apply and the save sees the event again. Twice
// is right, zero times is a bug. It also shows that the test above can fail.
func TestAtLeastOnce(t *testing.T) {
	twice := 0
	k := applyUntilDone(t, "apply-twice", func(counts []int, held event.Seq) {
		twice = 0
		for i, n := range counts {
			if n == 0 {
				t.Errorf("event %d was never counted", i+1)
			}
			if n > 1 {
				twice++
			}
		}
		if len(counts) < int(held) {
			t.Errorf("%d events counted at position %d: it is newer than what was applied", len(counts), held)
		}
	})
	if twice == 0 {
		t.Error("no event was counted twice: the kills hit nothing")
	}
	t.Logf("%d kills, %d events were counted more than once", k.rounds, twice)
}
