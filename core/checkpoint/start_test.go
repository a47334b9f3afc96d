package checkpoint

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/conform-dev/conform/core/event"
)

func TestStart(t *testing.T) {
	ctx := example().Context
	held := Start{Held: true, Pos: example().Resume, SavedAt: example().SavedAt, IDs: []string{"e40", "e41"}}
	persisted := held
	persisted.Persisted = true
	other := example()
	other.Context.SourceVersion = "v8"
	refused := func(r event.Reason, detail string) Start {
		return Start{Pos: event.NoPosition, Refused: r, Detail: detail}
	}
	for _, tt := range []struct {
		name   string
		answer Answer
		want   Start
	}{
		{"nothing", Answer{}, Start{Pos: event.NoPosition}},
		{"a record", Answer{Found: Stored, Checkpoint: example()}, persisted},
		{"a record that a store should not have answered", Answer{Found: Stored, Checkpoint: other}, refused(event.SourceVersionChanged, "")},
		{"a record without shape", Answer{Found: Stored}, refused(event.SourceChanged, "")},
		{"discarded", Answer{Found: Discarded, Reason: event.SchemaVersionChanged}, refused(event.SchemaVersionChanged, "")},
		{"expired", Answer{Found: Discarded, Reason: event.CursorExpired, Detail: DetailExpired}, refused(event.CursorExpired, "checkpoint-expired")},
		{"discarded without a reason", Answer{Found: Discarded}, refused(event.InvalidCheckpoint, "")},
		{"discarded for no such reason", Answer{Found: Discarded, Reason: event.SequenceGap}, refused(event.InvalidCheckpoint, "")},
	} {
		if diff := cmp.Diff(tt.want, StartAfter(ctx, tt.answer)); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

// TestLoadFailed: a store that could not read leaves no place to start from, and says why.
func TestLoadFailed(t *testing.T) {
	disk := errors.New("disk")
	s := StartAfter(example().Context, LoadFailed(disk))
	if s.Held || s.Refused != event.CheckpointLoadFailed || !errors.Is(s.Err, disk) || reasonOf(t, s.Err) != event.CheckpointLoadFailed {
		t.Errorf("got %+v", s)
	}
}

// TestStartFrom: what the caller hands in is held, but this gate's store never saw it (D-09).
func TestStartFrom(t *testing.T) {
	c := example()
	s := StartFrom(c.Context, c)
	if !s.Held || s.Persisted || s.Pos != c.Resume || s.Refused != event.None {
		t.Errorf("got %+v", s)
	}
	c.RecentIDs[0] = "changed"
	if s.IDs[0] != "e40" {
		t.Error("the start shares the caller's id list")
	}
	c.Context.QueryFingerprint = "other"
	if s := StartFrom(example().Context, c); s.Held || s.Refused != event.QueryChanged {
		t.Errorf("got %+v", s)
	}
}

func TestAnswerWords(t *testing.T) {
	if Nothing.String() != "nothing" || Stored.String() != "record" || Discarded.String() != "discarded" || Found(9).String() != "nothing" {
		t.Error("the words of an answer changed")
	}
}
