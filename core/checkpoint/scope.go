package checkpoint

import "github.com/conform-dev/conform/core/event"

// Scope is a context with what each record of it repeats: a store that saves often computes it once.
type Scope struct {
	of     Context // as it was given
	record Record  // without a position and times
	path   string  // of the text that may not be stored
	screen Verdict
}

// Bind computes the scope of a context. It fails for one that does not validate.
func Bind(ctx Context) (*Scope, error) {
	valid, err := ctx.Validate()
	if err != nil {
		return nil, err
	}
	digest := ScopeDigest(valid.AuthorizationScopeFingerprint)
	key, err := scopeKey(digest, valid.QueryFingerprint, valid.SourceID)
	if err != nil {
		return nil, err
	}
	s := &Scope{of: ctx, record: Record{
		Key:                      key,
		SourceID:                 valid.SourceID,
		QueryFingerprint:         valid.QueryFingerprint,
		SourceVersion:            valid.SourceVersion,
		SchemaVersion:            valid.SchemaVersion,
		AuthorizationScopeDigest: digest,
	}}
	s.path, s.screen = screen(s.record.names())
	return s, nil
}

// Key is the key of the scope's record.
func (s *Scope) Key() string { return s.record.Key }

// Record makes the record of a checkpoint of this scope. It fails when the checkpoint is not valid, and for one of
// another context.
func (s *Scope) Record(c *Checkpoint, observedAt int64) (Record, error) {
	if err := c.Check(); err != nil {
		return Record{}, err
	}
	if c.Context != s.of {
		return Record{}, fail(event.InvalidCheckpoint, "context is another one")
	}
	r := s.record
	r.Resume, r.SavedAt, r.ObservedAt = c.Resume, c.SavedAt, observedAt
	return r, nil
}

// Screen is Record.Screen for a record of this scope.
func (s *Scope) Screen(r *Record) (path string, v Verdict) {
	if s.screen != Accepted {
		return s.path, s.screen
	}
	return screen(r.places())
}
