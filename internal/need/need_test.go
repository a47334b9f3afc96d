package need

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// fake writes down how the test under it ended. It ends it by a panic, as testing.T does by leaving the goroutine.
type fake struct{ ended string }

func (*fake) Helper() {}
func (f *fake) Skipf(format string, args ...any) {
	f.ended = "skip: " + fmt.Sprintf(format, args...)
	panic(f)
}
func (f *fake) Fatalf(format string, args ...any) {
	f.ended = "fail: " + fmt.Sprintf(format, args...)
	panic(f)
}

// outcome is how a test ends that calls do; empty if it goes on.
func outcome(t *testing.T, require string, do func(T)) (ended string) {
	t.Helper()
	t.Setenv(Env, require)
	f := &fake{}
	defer func() {
		if p := recover(); p != nil && p != any(f) {
			panic(p)
		}
		ended = f.ended
	}()
	do(f)
	return ""
}

func TestOr(t *testing.T) {
	gone := errors.New("no such command")
	for _, c := range []struct {
		name, require, need string
		absent              error
		want                string // beginning of the outcome
	}{
		{"there and optional", "", "chromium", nil, ""},
		{"there and required", "chromium", "chromium", nil, ""},
		{"absent and optional", "", "chromium", gone, "skip: chromium is absent: no such command; it is a Chromium"},
		{"absent and required", "chromium", "chromium", gone, "fail: chromium is required by CONFORM_REQUIRE and absent: no such command"},
		{"a list with spaces and empty entries", " , chromium ,", "chromium", gone, "fail: chromium is required"},
		{"a misspelt requirement", "chromuim", "chromium", gone, `fail: CONFORM_REQUIRE: "chromuim" is none of cgo, chromium`},
		{"a misspelt requirement, though all is there", "chromium,x", "chromium", nil, `fail: CONFORM_REQUIRE: "x" is none of`},
		{"a name that no list knows", "", "firefox", nil, `fail: need: "firefox" is not in need.Known`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := outcome(t, c.require, func(f T) { Or(f, c.need, c.absent) })
			if !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
				t.Errorf("ended with %q, want %q", got, c.want)
			}
		})
	}
}

// TestCommand: the first command that is installed is taken; without one the test ends as Or says.
func TestCommand(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("what a command is depends on PATHEXT there")
	}
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	absent := func(f T) { Command(f, "chromium", "one", "two") }
	if got, want := outcome(t, "", absent), "skip: chromium is absent: no command one, two"; !strings.HasPrefix(got, want) {
		t.Errorf("optional: %q, want %q", got, want)
	}
	if got, want := outcome(t, "chromium", absent), "fail: chromium is required"; !strings.HasPrefix(got, want) {
		t.Errorf("required: %q, want %q", got, want)
	}
	two := filepath.Join(dir, "two")
	if err := os.WriteFile(two, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	path := ""
	if got := outcome(t, "chromium", func(f T) { path = Command(f, "chromium", "one", "two") }); got != "" || path != two {
		t.Errorf("path %q, ended with %q", path, got)
	}
	if got := outcome(t, "misspelt", func(f T) { Command(f, "chromium", "two") }); !strings.HasPrefix(got, "fail: ") {
		t.Errorf("a misspelt requirement: %q", got)
	}
}
