package store

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/event"
)

// Keeper is a Store over a Storage: it decides what is written and what a load trusts. It never returns an error from
// Save, and a load fails closed.
type Keeper struct {
	under     Storage
	cfg       Config
	contained *atomic.Uint64
	scopes    *scopes
}

// Keep makes the store over a storage. It fails with invalid-checkpoint for a setting out of range, naming setting, value
// and ceiling.
func Keep(under Storage, cfg Config) (*Keeper, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Keeper{under: under, cfg: cfg, contained: new(atomic.Uint64), scopes: new(scopes)}, nil
}

// Over is the same store, with the same settings and counts, over another storage: a view of the one below inside a
// transaction of the caller's, for example. Since Save reports trouble and returns nil, such a view has to remember for
// itself whether it was written to.
func (k *Keeper) Over(under Storage) *Keeper {
	return &Keeper{under: under, cfg: k.cfg, contained: k.contained, scopes: k.scopes}
}

// Contained counts panics of the clock, the diagnostics callback and the storage that were caught (D-24).
func (k *Keeper) Contained() uint64 { return k.contained.Load() }

// Save writes c's record, or, when the screen refuses one of its texts, deletes the one before it (facts 4.3, D-21). It always
// returns nil: see Store.
func (k *Keeper) Save(ctx context.Context, c checkpoint.Checkpoint) error {
	if ctx.Err() != nil {
		return nil
	}
	var rec checkpoint.Record
	scope, err := k.scopes.bind(c.Context)
	if err == nil {
		rec, err = scope.Record(&c, 0)
	}
	if err != nil {
		k.report(NewDiagnostic(Saving, Trouble(event.InvalidCheckpoint.String()), checkpoint.PlaceholderKey, "the checkpoint is not valid", err))
		return nil
	}
	if path, v := scope.Screen(&rec); v != checkpoint.Accepted {
		k.report(NewDiagnostic(Saving, CredentialScreened, rec.Key, path+" must not be stored", nil))
		// The older record goes as well: the next load is a snapshot, as the seed says (D-21).
		if err := k.try(func() error { return k.under.Remove(ctx, rec.Key, nil) }); err != nil {
			k.report(NewDiagnostic(Saving, StorageFailed, rec.Key, "the older record could not be removed", err))
		}
		return nil
	}
	now, ok := k.now()
	if !ok {
		k.report(NewDiagnostic(Saving, StorageFailed, rec.Key, "the clock failed", nil))
		return nil
	}
	rec.ObservedAt = now
	doc, err := rec.JSON()
	if err == nil {
		err = k.try(func() error { return k.under.Write(ctx, rec.Key, doc, k.cfg.MaxRecords) })
	}
	if err != nil && ctx.Err() == nil {
		k.report(NewDiagnostic(Saving, StorageFailed, rec.Key, "the record was not written", err))
	}
	return nil
}

// Load reads the scope's record and trusts nothing about it (facts 4.4). What is unfit is deleted, reported and answered
// as discarded.
func (k *Keeper) Load(ctx context.Context, scope checkpoint.Context) Answer {
	if ctx.Err() != nil {
		return Answer{}
	}
	key, err := checkpoint.ScopeKey(scope)
	if err != nil {
		k.report(NewDiagnostic(Loading, Trouble(event.InvalidCheckpoint.String()), checkpoint.PlaceholderKey, "the context is not valid", err))
		return Answer{}
	}
	var doc []byte
	err = k.try(func() (err error) { doc, err = k.under.Read(ctx, key); return err })
	switch {
	case ctx.Err() != nil:
		return Answer{}
	case err != nil:
		k.report(NewDiagnostic(Loading, StorageFailed, key, "the record could not be read", err))
		return Answer{}
	case doc == nil:
		return Answer{}
	}
	found, flaw := k.judge(scope, key, doc)
	if flaw == nil {
		return Answer{Found: checkpoint.Stored, Checkpoint: found}
	}
	_ = k.try(func() error { return k.under.Remove(ctx, key, doc) }) // a record that stays is judged again by the next load
	d := NewDiagnostic(Loading, flaw.trouble, key, flaw.message, flaw.cause)
	k.report(d)
	return Answer{Found: checkpoint.Discarded, Reason: d.Err.Reason, Detail: flaw.detail}
}

// flaw is why a record is unfit.
type flaw struct {
	trouble Trouble
	detail  string // of the answer
	message string // of the diagnostic's error
	cause   error
}

func (k *Keeper) judge(scope checkpoint.Context, key string, doc []byte) (checkpoint.Checkpoint, *flaw) {
	rec, err := checkpoint.DecodeRecord(doc)
	switch {
	case errors.Is(err, checkpoint.ErrFormat):
		return checkpoint.Checkpoint{}, &flaw{trouble: UnsupportedFormat, detail: checkpoint.DetailFormat, message: "the record has another format"}
	case err != nil:
		return checkpoint.Checkpoint{}, &flaw{trouble: Trouble(event.InvalidCheckpoint.String()), message: "the record is corrupt", cause: err}
	}
	c, reason := rec.Open(scope)
	if reason == event.AuthorizationScopeChanged {
		return c, &flaw{trouble: Trouble(reason.String()), message: "the record belongs to another authorization scope"}
	}
	if f := k.expired(&rec); f != nil {
		return c, f
	}
	switch {
	case reason != event.Compatible:
		return c, &flaw{trouble: Trouble(reason.String()), message: "the record is bound to something else"}
	case rec.Key != key:
		return c, &flaw{trouble: Trouble(event.InvalidCheckpoint.String()), message: "the record stands under a key that is not its own"}
	}
	return c, nil
}

// expired judges a record's age; a record from the future has a corrupt time, with no tolerance (D-23).
func (k *Keeper) expired(rec *checkpoint.Record) *flaw {
	now, ok := k.now()
	if !ok {
		return &flaw{trouble: Expired, detail: checkpoint.DetailTime, message: "the clock failed"}
	}
	if detail, message := rec.Age(now, k.cfg.MaxAge.Milliseconds()); detail != "" {
		return &flaw{trouble: Expired, detail: detail, message: message}
	}
	return nil
}

// Forget deletes the scope's record.
func (k *Keeper) Forget(ctx context.Context, scope checkpoint.Context) error {
	if ctx.Err() != nil {
		return nil
	}
	key, err := checkpoint.ScopeKey(scope)
	if err != nil {
		return err
	}
	if err := k.try(func() error { return k.under.Remove(ctx, key, nil) }); err != nil && ctx.Err() == nil {
		return &event.ResumeError{Reason: event.CheckpointSaveFailed, Message: "the record could not be removed", Cause: err}
	}
	return nil
}
