package store

import (
	"context"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/event"
)

// Records gives every record that has the shape of one, the least recently written first. What else lies in the storage
// is left alone and passed over. Positions in it are as they are stored: do not print them.
func (k *Keeper) Records(ctx context.Context) ([]checkpoint.Record, error) {
	var docs [][]byte
	err := k.try(func() (err error) { docs, err = k.under.List(ctx); return err })
	if err != nil {
		return nil, &event.ResumeError{Reason: event.CheckpointLoadFailed, Message: "the records could not be listed", Cause: err}
	}
	out := make([]checkpoint.Record, 0, len(docs))
	for _, doc := range docs {
		if rec, err := checkpoint.DecodeRecord(doc); err == nil {
			out = append(out, rec)
		}
	}
	return out, nil
}

// Clear deletes every record, and everything else that lies in the storage.
func (k *Keeper) Clear(ctx context.Context) error {
	if err := k.try(func() error { return k.under.Clear(ctx) }); err != nil {
		return &event.ResumeError{Reason: event.CheckpointSaveFailed, Message: "the records could not be removed", Cause: err}
	}
	return nil
}
