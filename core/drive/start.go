package drive

import (
	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/gate"
)

// Start is where a gate begins after what a store or a caller's checkpoint said (D-26).
func Start(s checkpoint.Start) gate.Start {
	out := gate.Start{IDs: s.IDs, Persisted: s.Persisted, Refused: s.Refused, Detail: s.Detail}
	if s.Held {
		out.Held = &gate.Held{Pos: s.Pos, SavedAt: s.SavedAt}
	}
	return out
}

// Checkpoint is the record of an accepted position. ctx carries the source version and the authorization scope that
// were in force when the save fell due (D-33, D-41).
func Checkpoint(ctx checkpoint.Context, h gate.Held, ids []string) checkpoint.Checkpoint {
	return checkpoint.Checkpoint{Context: ctx, Resume: h.Pos, RecentIDs: ids, SavedAt: h.SavedAt}
}
