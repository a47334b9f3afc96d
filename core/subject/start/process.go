package start

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/conform-dev/conform/core/subject"
)

// MaxPrinted is how much of the end of what a server prints is kept, in bytes.
const MaxPrinted = 64 << 10

// patience is how long a process may take to end after it was asked to; then it is killed.
const patience = 2 * time.Second

// process is a server that was started here.
type process struct {
	command *exec.Cmd
	dir     string
	printed *tail
	done    chan struct{}
}

// launch starts the server's command on a free port. Its placeholders are {port} and {dir}, a folder of its own.
func (r *Running) launch(ctx context.Context) error {
	e := r.subject.Server.Exec
	port, err := freePort(ctx)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "conform-subject-")
	if err != nil {
		return err
	}
	values := map[string]string{"port": port, "dir": dir}
	words := make([]string, len(e.Command))
	for i, w := range e.Command {
		words[i] = subject.Fill(w, values)
	}
	c := exec.Command(words[0], words[1:]...)
	c.Dir, c.Env = r.subject.Dir, os.Environ()
	for name, value := range e.Env {
		c.Env = append(c.Env, name+"="+subject.Fill(value, values))
	}
	p := &process{command: c, dir: dir, printed: newTail(), done: make(chan struct{})}
	c.Stdout, c.Stderr = p.printed, p.printed
	c.WaitDelay = patience
	own(c)
	if err := c.Start(); err != nil {
		_ = os.RemoveAll(dir)
		return fmt.Errorf("%s: exec: %w", r.subject.File, err)
	}
	go func() {
		_ = c.Wait()
		close(p.done)
	}()
	r.process, r.base = p, "http://127.0.0.1:"+port
	return nil
}

// freePort is one that nobody listens on now. Somebody may take it before the server does: then the server says so.
func freePort(ctx context.Context) (string, error) {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	port := ln.Addr().(*net.TCPAddr).Port
	return strconv.Itoa(port), ln.Close()
}

// over is closed when the process has ended; nil, which never is, where there is none.
func (p *process) over() <-chan struct{} {
	if p == nil {
		return nil
	}
	return p.done
}

// prints waits until a line matches.
func (p *process) prints(ctx context.Context, pattern string) error {
	if p == nil {
		return fmt.Errorf("ready.log: only a server that is started here has a log")
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return err
	}
	for {
		text, changed := p.printed.look()
		if re.MatchString(text) {
			return nil
		}
		select {
		case <-changed:
		case <-p.done:
			return fmt.Errorf("it ended before it printed a line that matches %q; it printed: %s", pattern, last(text))
		case <-ctx.Done():
			return fmt.Errorf("no line that matches %q; it printed: %s", pattern, last(text))
		}
	}
}

// close asks the process and what it started to end, and kills what does not.
func (p *process) close() error {
	ask(p.command)
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
	}
	kill(p.command)
	<-p.done
	vanish(p.command)
	return os.RemoveAll(p.dir)
}

// printed is the end of what the server printed, for an error; without the secrets that its file refers to.
func (r *Running) printed() string {
	text := ""
	switch {
	case r.container != nil:
		text, _ = r.container.Log(context.Background())
	case r.process == nil:
		return ""
	default:
		text, _ = r.process.printed.look()
	}
	if text = last(r.mask(text)); text == "" {
		return "; it printed nothing"
	}
	return "; it printed last: " + text
}

func (r *Running) mask(text string) string {
	for _, s := range r.secrets {
		text = strings.ReplaceAll(text, s, "SECRET")
	}
	return text
}

// last is the last line of text, without what would break an error's line.
func last(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	line := lines[len(lines)-1]
	if len(line) > 200 {
		line = line[:200] + "..."
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return -1
		}
		return r
	}, line)
}

// tail keeps the end of what is written.
type tail struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{}
}

func newTail() *tail { return &tail{changed: make(chan struct{})} }

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text.Write(b)
	if over := t.text.Len() - MaxPrinted; over > 0 {
		t.text.Next(over)
	}
	close(t.changed)
	t.changed = make(chan struct{})
	return len(b), nil
}

func (t *tail) look() (string, <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String(), t.changed
}
