package container

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/conform-dev/conform/internal/need"
)

// server is a program that answers with its process number of the container and prints a line.
const server = `package main

import (
	"fmt"
	"net/http"
	"os"
)

func main() {
	fmt.Println("hello from", os.Getenv("WHO"), os.Args[1:])
	http.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "here") })
	http.ListenAndServe(":8080", nil)
}
`

// program builds server once, statically or not.
func program(t *testing.T, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(server), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "server")
	c := exec.Command("go", append(append([]string{"build", "-o", out}, flags...), filepath.Join(dir, "main.go"))...)
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOFLAGS=-mod=mod")
	if text, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return out
}

// engine is the machine's, or the test ends.
func engine(t *testing.T) *Engine {
	t.Helper()
	e, err := Connect(t.Context())
	need.Or(t, "docker", err)
	t.Cleanup(func() { e.Close() })
	return e
}

// tally counts what conform's runs have in the engine.
func tally(t *testing.T, e *Engine) (containers, images int) {
	t.Helper()
	mine := make(client.Filters).Add("label", labelRun)
	c, err := e.client.ContainerList(t.Context(), client.ContainerListOptions{All: true, Filters: mine})
	if err != nil {
		t.Fatal(err)
	}
	i, err := e.client.ImageList(t.Context(), client.ImageListOptions{Filters: mine})
	if err != nil {
		t.Fatal(err)
	}
	return len(c.Items), len(i.Items)
}

// get asks the container, until it answers or time is up.
func get(addr string, patience time.Duration) (string, error) {
	c := http.Client{Timeout: 300 * time.Millisecond}
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		r, err := c.Get("http://" + addr)
		if err == nil {
			defer r.Body.Close()
			text, err := io.ReadAll(r.Body)
			return string(text), err
		}
		if time.Now().After(end) {
			return "", err
		}
	}
}

// TestContainer: built from one binary, ready, paused, killed, restarted and cut off at the same address, and gone with its image.
func TestContainer(t *testing.T) {
	e := engine(t)
	c0, i0 := tally(t, e)
	c, err := e.Start(t.Context(), Spec{Binary: program(t), Command: []string{"a", "b"}, Env: map[string]string{"WHO": "inside"}, Port: 8080})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if !strings.HasPrefix(c.Addr(), "127.0.0.1:") {
		t.Errorf("it is at %s", c.Addr())
	}
	answers := func(what string, wanted bool, patience time.Duration) {
		t.Helper()
		text, err := get(c.Addr(), patience)
		if (err == nil && text == "here") != wanted {
			t.Errorf("%s: answers %q, %v", what, text, err)
		}
	}
	do := func(verb string) {
		t.Helper()
		if err := c.Do(t.Context(), verb); err != nil {
			t.Fatalf("%s: %v", verb, err)
		}
	}
	answers("started", true, 10*time.Second)
	if text, err := c.Log(t.Context()); err != nil || !strings.Contains(text, "hello from inside [a b]") {
		t.Errorf("log %q %v", text, err)
	}
	do("pause")
	answers("paused", false, 0)
	do("unpause")
	answers("unpaused", true, 5*time.Second)
	do("kill")
	answers("killed", false, 0)
	do("restart")
	answers("restarted", true, 10*time.Second)
	do("disconnect")
	answers("disconnected", false, 0)
	do("connect")
	if err := c.Do(t.Context(), "explode"); err == nil {
		t.Error("an unknown verb was done")
	}
	if err := errors.Join(c.Close(), c.Close()); err != nil {
		t.Fatal(err)
	}
	if c1, i1 := tally(t, e); c1 != c0 || i1 != i0 {
		t.Errorf("before %d containers and %d images, after %d and %d", c0, i0, c1, i1)
	}
}

// TestSweep: what a killed run left is removed by the next one; what a live one has is not.
func TestSweep(t *testing.T) {
	if binary := os.Getenv("CONFORM_TEST_LEAVE"); binary != "" { // the run that is killed
		e, err := Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Start(t.Context(), Spec{Binary: binary, Port: 8080}); err != nil {
			t.Fatal(err)
		}
		fmt.Println("left")
		select {}
	}
	e := engine(t)
	binary := program(t, "-ldflags=-s")
	mine, err := e.Start(t.Context(), Spec{Binary: binary, Port: 8080})
	if err != nil {
		t.Fatal(err)
	}
	defer mine.Close()
	c0, i0 := tally(t, e)
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSweep$", "-test.v")
	child.Env = append(os.Environ(), "CONFORM_TEST_LEAVE="+binary)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	var said []byte
	for b := make([]byte, 256); !strings.Contains(string(said), "left"); {
		n, err := out.Read(b)
		if said = append(said, b[:n]...); err != nil {
			t.Fatalf("the other run ended: %s", said)
		}
	}
	if c, i := tally(t, e); c != c0+1 || i < i0 {
		t.Errorf("the other run has %d containers and %d images more", c-c0, i-i0)
	}
	if err := e.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c, _ := tally(t, e); c != c0+1 {
		t.Errorf("what a live run has was swept: %d containers, %d before", c, c0+1)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	if err := e.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c, i := tally(t, e); c != c0 || i != i0 {
		t.Errorf("left behind: %d containers and %d images", c-c0, i-i0)
	}
	if _, err := get(mine.Addr(), 5*time.Second); err != nil {
		t.Errorf("the live one is gone: %v", err)
	}
}

// TestOwner: a number that another process has by now is no sign of life.
func TestOwner(t *testing.T) {
	me := self()
	if me.start == "" || me.boot == "" {
		t.Skip("no /proc: nobody is ever taken for dead here")
	}
	for name, tc := range map[string]struct {
		o     owner
		alive bool
	}{
		"me":              {me, true},
		"another start":   {owner{me.pid, "1", me.boot}, false},
		"another boot":    {owner{me.pid, me.start, "x"}, false},
		"nobody":          {owner{"999999999", me.start, me.boot}, false},
		"nobody can tell": {owner{"1", "1", ""}, true},
	} {
		if got := tc.o.alive(); got != tc.alive {
			t.Errorf("%s: alive %v", name, got)
		}
	}
}

// TestDynamic: a binary that could not run alone is named and refused, before any engine is asked.
func TestDynamic(t *testing.T) {
	gcc, err := exec.LookPath("gcc")
	need.Or(t, "cgo", err)
	dir := t.TempDir()
	source, binary := filepath.Join(dir, "x.c"), filepath.Join(dir, "x")
	if err := os.WriteFile(source, []byte("int main(void) { return 0; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := exec.Command(gcc, "-o", binary, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if err := checkStatic(binary); !errors.Is(err, ErrDynamic) || !strings.Contains(err.Error(), binary) || !strings.Contains(err.Error(), "CGO_ENABLED=0") {
		t.Errorf("%v", err)
	}
	if err := checkStatic(source); err == nil || !strings.Contains(err.Error(), "no program for Linux") {
		t.Errorf("%v", err)
	}
	if err := checkStatic(program(t)); err != nil {
		t.Error(err)
	}
}

// TestNoEngine: a machine without one is told why, and what would help.
func TestNoEngine(t *testing.T) {
	_, err := connect(t.Context(), client.WithHost("unix:///nowhere/docker.sock"))
	var none *NoDocker
	if !errors.As(err, &none) || !strings.Contains(err.Error(), "apt-get install docker.io") || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
}
