//go:build unix

package bolt

import (
	"fmt"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/conform-dev/conform/core/store"
)

// TestFullDisk: the system refuses to write past the heads of the file, in a process of its own. Nothing is kept, and the
// subscription goes on.
func TestFullDisk(t *testing.T) {
	path := at(t)
	openAt(t, path, store.Config{}, Options{}).Close()
	out, err := role("full", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	const want = "asked -1\nasked -1\nheard [save/storage-failed]\nfile too large true\n"
	if string(out) != want {
		t.Errorf("got %s want %s", out, want)
	}
	resnapshots(t, openAt(t, path, store.Config{}, Options{}), -1, 53) // the file has taken no harm
}

func init() { roles["full"] = fillDisk }

func fillDisk(path string) {
	signal.Ignore(syscall.SIGXFSZ) // a full disk has no signal
	const heads = 2 * 4096
	must(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: heads, Max: heads}))
	var e ear
	s, err := Open(path, store.Config{OnDiagnostic: e.hear}, Options{})
	must(err)
	f := &feed{head: 50, last: 53}
	for range 2 {
		asked, err := f.follow(s)
		must(err)
		fmt.Println("asked", asked)
	}
	fmt.Println("heard", e.words())
	fmt.Println("file too large", strings.Contains(e.heard[0].Err.Cause.Error(), "file too large"))
	must(s.Close())
}
