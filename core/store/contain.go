package store

import (
	"errors"

	"github.com/conform-dev/conform/core/checkpoint"
)

func (k *Keeper) now() (ms int64, ok bool) {
	ok = k.contain(func() { ms = k.cfg.Now() })
	return ms, ok && checkpoint.ValidTime(ms)
}

func (k *Keeper) report(d Diagnostic) {
	if k.cfg.OnDiagnostic != nil {
		k.contain(func() { k.cfg.OnDiagnostic(d) })
	}
}

// errPanic stands for a panic in the storage. What it said may hold stored bytes, and is dropped.
var errPanic = errors.New("the storage panicked")

// try runs a call of the storage; a panic in it is an error like any other.
func (k *Keeper) try(call func() error) (err error) {
	if !k.contain(func() { err = call() }) {
		return errPanic
	}
	return err
}

// contain runs a function of the caller's; a panic in it is counted and goes no further (D-24).
func (k *Keeper) contain(f func()) (ok bool) {
	defer func() {
		if !ok {
			recover()
			k.contained.Add(1)
		}
	}()
	f()
	return true
}
