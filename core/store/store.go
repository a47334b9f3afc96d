// Package store says what it means to keep checkpoints. Keeper holds the rules that every shipped store follows (what is
// written, what a load trusts, what is reported); a storage below it holds bytes. Nothing here ever throws into a
// subscription: what goes wrong is a diagnostic, and the subscription starts from a snapshot.
package store

import (
	"context"

	"github.com/conform-dev/conform/core/checkpoint"
)

// Answer is what a load found: a record, nothing, or a record that was discarded and why (D-26).
type Answer = checkpoint.Answer

// Store keeps at most one checkpoint per resume scope. Its methods may be called at once from several goroutines. A
// context that is done means that nothing is touched: Load then answers Nothing, Save and Forget nil; who cancels must
// not read such a nil as stored.
type Store interface {
	// Load answers with what is kept for ctx's scope. What may not be used is deleted and answered as discarded. A
	// caller's own store that cannot read answers checkpoint.LoadFailed.
	Load(ctx context.Context, scope checkpoint.Context) Answer
	// Save replaces the scope's record. Shipped stores always return nil and report what went wrong as a diagnostic; an
	// error from a caller's own store ends the gate (checkpoint-save-failed, D-26).
	Save(ctx context.Context, c checkpoint.Checkpoint) error
	// Forget deletes the scope's record, so that its position is never resumed from again (D-21, D-31). Forgetting what
	// is not there is no error. An error means that the record may still be there.
	Forget(ctx context.Context, scope checkpoint.Context) error
}

// Storage holds the bytes below a Keeper, one document per key, and is safe for concurrent use. Each call is atomic: it
// happens as a whole or, with an error, not at all. A call whose ctx ends may fail with ctx's error. storetest.Storage
// checks one in a single call.
type Storage interface {
	// Read gives the document of a key; nil and no error when there is none. The caller does not change it.
	Read(ctx context.Context, key string) ([]byte, error)
	// Write replaces the document of a key and removes the least recently written others until at most limit are left, all
	// of it in one step. limit is at least 1: what was just written is never removed. A read does not count as a write.
	// The document belongs to the storage from then on.
	Write(ctx context.Context, key string, doc []byte, limit int) error
	// Remove deletes a key. With a document that is not nil it does so only while that is still what the key holds, so
	// that a load which found an old record unfit cannot delete a newer one. Nothing to delete is no error.
	Remove(ctx context.Context, key string, only []byte) error
	// List gives every document, the least recently written first. The caller does not change them.
	List(ctx context.Context) ([][]byte, error)
	// Clear deletes everything.
	Clear(ctx context.Context) error
}
