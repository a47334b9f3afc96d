//go:build linux

package host

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/transport"
)

// The three programs of docs/plugins.md stand in it word for word, build, and do what it says.
func TestLadderOfTheManual(t *testing.T) {
	manual, err := os.ReadFile("../../docs/plugins.md")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	build := exec.Command("go", "build", "-o", bin+string(filepath.Separator), "./testdata/ladder/nothing", "./testdata/ladder/signal", "./testdata/ladder/documents")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, rung := range []string{"nothing", "signal", "documents"} {
		code, err := os.ReadFile(filepath.Join("testdata", "ladder", rung, "main.go"))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(manual), "```go\n"+string(code)+"```\n") {
			t.Errorf("docs/plugins.md does not hold the program %q as it is in testdata/ladder", rung)
		}
	}
	start := func(name string) *Plugin {
		p, _ := startT(t, Command{Name: name, Path: filepath.Join(bin, name)}, standard, time.Now)
		return p
	}

	got := &recorder{}
	if err := start("nothing").Open(context.Background(), transport.Attempt{}, got); err != nil || got.all() != "ended server-stop" {
		t.Errorf("nothing: %s, %v", got.all(), err)
	}

	s, got := newServer(t), &recorder{}
	if err := start("signal").Open(context.Background(), s.attempt(1), got); err != nil || got.all() != "open, ended connection-lost" {
		t.Errorf("signal: %s, %v", got.all(), err)
	}

	s, got = newServer(t), &recorder{}
	a := s.attempt(1)
	a.Query.SourceID = "incidents"
	a.Resume = event.Position{Seq: 41}
	lines := start("documents")
	done := s.talk(lines, a, got, `{"type":"delta","sequence":42}`, "", `{"type":"delta","sequence":43}`)
	ask := make([]byte, 64)
	n, err := s.conn.Read(ask)
	if err != nil || string(ask[:n]) != "incidents after 41\n" {
		t.Errorf("documents asks %q, %v", ask[:n], err)
	}
	s.conn.Close()
	if err := wait(t, "end", done); err != nil {
		t.Fatal(err)
	}
	if want := `open, doc {"type":"delta","sequence":42}, heartbeat, doc {"type":"delta","sequence":43}, ended connection-lost`; got.all() != want {
		t.Errorf("documents:\ngot  %s\nwant %s", got.all(), want)
	}
	got = &recorder{}
	wait(t, "end", s.talk(lines, s.attempt(2), got, strings.Repeat("x", 2<<20)))
	if !strings.HasSuffix(got.all(), "gap") || got.last.Reason != event.TransportGap {
		t.Errorf("a line that is too long: %s, %v", got.all(), got.last.Reason)
	}
}
