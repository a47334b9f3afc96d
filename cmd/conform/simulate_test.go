package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/conform-dev/conform/internal/need"
)

// longEnough bounds every wait of these tests: what is waited for takes milliseconds.
const longEnough = 20 * time.Second

// await waits for a file that a program in the background makes: `await FILE`. Files announce nothing, so it looks again.
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: await FILE")
	}
	path := ts.MkAbs(args[0])
	for end := time.Now().Add(longEnough); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("%s did not appear", args[0])
		}
	}
}

// TestSimulateLines pastes what `conform simulate --tls` shows into a shell: it follows the stream with curl, which knows the
// certificate from the file that is named, and publishes a change that then comes. The file goes away with the simulator.
func TestSimulateLines(t *testing.T) {
	need.Command(t, "curl", "curl")
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithTimeout(t.Context(), longEnough)
	defer cancel()
	serving, stop := context.WithCancel(ctx)
	defer stop()
	r, w := io.Pipe()
	root := newRoot()
	root.SetArgs([]string{"simulate", "--addr", "127.0.0.1:0", "--tls"})
	root.SetOut(w)
	done := make(chan error, 1)
	go func() {
		err := root.ExecuteContext(serving)
		w.CloseWithError(err)
		done <- err
	}()
	shown := map[string]string{} // by the line above
	lines := bufio.NewScanner(r)
	for above := ""; shown["publish a change:"] == ""; above = lines.Text() {
		if !lines.Scan() {
			t.Fatalf("it showed %v, then %v", shown, lines.Err())
		}
		shown[above] = strings.TrimSpace(lines.Text())
		if file, ok := strings.CutPrefix(lines.Text(), "trust      "); ok {
			shown["trust"] = file
		}
	}

	curl := exec.CommandContext(ctx, "sh", "-c", "exec "+shown["follow it:"])
	body, err := curl.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := curl.Start(); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewScanner(body)
	until := func(want string) {
		t.Helper()
		for in.Scan() {
			if in.Text() == want {
				return
			}
		}
		t.Fatalf("no %q came", want)
	}
	until("event: snapshot")
	if out, err := exec.CommandContext(ctx, "sh", "-c", shown["publish a change:"]).CombinedOutput(); err != nil || !strings.Contains(string(out), `"headSequence":1`) {
		t.Errorf("publish: %v, %s", err, out)
	}
	until("id: c-7-1")
	if _, err := os.Stat(shown["trust"]); err != nil {
		t.Error(err)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	_ = curl.Wait() // its connection was reset: any status will do
	if _, err := os.Stat(shown["trust"]); !os.IsNotExist(err) {
		t.Errorf("the certificate is still there: %v", err)
	}
}
