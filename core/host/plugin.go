package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"sync"
	"time"

	"github.com/conform-dev/conform/core/transport"
)

// ErrClosed is returned by every method of a Plugin after Close.
var ErrClosed = errors.New("plugin is closed")

// Error says why a plugin could not be used, in one line.
type Error struct {
	Plugin  string
	Problem string
	Stderr  []string // the last lines that it printed, redacted
}

// Error is one line; the last line that the plugin printed is part of it, for it often says why.
func (e *Error) Error() string {
	line := fmt.Sprintf("plugin %q: %s", e.Plugin, e.Problem)
	if n := len(e.Stderr); n > 0 {
		line += fmt.Sprintf(" (it printed: %q)", e.Stderr[n-1])
	}
	return line
}

// Plugin is a transport in a process of its own. A process that dies is replaced at the next Open. It is safe for concurrent use; its
// connections share the process.
type Plugin struct {
	command   Command
	dir       *runDir
	lines     *lastLines
	deadlines deadlines
	now       func() time.Time
	desc      transport.Descriptor

	turn   chan struct{}   // of capacity 1: held by whoever starts, checks or stops a process
	life   context.Context // ends with Close: a start in progress gives up
	end    context.CancelCauseFunc
	events sync.Mutex // serializes OnEvent

	mu      sync.Mutex
	current *process // nil when none runs
	closed  bool
	budget  budget
	graves  sync.WaitGroup // one for each process that is not cleaned up yet
	done    chan struct{}  // closed when Close has finished
}

var _ transport.Transport = (*Plugin)(nil)

// Start starts the plugin and returns when it has been authenticated and has described itself. The error is an *Error: a file that is
// missing or no program, a polluted handshake, another protocol version, no answer in time. ctx bounds the start only.
func Start(ctx context.Context, command Command) (*Plugin, error) {
	return start(ctx, command, standard, time.Now)
}

func start(ctx context.Context, command Command, dl deadlines, now func() time.Time) (*Plugin, error) {
	p := &Plugin{
		command: command, lines: &lastLines{secrets: &redactor{}}, deadlines: dl, now: now,
		turn: make(chan struct{}, 1), done: make(chan struct{}),
	}
	p.life, p.end = context.WithCancelCause(context.Background())
	err := p.command.check()
	if err == nil {
		p.dir, err = makeRunDir(os.TempDir(), "/tmp")
	}
	if err == nil {
		var proc *process
		if proc, err = p.launch(ctx); err == nil {
			proc.release()
		}
	}
	if err != nil {
		p.end(err)
		p.dir.remove()
		return nil, p.refuse(err)
	}
	return p, nil
}

// launch starts a process and makes it the current one. The caller owes it a release.
func (p *Plugin) launch(ctx context.Context) (*process, error) {
	proc, err := launch(ctx, p.command, p.dir.path, p.lines, p.deadlines)
	if err != nil {
		return nil, err
	}
	if p.desc.Name == "" {
		p.desc = proc.desc
	} else if !reflect.DeepEqual(p.desc, proc.desc) {
		proc.discard()
		return nil, errors.New("it describes itself differently than before: its file was replaced")
	}
	p.mu.Lock()
	p.current = proc
	p.mu.Unlock()
	p.graves.Add(1)
	p.tell(Event{Kind: Started, PID: proc.run.pid()})
	go p.bury(proc)
	return proc, nil
}

// bury waits for the end of a process, reports it and cleans up behind it.
func (p *Plugin) bury(proc *process) {
	defer p.graves.Done()
	<-proc.run.exited
	proc.run.drain()
	p.mu.Lock()
	asked := proc.asked
	p.mu.Unlock()
	// Told before the process stops being the current one, so that its end comes before the start of the next.
	p.tell(Event{Kind: Exited, PID: proc.run.pid(), Status: proc.run.status(), Asked: asked, Detail: proc.run.reason()})
	p.mu.Lock()
	if p.current == proc {
		p.current = nil
	}
	p.mu.Unlock()
	proc.bury()
	close(proc.gone)
	// What the process had sent is still in the connection, and a slow consumer may be reading it: go-plugin closes the connection, so it
	// has to wait, unless everything ends.
	select {
	case <-proc.idle:
	case <-p.life.Done():
	}
	proc.discard()
}

// refuse reports that no process could be started, as an *Error.
func (p *Plugin) refuse(err error) error {
	out := &Error{Plugin: p.command.Name, Problem: p.lines.secrets.text(err.Error()), Stderr: p.lines.all()}
	p.tell(Event{Kind: Refused, Detail: out.Error()})
	return out
}

func (p *Plugin) tell(e Event) {
	if p.command.OnEvent == nil {
		return
	}
	e.Plugin = p.command.Name
	p.events.Lock()
	defer p.events.Unlock()
	p.command.OnEvent(e)
}

// Describe is what the plugin said about itself when it was started. A plugin whose file was replaced meanwhile by one that says
// otherwise is refused at the next Open.
func (p *Plugin) Describe(context.Context) (transport.Descriptor, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return transport.Descriptor{}, ErrClosed
	}
	return p.desc, nil
}

// Ping asks the running process for a sign of life. It fails after PingTimeout, when ctx ends, or when no process runs.
func (p *Plugin) Ping(ctx context.Context) error {
	p.mu.Lock()
	proc, closed := p.current, p.closed
	p.mu.Unlock()
	switch {
	case closed:
		return ErrClosed
	case proc == nil:
		return p.fault("no process runs")
	}
	if err := proc.ping(ctx, p.deadlines.ping); err != nil {
		return p.fault(err.Error())
	}
	return nil
}

// PID is the running process, 0 if none runs.
func (p *Plugin) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current == nil {
		return 0
	}
	return p.current.run.pid()
}

// LastLines are the last lines that the plugin's processes printed, oldest first: at most MaxLines of MaxLine bytes, with the secrets
// that the host gave away hidden.
func (p *Plugin) LastLines() []string { return p.lines.all() }

// fault is an *Error about a running plugin, without its output.
func (p *Plugin) fault(problem string) error {
	return &Error{Plugin: p.command.Name, Problem: p.lines.secrets.text(problem)}
}

// Close ends the plugin: connections that are open fail with ErrClosed, the process gets Grace to end by itself, then its group is
// killed; its sockets and temporary files are removed. It returns when nothing is left, and may be called again.
func (p *Plugin) Close() error {
	p.mu.Lock()
	again := p.closed
	p.closed = true
	if p.current != nil {
		p.current.asked = true
	}
	p.mu.Unlock()
	if again {
		<-p.done
		return nil
	}
	p.end(ErrClosed)
	p.turn <- struct{}{}
	p.mu.Lock()
	proc := p.current
	if proc != nil {
		proc.asked = true
	}
	p.mu.Unlock()
	if proc != nil {
		proc.stop(context.Background(), p.deadlines.grace)
	}
	p.graves.Wait()
	<-p.turn
	err := p.dir.remove()
	close(p.done)
	return err
}
