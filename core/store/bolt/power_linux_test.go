package bolt

import (
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/store"
	"github.com/conform-dev/conform/core/store/storetest"
	"github.com/conform-dev/conform/internal/need"
)

func init() { roles["trace"] = writeForTrace }

// tracedSaves is how many positions the traced process saves in each scope.
const tracedSaves = 40

// writeForTrace makes a store and saves positions one after the other, and says so before and after each. Every round also
// writes a new scope, so that commits evict.
func writeForTrace(path string) {
	s, err := Open(path, store.Config{MaxRecords: scopes + 2, OnDiagnostic: func(d store.Diagnostic) { must(d.Err) }}, Options{})
	must(err)
	for n := 1; n <= tracedSaves; n++ {
		for i := range scopes + 1 {
			c := storetest.At(event.Seq(n), time.Now().UnixMilli())
			c.Context = scopeOf(i)
			if i == scopes {
				c.Context = scopeOf(100 + n)
				must(s.Save(ctx, c))
				continue
			}
			fmt.Printf("applied %d %d\n", i, n)
			must(s.Save(ctx, c))
			fmt.Printf("acknowledged %d %d\n", i, n)
		}
	}
	must(s.Close())
}

// TestPowerLoss records what a writing process hands to the system, and replays every prefix of it as a machine without
// power would leave it: what was synced is there, what was not is there, missing, torn, or some of it, in any order. Each
// such file opens, is sound, and holds no less than what was acknowledged.
func TestPowerLoss(t *testing.T) {
	strace := need.Command(t, "strace", "strace")
	path := at(t)
	tape := record(t, strace, path)
	states, flawed := replay(t, tape, true)
	if t.Failed() {
		return
	}
	if commits := len(tape.syncs()) / 2; commits < tracedSaves*scopes {
		t.Errorf("%d commits recorded", commits)
	}
	t.Logf("%d writes and %d syncs recorded, %d files replayed, %d flawed", len(tape.writes()), len(tape.syncs()), states, flawed)
	// The same without the syncs: a store that did not wait for them would be caught.
	for i := range tape {
		if tape[i].kind == opSync {
			tape[i].kind = opNothing
		}
	}
	if states, flawed := replay(t, tape, false); flawed == 0 {
		t.Errorf("%d files without a sync replayed, none flawed: the replay finds nothing", states)
	}
}

// replay tries every prefix of the tape, and answers how many files it tried and how many were flawed.
func replay(t *testing.T, tape tape, report bool) (states, flawed int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "replayed.db")
	draw := rand.New(rand.NewPCG(7, 41))
	seed := maphash.MakeSeed()
	tried := map[uint64]bool{}
	var least, most [scopes]event.Seq
	var durable []byte
	var pending []op
	named := false
	for _, o := range tape {
		switch o.kind {
		case opSync:
			for _, p := range pending {
				durable = p.apply(durable)
			}
			pending = nil
		case opWrite, opSize:
			pending = append(pending, o)
			if len(pending) > 24 {
				pending = pending[1:] // without syncs: the oldest is lost for good
			}
		case opLink:
			named = true
		case opApplied:
			most[o.scope] = o.seq
		case opAcknowledged:
			least[o.scope] = o.seq
		}
		if !named {
			continue
		}
		for _, some := range outcomes(pending, draw) {
			data := slices.Clone(durable)
			for _, p := range some {
				data = p.apply(data)
			}
			var h maphash.Hash
			h.SetSeed(seed)
			h.Write(data)
			fmt.Fprint(&h, least, most)
			if tried[h.Sum64()] {
				continue
			}
			tried[h.Sum64()] = true
			states++
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			found := flaws(path, func(i int) (event.Seq, event.Seq) { return least[i], most[i] })
			if len(found) == 0 {
				continue
			}
			flawed++
			if report {
				t.Fatalf("file %d, after %d changes of which %d were not synced and %d got there: %q", states, len(tape), len(pending), len(some), found)
			}
			return states, flawed
		}
	}
	return states, flawed
}

// outcomes are what may become of writes that were not synced when the power went: none and all of them, all but one, one
// alone, one torn, and drawn subsets in drawn order.
func outcomes(pending []op, draw *rand.Rand) [][]op {
	out := [][]op{nil, pending}
	for i, p := range pending {
		out = append(out, slices.Concat(pending[:i], pending[i+1:]), []op{p})
		if p.kind == opWrite && len(p.data) > sector {
			torn := p
			torn.data = p.data[:sector*(1+draw.IntN(len(p.data)/sector))]
			out = append(out, slices.Concat(pending[:i], []op{torn}, pending[i+1:]), []op{torn})
		}
	}
	for range min(len(pending), 4) {
		some := slices.Clone(pending)
		draw.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
		out = append(out, some[:draw.IntN(len(some)+1)])
	}
	return out
}

// sector is what a disk writes in one piece.
const sector = 512
