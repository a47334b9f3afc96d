package bolt

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// file is the database below a storage, open or not yet.
type file struct {
	path    string
	opt     Options
	foreign bool // the application's own: never opened or closed here

	mu     sync.Mutex
	db     *bbolt.DB
	os     *os.File  // below db
	err    error     // of the last attempt
	next   time.Time // no attempt before it
	closed bool
}

// get gives the open database, or the error of the last attempt to open it.
func (f *file) get() (*bbolt.DB, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.closed:
		return nil, ErrClosed
	case f.db != nil:
		return f.db, nil
	case time.Now().Before(f.next):
		return nil, f.err
	}
	f.db, f.os, f.err = open(f.path, f.opt)
	f.next = time.Now().Add(RetryAfter)
	return f.db, f.err
}

func (f *file) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	db := f.db
	f.db, f.closed = nil, true
	if db == nil || f.foreign {
		return nil
	}
	return contain(db.Close)
}

// abandon closes a file whose database may hold its locks for ever, so that somebody else can open it.
func (f *file) abandon() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.db, f.closed = nil, true
	if f.os == nil {
		return nil
	}
	fd := f.os
	f.os = nil
	return fd.Close()
}

// open opens the file at path and makes it first if need be.
func open(path string, opt Options) (db *bbolt.DB, opened *os.File, err error) {
	if err := create(path, opt.Timeout); err != nil {
		return nil, nil, fmt.Errorf("bolt: %s cannot be made: %w", path, err)
	}
	err = contain(func() (err error) {
		db, err = bbolt.Open(path, 0o600, &bbolt.Options{
			Timeout: opt.Timeout, MaxSize: MaxFile, FreelistType: bbolt.FreelistMapType, NoStatistics: true,
			OpenFile: func(name string, flag int, perm os.FileMode) (f *os.File, err error) {
				if opt.OpenFile != nil {
					opened, err = opt.OpenFile(name, flag, perm)
				} else {
					opened, err = os.OpenFile(name, flag, perm)
				}
				return opened, err
			},
		})
		return err
	})
	switch {
	case err == nil:
		return db, opened, nil
	case errors.Is(err, ErrCorrupt) && opened != nil:
		opened.Close() // bbolt gave up in the middle: without this the lock would stay
	case errors.Is(err, berrors.ErrTimeout):
		return nil, nil, fmt.Errorf("bolt: %s: %w (no lock within %v)", path, ErrLocked, opt.Timeout)
	case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrVersionMismatch), errors.Is(err, berrors.ErrChecksum):
		return nil, nil, fmt.Errorf("bolt: %s is no bbolt file, or its head is %w: %w", path, ErrCorrupt, err)
	}
	return nil, nil, fmt.Errorf("bolt: %s: %w", path, err)
}

// create makes an empty database if path does not exist. It is made under another name and linked when it is whole and on
// disk, so that a crash never leaves a file that cannot be opened, at the price of a small file named path.new-*.
func create(path string, timeout time.Duration) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	dir, name := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	tmp, err := os.CreateTemp(dir, name+".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	if err := tmp.Close(); err != nil {
		return err
	}
	db, err := bbolt.Open(tmp.Name(), 0o600, &bbolt.Options{Timeout: timeout})
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists(bucketName)
		return err
	})
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	switch err := os.Link(tmp.Name(), path); {
	case errors.Is(err, fs.ErrExist): // somebody else was faster
		return nil
	case err != nil: // a file system without links
		if err := os.Rename(tmp.Name(), path); err != nil {
			return err
		}
	}
	return syncDir(dir)
}

// syncDir makes a new name in a folder durable.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" { // a folder cannot be synced there
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// contain runs f, which reads mapped pages. bbolt panics over a page that makes no sense, and the machine faults over one
// that is not there any more; both are errors of this call.
func contain(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if v := recover(); v != nil {
			err = &crash{v}
		}
	}()
	return f()
}

// crash is a panic that was contained.
type crash struct{ value any }

func (c *crash) Error() string { return fmt.Sprintf("%v: %v", ErrCorrupt, c.value) }

func (c *crash) Unwrap() error { return ErrCorrupt }
