package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/drive"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
	"github.com/conform-dev/conform/core/store"
	"github.com/conform-dev/conform/core/store/memory"
	"github.com/conform-dev/conform/core/store/storetest"
)

// process is one life of a subscriber: a gate that starts at what the store has. It dies by being left alone.
type process struct {
	t     *testing.T
	g     *gate.Gate
	kept  store.Store
	calls map[event.Seq]int // of the consumer, over all lives
}

func start(t *testing.T, kept store.Store, calls map[event.Seq]int) *process {
	t.Helper()
	from := checkpoint.StartAfter(storetest.Scope(), kept.Load(t.Context(), storetest.Scope()))
	g, err := gate.New(gate.Config{Saves: true}, drive.Start(from))
	if err != nil {
		t.Fatal(err)
	}
	return &process{t, g, kept, calls}
}

func (p *process) held() event.Seq {
	h, ok := p.g.Held()
	if !ok {
		return event.NoSeq
	}
	return h.Pos.Seq
}

// deliver offers an event and does what is due; with dies the process ends after the consumer has returned, before the save.
func (p *process) deliver(kind string, seq int, dies bool) {
	p.t.Helper()
	var ev event.Event
	event.Parse(fmt.Appendf(nil, `{"type":%q,"sequence":%d,"features":[]}`, kind, seq), &ev)
	p.g.Enqueue(&ev)
	due := p.g.Take()
	if due.Apply == nil {
		p.t.Fatalf("%s %d is not applied: %+v", kind, seq, due.Resolved)
	}
	p.calls[due.Apply.Pos.Seq]++
	p.g.Applied(1_000_000, nil)
	due = p.g.Take()
	if due.Save == nil {
		p.t.Fatalf("%s %d is not saved", kind, seq)
	}
	if dies {
		return
	}
	p.g.Saved(p.kept.Save(p.t.Context(), drive.Checkpoint(storetest.Scope(), *due.Save, p.g.RecentIDs())))
	p.g.Take()
}

// TestCrashBetweenApplyAndSave (P-CK-06): the event that was applied and not saved comes again. Twice is right, zero times
// would be a loss; nothing counts as a gap.
func TestCrashBetweenApplyAndSave(t *testing.T) {
	kept, err := memory.New(store.Config{Now: func() int64 { return 1_000_000 }})
	if err != nil {
		t.Fatal(err)
	}
	calls := map[event.Seq]int{}
	first := start(t, kept, calls)
	first.deliver("snapshot", 10, false)
	first.deliver("delta", 11, true)

	second := start(t, kept, calls)
	if second.held() != 10 {
		t.Fatalf("starts at %d, want 10", second.held())
	}
	second.deliver("delta", 11, false)
	second.deliver("delta", 12, false)
	if calls[11] != 2 || calls[12] != 1 || second.g.State().Gaps != 0 || second.held() != 12 {
		t.Errorf("calls %v, %+v", calls, second.g.State())
	}
	if a := kept.Load(t.Context(), storetest.Scope()); a.Checkpoint.Resume.Seq != 12 {
		t.Errorf("the store has %d", a.Checkpoint.Resume.Seq)
	}
}

// TestIDHistoryOnStart (P-CK-07): of a history that fits the ceiling the newest ids count that fit the window; beyond the
// ceiling the checkpoint is refused. That no entry is read then is checkpoint.TestIDCeiling's.
func TestIDHistoryOnStart(t *testing.T) {
	const window = 256
	for _, n := range []int{300, checkpoint.MaxRecentIDs, checkpoint.MaxRecentIDs + 1} {
		c := storetest.At(41, 1)
		for i := range n {
			c.RecentIDs = append(c.RecentIDs, fmt.Sprint("e", i))
		}
		from := checkpoint.StartFrom(storetest.Scope(), c)
		g, err := gate.New(gate.Config{MaxIDs: window}, drive.Start(from))
		if err != nil {
			t.Fatal(err)
		}
		if n > checkpoint.MaxRecentIDs {
			if s := g.State(); from.Held || s.Phase != gate.ResnapshotRequired || s.Reason != event.InvalidCheckpoint || g.RecentIDCount() != 0 {
				t.Errorf("%d ids: %+v", n, s)
			}
			continue
		}
		if got := g.RecentIDs(); !from.Held || !slices.Equal(got, c.RecentIDs[n-window:]) {
			t.Errorf("%d ids: %d count, the oldest is %s", n, len(got), strings.Join(got[:1], ""))
		}
	}
}
