package bolt

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/store"
	"github.com/conform-dev/conform/core/store/storetest"
)

// resnapshots follows the feed twice over s, as before and after a restart, and checks that delivery goes on and each start
// asks for a snapshot.
func resnapshots(t *testing.T, s *Store, starts ...event.Seq) {
	t.Helper()
	f := &feed{head: 50, last: 53}
	for _, want := range starts {
		if asked, err := f.follow(s); err != nil || asked != want {
			t.Errorf("asked from %d, %v; want from %d", asked, err, want)
		}
	}
}

// TestRefusedWrites: a descriptor that refuses to write. What is stored can be read once; nothing newer is kept, the
// subscription goes on.
func TestRefusedWrites(t *testing.T) {
	path := at(t)
	openAt(t, path, store.Config{}, Options{}).Close()
	readOnly := func(name string, _ int, perm os.FileMode) (*os.File, error) {
		return os.OpenFile(name, os.O_RDONLY, perm)
	}
	var e ear
	s := openAt(t, path, store.Config{OnDiagnostic: e.hear}, Options{OpenFile: readOnly})
	resnapshots(t, s, event.NoSeq, event.NoSeq)
	if e.words() != "[save/storage-failed]" {
		t.Errorf("heard %s", e.words())
	}
	if err := e.heard[0].Err; !strings.Contains(err.Cause.Error(), "bad file descriptor") {
		t.Errorf("not what was meant: %v", err.Cause)
	}
	again := openAt(t, path+".2", store.Config{}, Options{}) // the store before does not hold up another
	resnapshots(t, again, event.NoSeq, 53)
}

// TestCorruptPages: bytes that nobody wrote, in every place they can stand. Each is a diagnostic and a snapshot.
func TestCorruptPages(t *testing.T) {
	const page = 4096
	flags := func(data []byte, p int) byte { return data[p*page+8] }
	garbage := rand.New(rand.NewPCG(1, 2))
	each := func(kind byte, f func(p []byte)) func([]byte) []byte {
		return func(data []byte) []byte {
			for p := 2; p < len(data)/page; p++ {
				if flags(data, p) == kind {
					f(data[p*page : (p+1)*page])
				}
			}
			return data
		}
	}
	noise := func(p []byte) {
		for i := range p {
			p[i] = byte(garbage.Uint32())
		}
	}
	for name, c := range map[string]struct {
		spoil func([]byte) []byte
		opens bool
		heard string
	}{
		"the record":       {each(2, func(p []byte) { spoilText(p, `"sequence":41`, `"sequence":47`) }), true, "[load/storage-failed]"},
		"leaves":           {each(2, noise), true, "[load/storage-failed save/storage-failed load/storage-failed save/storage-failed]"},
		"counts of leaves": {each(2, func(p []byte) { p[10], p[11] = 0xff, 0x7f }), true, "save/storage-failed load/storage-failed save/storage-failed]"}, // the first load may miss it
		"the free list":    {each(16, noise), false, "[load/storage-failed save/storage-failed load/storage-failed save/storage-failed]"},
		"both heads":       {func(d []byte) []byte { noise(d[:2*page]); return d }, false, "[load/storage-failed save/storage-failed load/storage-failed save/storage-failed]"},
		"the end is gone":  {func(d []byte) []byte { return d[:2*page] }, false, "[load/storage-failed save/storage-failed load/storage-failed save/storage-failed]"},
		"all but a byte":   {func(d []byte) []byte { return d[:1] }, false, "[load/storage-failed save/storage-failed load/storage-failed save/storage-failed]"},
	} {
		t.Run(name, func(t *testing.T) {
			path := at(t)
			if err := os.WriteFile(path, c.spoil(stored(t, path)), 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := Open(path, store.Config{}, Options{})
			if (err == nil) != c.opens || err != nil && (!strings.Contains(err.Error(), path) || !errors.Is(err, ErrCorrupt)) {
				t.Fatalf("open: %v", err)
			}
			if err == nil {
				s.Close()
			}
			var e ear
			s = openAt(t, path, store.Config{OnDiagnostic: e.hear}, Options{Late: true})
			second := event.NoSeq
			if name == "the record" {
				second = 53 // the next save replaces what is corrupt
			}
			resnapshots(t, s, event.NoSeq, second)
			if !strings.HasSuffix(e.words(), c.heard) {
				t.Errorf("heard %s, want %s", e.words(), c.heard)
			}
		})
	}
}

func spoilText(p []byte, old, new string) {
	if i := strings.Index(string(p), old); i >= 0 {
		copy(p[i:], new)
	}
}

// TestFileVanishes: pages that are cut off while the file is open fault in the machine; that is an error as well.
func TestFileVanishes(t *testing.T) {
	path := at(t)
	stored(t, path)
	var e ear
	s := openAt(t, path, store.Config{OnDiagnostic: e.hear}, Options{})
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	resnapshots(t, s, event.NoSeq, event.NoSeq)
	if !strings.HasPrefix(e.words(), "[load/storage-failed save/storage-failed") {
		t.Errorf("heard %s", e.words())
	}
}

// TestLocked: another process has the file. Open says so and names it; with Late a subscription runs without a store until
// the file is free.
func TestLocked(t *testing.T) {
	path := at(t)
	stored(t, path)
	other := role("hold", path)
	in, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer other.Process.Kill()
	if _, err := io.ReadFull(out, make([]byte, 5)); err != nil { // "held\n"
		t.Fatal(err)
	}
	opt := Options{Timeout: 60 * time.Millisecond}
	_, err = Open(path, store.Config{}, opt)
	if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "60ms") {
		t.Errorf("got %v", err)
	}
	var e ear
	opt.Late = true
	s := openAt(t, path, store.Config{OnDiagnostic: e.hear}, opt)
	resnapshots(t, s, event.NoSeq, event.NoSeq)
	if e.words() != "[load/storage-failed save/storage-failed load/storage-failed save/storage-failed]" || !errors.Is(e.heard[0].Err, ErrLocked) {
		t.Errorf("heard %s", e.words())
	}
	in.Close()
	if err := other.Wait(); err != nil {
		t.Fatal(err)
	}
	s.under.file.mu.Lock()
	s.under.file.next = time.Time{} // RetryAfter is over
	s.under.file.mu.Unlock()
	if a := s.Load(t.Context(), storetest.Scope()); a.Found != checkpoint.Stored || a.Checkpoint.Resume.Seq != 41 {
		t.Errorf("when the file is free: %+v", a)
	}
}

// TestSecondStore: it is no different within one process.
func TestSecondStore(t *testing.T) {
	path := at(t)
	openAt(t, path, store.Config{}, Options{})
	if _, err := Open(path, store.Config{}, Options{Timeout: 60 * time.Millisecond}); !errors.Is(err, ErrLocked) {
		t.Errorf("got %v", err)
	}
}

func init() { roles["hold"] = holdLock }

// holdLock keeps the file open until its input ends.
func holdLock(path string) {
	s, err := Open(path, store.Config{}, Options{})
	must(err)
	fmt.Println("held")
	io.Copy(io.Discard, os.Stdin)
	must(s.Close())
}

// TestPanics: a clock or a callback of the caller's that panics costs the record, not the subscription (D-24).
func TestPanics(t *testing.T) {
	path := at(t)
	stored(t, path)
	s := openAt(t, path, store.Config{Now: func() int64 { panic("clock") }, OnDiagnostic: func(store.Diagnostic) { panic("callback") }}, Options{})
	resnapshots(t, s, event.NoSeq, event.NoSeq)
	if s.Contained() < 4 {
		t.Errorf("%d panics contained", s.Contained())
	}
}
