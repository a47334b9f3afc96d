package host

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const (
	// runDirName begins the names of run directories; os.MkdirTemp adds up to ten digits.
	runDirName = "conform-plugin-"
	// socketTail is what go-plugin and the plugin append: a directory and a socket, each with up to ten digits.
	socketTail = len("/plugin-dir0123456789/plugin0123456789")
	// mostBase is the longest directory in which run directories are made.
	mostBase = socketPathLimit - socketTail - len("/"+runDirName+"0123456789")
	// lockName is a file in a run directory that the host holds locked for as long as it lives.
	lockName = "host"
	// staleAfter is how old an unlocked run directory must be to be swept: a younger one may be about to be locked.
	staleAfter = time.Minute
)

// runDir is a private directory for the sockets and temporary files of one plugin.
type runDir struct {
	path string
	lock *os.File
}

// makeRunDir makes a run directory in the first of bases that will do. The path of a unix socket must be short, so a deep temporary
// directory is passed over. What hosts left behind that were killed is swept out first.
func makeRunDir(bases ...string) (*runDir, error) {
	for _, base := range bases {
		if len(base) > mostBase {
			continue
		}
		sweep(base, time.Now().Add(-staleAfter))
		path, err := os.MkdirTemp(base, runDirName)
		if err != nil {
			continue
		}
		lock, err := os.OpenFile(filepath.Join(path, lockName), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			os.RemoveAll(path)
			return nil, err
		}
		lockFile(lock)
		return &runDir{path, lock}, nil
	}
	return nil, fmt.Errorf("no directory for its socket: none of %q can be written and has at most %d bytes (a unix socket's path is limited; set TMPDIR)", bases, mostBase)
}

// remove removes the directory with all that is in it. A nil runDir was never made.
func (d *runDir) remove() error {
	if d == nil {
		return nil
	}
	err := os.RemoveAll(d.path)
	d.lock.Close()
	return err
}

// sweep removes the run directories in base that are older than before and whose host is no more. It touches nothing whose lock it
// cannot get, and nothing that belongs to another user, for it may not.
func sweep(base string, before time.Time) {
	paths, _ := filepath.Glob(filepath.Join(base, runDirName+"*"))
	for _, path := range paths {
		lock, err := os.OpenFile(filepath.Join(path, lockName), os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if info, err := lock.Stat(); err == nil && info.ModTime().Before(before) && lockFile(lock) {
			os.RemoveAll(path)
		}
		lock.Close()
	}
}
