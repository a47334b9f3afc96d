package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
)

// TestInspectDocs runs the console blocks of docs/inspect.md and compares what they show with what comes. UPDATE_SCRIPTS
// writes what comes into the file.
func TestInspectDocs(t *testing.T) {
	const path = "../../docs/inspect.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "```console\n", "```\n"
	parts := strings.Split(string(text), begin)
	if len(parts) < 4 {
		t.Fatal("docs/inspect.md has lost its console blocks")
	}
	for i, part := range parts[1:] {
		block, rest, _ := strings.Cut(part, end)
		got := replay(t, block)
		if got != block {
			t.Errorf("the manual shows:\n%s\nthe command says:\n%s", block, got)
		}
		parts[i+1] = got + end + rest
	}
	if os.Getenv("UPDATE_SCRIPTS") != "" {
		if err := os.WriteFile(path, []byte(strings.Join(parts, begin)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// replay runs the commands of a console block and gives the block as it should be. It knows `conform ... <<'EOF'` and
// `echo $?`.
func replay(t *testing.T, block string) string {
	t.Helper()
	var out strings.Builder
	code := 0
	lines := strings.Split(block, "\n")
	for i := 0; i < len(lines); i++ {
		command, ok := strings.CutPrefix(lines[i], "$ ")
		if !ok {
			continue // what the manual shows
		}
		fmt.Fprintln(&out, lines[i])
		if command == "echo $?" {
			fmt.Fprintln(&out, code)
			continue
		}
		args, ok := strings.CutSuffix(command, " <<'EOF'")
		words := strings.Fields(args)
		if !ok || words[0] != "conform" {
			t.Fatalf("cannot replay %q", command)
		}
		var stdin strings.Builder
		for i++; i < len(lines) && lines[i] != "EOF"; i++ {
			fmt.Fprintln(&stdin, lines[i])
		}
		fmt.Fprintf(&out, "%sEOF\n", stdin.String())
		code = Main(words[1:], strings.NewReader(stdin.String()), &out, &out)
	}
	return out.String()
}

// An interrupt ends a command that waits for stdin. What a reconnect would use is still said.
func TestInspectInterrupted(t *testing.T) {
	for what, text := range map[string]string{"sse": "id: 1\n\n", "gate": "\n", "checkpoint": "{}\n", "screen": "a\n"} {
		stdin, feed := io.Pipe()
		ctx, interrupt := context.WithCancel(t.Context())
		var out bytes.Buffer
		c := newInspect()
		c.SilenceErrors, c.SilenceUsage = true, true
		c.SetArgs([]string{what})
		c.SetIn(stdin)
		c.SetOut(&out)
		done := make(chan error)
		go func() { done <- c.ExecuteContext(ctx) }()
		if _, err := io.WriteString(feed, text); err != nil {
			t.Fatal(err)
		}
		interrupt()
		if s, ok := (<-done).(status); !ok || s.code != exitInterrupted || s.Error() != "" {
			t.Errorf("%s: %v", what, s)
		}
		if what == "sse" && !strings.HasPrefix(out.String(), `{"id":`) {
			t.Errorf("%q", out.String())
		}
		feed.Close()
	}
}

// A read that fails is the harness's trouble, not a verdict and not a mistake in the call.
func TestInspectBrokenInput(t *testing.T) {
	for _, what := range []string{"sse", "gate", "checkpoint", "screen"} {
		stdin, feed := io.Pipe()
		feed.CloseWithError(io.ErrUnexpectedEOF)
		var out, errs bytes.Buffer
		if code := Main([]string{"inspect", what}, stdin, &out, &errs); code != exitHarness || errs.String() != "conform: unexpected EOF\n" {
			t.Errorf("%s: %d %s", what, code, errs.String())
		}
	}
}
