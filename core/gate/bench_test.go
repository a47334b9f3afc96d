package gate_test

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
)

// load offers contiguous deltas with ids, cursors and delta tokens to a gate in its steady state, and drives it as the
// simplest driver would.
type load struct {
	g       *gate.Gate
	ids     []string
	cursors []string
	ev      event.Event
	n       int
}

func newLoad(cfg gate.Config, ids []string) *load {
	g, err := gate.New(cfg, gate.Start{Held: &gate.Held{}})
	if err != nil {
		panic(err)
	}
	l := &load{g: g, ids: ids, ev: event.Event{Kind: event.Delta, Payload: make([]byte, 256)}}
	for i := range 1 << 10 {
		l.cursors = append(l.cursors, "cursor-"+strconv.Itoa(i))
	}
	l.run(2 * g.Bounds().MaxIDs)
	return l
}

func (l *load) run(events int) {
	for range events {
		l.n++
		l.ev.Pos.Seq = event.Seq(l.n)
		l.ev.Pos.Cursor = l.cursors[l.n%len(l.cursors)]
		l.ev.Pos.DeltaToken = l.ev.Pos.Cursor
		l.ev.ID = l.ids[l.n%len(l.ids)]
		l.g.Enqueue(&l.ev)
		for {
			due := l.g.Take()
			if due.Apply != nil {
				l.g.Applied(int64(l.n), nil)
			} else if due.Save != nil {
				l.g.Saved(nil)
			} else {
				if len(due.Resolved) != 1 || due.Resolved[0].Status != gate.Applied {
					panic(fmt.Sprintf("event %d: %+v", l.n, due.Resolved))
				}
				break
			}
		}
	}
}

// bare is what remembering ids costs without a gate: a map and a ring.
type bare struct {
	seen map[string]struct{}
	ring []string
	ids  []string
	n    int
}

func newBare(size int, ids []string) *bare {
	b := &bare{seen: make(map[string]struct{}, size), ring: make([]string, size), ids: ids}
	b.run(2 * size)
	return b
}

func (b *bare) run(events int) {
	for range events {
		b.n++
		id := b.ids[b.n%len(b.ids)]
		if _, ok := b.seen[id]; ok {
			panic(id)
		}
		at := b.n % len(b.ring)
		delete(b.seen, b.ring[at])
		b.ring[at] = id
		b.seen[id] = struct{}{}
	}
}

// plainIDs are ids as servers make them: a prefix and a number.
func plainIDs() []string {
	ids := make([]string, 1<<14)
	for i := range ids {
		ids[i] = fmt.Sprintf("evt-%016d", i)
	}
	return pack(ids)
}

// pack puts ids into one string, so that no set of ids is slower to read than another one.
func pack(ids []string) []string {
	all := strings.Join(ids, "")
	out := make([]string, 0, len(ids))
	for _, id := range ids {
		out = append(out, all[:len(id)])
		all = all[len(id):]
	}
	return out
}

// collidingIDs look alike but land in one and the same cell of any table of up to 8,192 cells that hashes by FNV-1a, a hash
// that everybody can compute.
func collidingIDs() []string {
	const mask = 8192 - 1
	var ids []string
	for i := 0; len(ids) < 1<<14; i++ {
		id := []byte(fmt.Sprintf("evt-%015d", i))
		h := fnv.New64a()
		h.Write(id)
		for _, last := range []byte("0123456789abcdefghijklmnopqrstuv") {
			const prime = 1099511628211
			if (h.Sum64()^uint64(last))*prime&mask == 4711&mask {
				ids = append(ids, string(append(id, last)))
				break
			}
		}
	}
	return pack(ids)
}

func TestCollidingIDsCollide(t *testing.T) {
	for _, id := range collidingIDs() {
		h := fnv.New64a()
		h.Write([]byte(id))
		if h.Sum64()%8192 != 4711 {
			t.Fatalf("%q lands in cell %d", id, h.Sum64()%8192)
		}
	}
}

func bench(b *testing.B, run func(int)) {
	b.ReportAllocs()
	b.ResetTimer()
	run(b.N)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mevents/s")
}

func BenchmarkBareWindow256(b *testing.B)  { bench(b, newBare(256, plainIDs()).run) }
func BenchmarkBareWindow4096(b *testing.B) { bench(b, newBare(4096, plainIDs()).run) }
func BenchmarkAccept(b *testing.B)         { bench(b, newLoad(gate.Config{}, plainIDs()).run) }
func BenchmarkAcceptSave(b *testing.B) {
	bench(b, newLoad(gate.Config{Saves: true}, plainIDs()).run)
}
func BenchmarkAcceptWindow4096(b *testing.B) {
	bench(b, newLoad(gate.Config{MaxIDs: 4096}, plainIDs()).run)
}
func BenchmarkAcceptColliding4096(b *testing.B) {
	bench(b, newLoad(gate.Config{MaxIDs: 4096}, collidingIDs()).run)
}

// TestAcceptAllocatesNothing: in the steady state, with ids, positions and saves.
func TestAcceptAllocatesNothing(t *testing.T) {
	for _, cfg := range []gate.Config{{}, {Saves: true}, {Saves: true, SaveEvery: 8}, {MaxIDs: 4096}} {
		l := newLoad(cfg, plainIDs())
		if n := testing.AllocsPerRun(1000, func() { l.run(1) }); n != 0 {
			t.Errorf("%+v: %v allocations per accepted event", cfg, n)
		}
	}
}

// TestCostRatios compares what an accepted event costs with what merely remembering its id costs, a large window with the
// default one, and hostile ids with plain ones: interleaved in one run, medians, no absolute time.
func TestCostRatios(t *testing.T) {
	if raceEnabled || testing.Short() {
		t.Skip("times mean nothing here")
	}
	const rounds, events = 41, 10_000
	runs := []func(int){
		newBare(256, plainIDs()).run,
		newLoad(gate.Config{}, plainIDs()).run,
		newLoad(gate.Config{MaxIDs: 4096}, plainIDs()).run,
		newLoad(gate.Config{MaxIDs: 4096}, collidingIDs()).run,
	}
	times := make([][]time.Duration, len(runs))
	for range rounds {
		for i, run := range runs {
			from := time.Now()
			run(events)
			times[i] = append(times[i], time.Since(from))
		}
	}
	ns := make([]float64, len(runs))
	for i := range times {
		slices.Sort(times[i])
		// The least round: what else the machine does can only add to it, and adds more to the larger window, which needs
		// more of a cache that is shared.
		ns[i] = float64(times[i][0].Nanoseconds()) / events
	}
	t.Logf("ns per event: bare window %.0f, gate %.0f (%.1f M/s), window 4096 %.0f, colliding ids %.0f", ns[0], ns[1], 1e3/ns[1], ns[2], ns[3])
	for _, c := range []struct {
		what  string
		ratio float64
		most  float64
	}{
		{"gate to bare window", ns[1] / ns[0], 2},
		{"window 4096 to default", ns[2] / ns[1], 1.5},
		{"colliding ids to plain ids", ns[3] / ns[2], 1.5},
	} {
		t.Logf("%s: %.2f, at most %.1f", c.what, c.ratio, c.most)
		if c.ratio > c.most {
			t.Errorf("%s: %.2f, at most %.1f", c.what, c.ratio, c.most)
		}
	}
}
