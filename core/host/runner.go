package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"
)

// runner runs one plugin process for go-plugin: the process in its own group, its output under our control. It is go-plugin's
// runner.Runner; go-plugin's own would leave children of the plugin alive and read standard output no further than a long line.
type runner struct {
	command Command
	env     []string // allow-listed; go-plugin's is added
	lines   *lastLines

	out    *stdout
	stderr *os.File
	pipes  []*os.File // our ends

	writers []*lineWriter  // of all streams of output
	read    sync.WaitGroup // streams whose end was not seen yet

	mu      sync.Mutex
	cmd     *exec.Cmd
	killed  bool   // kill was called, perhaps before the start
	why     string // of the kill
	exited  chan struct{}
	outcome error // of Wait, once exited is closed
}

func newRunner(command Command, env []string, lines *lastLines) *runner {
	return &runner{command: command, env: env, lines: lines, exited: make(chan struct{})}
}

// prepare takes what go-plugin adds to the environment, and the directory in which it expects the socket.
func (r *runner) prepare(env []string, dir string) error {
	outR, outW, err := os.Pipe()
	if err != nil {
		return err
	}
	errR, errW, err := os.Pipe()
	if err != nil {
		outR.Close()
		outW.Close()
		return err
	}
	r.pipes = []*os.File{outR, errR}
	r.stderr = errR
	r.out = &stdout{from: outR, dir: dir, rest: r.writer(), told: make(chan struct{})}
	r.cmd = &exec.Cmd{
		Path: r.command.Path,
		Args: append([]string{r.command.Path}, r.command.Args...),
		Env:  append(append([]string(nil), r.env...), env...),
		// Standard input is the null device: go-plugin would give it the host's terminal.
		Stdout: outW,
		Stderr: errW,
	}
	return nil
}

// writer makes the end of one stream of output.
func (r *runner) writer() io.Writer {
	w := &lineWriter{to: r.lines}
	r.writers = append(r.writers, w)
	return w
}

// Start starts the process and returns when it runs.
func (r *runner) Start(context.Context) error {
	r.mu.Lock()
	if r.killed {
		r.mu.Unlock()
		r.close(errors.New("stopped before it was started"))
		return r.outcome
	}
	started := make(chan error, 1)
	go func() {
		err := superviseProcess(r.cmd, &r.mu, started)
		// Everything the group wrote is in the pipes by now; who still holds them is none of ours.
		time.AfterFunc(pipeWait, r.closePipes)
		r.outcome = err
		close(r.exited)
	}()
	err := <-started
	r.cmd.Stdout.(io.Closer).Close()
	r.cmd.Stderr.(io.Closer).Close()
	r.mu.Unlock()
	if err != nil {
		<-r.exited
		return startProblem(r.command.Path, err)
	}
	return nil
}

func (r *runner) close(err error) {
	r.cmd.Stdout.(io.Closer).Close()
	r.cmd.Stderr.(io.Closer).Close()
	r.closePipes()
	r.outcome = err
	close(r.exited)
}

func (r *runner) closePipes() {
	for _, p := range r.pipes {
		p.Close()
	}
}

// Wait returns when the process and its group are gone.
func (r *runner) Wait(context.Context) error {
	<-r.exited
	return r.outcome
}

// Kill is go-plugin's way to stop the process.
func (r *runner) Kill(context.Context) error {
	r.kill("")
	return nil
}

// kill ends the whole process group at once. It does not wait, and does nothing for a process that is gone. The first reason
// given is kept.
func (r *runner) kill(why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.killed = true
	if r.why == "" {
		r.why = why
	}
	if r.cmd == nil || r.cmd.Process == nil {
		return
	}
	killProcess(r.cmd)
}

// reason says why the host killed the process; empty if it did not.
func (r *runner) reason() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.why
}

// status describes how the process ended. Call it after exited is closed.
func (r *runner) status() string {
	if r.cmd != nil && r.cmd.ProcessState != nil {
		return r.cmd.ProcessState.String()
	}
	return "not started"
}

func (r *runner) pid() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cmd == nil || r.cmd.Process == nil {
		return 0
	}
	return r.cmd.Process.Pid
}

// ID, Name and Diagnose are what go-plugin logs.
func (r *runner) ID() string                      { return strconv.Itoa(r.pid()) }
func (r *runner) Name() string                    { return r.command.Path }
func (r *runner) Diagnose(context.Context) string { return "" }

// Stdout and Stderr are read by go-plugin until they end.
func (r *runner) Stdout() io.ReadCloser { return r.reader(r.out) }
func (r *runner) Stderr() io.ReadCloser { return r.reader(r.stderr) }

// reader is a stream of output that drain waits for. go-plugin takes each once, after a start that succeeded.
func (r *runner) reader(from io.Reader) io.ReadCloser {
	r.read.Add(1)
	return &untilEOF{Reader: from, done: r.read.Done}
}

// PluginToHost and HostToPlugin translate nothing: both run in one place. The address was checked with the handshake line.
func (r *runner) PluginToHost(network, address string) (string, string, error) {
	return network, address, nil
}

// HostToPlugin is for go-plugin's broker, which is not used.
func (r *runner) HostToPlugin(network, address string) (string, string, error) {
	return network, address, fmt.Errorf("the broker is not used")
}

// refusal is what was wrong with the first line on standard output, nil if nothing was.
func (r *runner) refusal() error {
	if r.out == nil {
		return nil
	}
	select {
	case <-r.out.told:
		return r.out.refusal
	default:
		return nil
	}
}

// drain returns when everything that the dead process printed is kept, and removes its socket directory. It does not wait for somebody
// outside the process group who holds the pipes: they are closed pipeWait after the exit.
func (r *runner) drain() {
	r.read.Wait()
	for _, w := range r.writers {
		w.flush()
	}
	if r.out != nil {
		os.RemoveAll(r.out.dir)
	}
}

// untilEOF counts down when the reader's end has been seen.
type untilEOF struct {
	io.Reader
	once sync.Once
	done func()
}

func (u *untilEOF) Read(p []byte) (int, error) {
	n, err := u.Reader.Read(p)
	if err != nil {
		u.once.Do(u.done)
	}
	return n, err
}

func (u *untilEOF) Close() error { return nil }
