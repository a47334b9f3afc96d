package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/conform-dev/conform/core/plugin/wire"
	pb "github.com/conform-dev/conform/core/plugin/wire/transportv1"
	"github.com/conform-dev/conform/core/transport"
)

// errExhausted says that the budget of restarts is used up.
var errExhausted = fmt.Errorf("it crashed too often: %d restarts within %v are the limit", MaxRestarts, RestartWindow)

// Open makes one connection in the plugin's process, starting a fresh process if the last one died. It reads from the plugin only while to
// takes: a to that blocks stops the plugin, and through it the server, at one stream window. A to that is an EventSink gets events,
// those that crossed captured without being parsed again; what is checked of them is said at wire.Item.
//
// A process that dies ends the connection with Ended, cause PluginCrashed, behind everything that it had sent (D-33). When it
// has died more than MaxRestarts times within RestartWindow the connection is refused with that cause. An error means that ctx
// ended, that to failed, that options or attempt cannot be sent, or that the plugin itself failed or broke the protocol.
func (p *Plugin) Open(ctx context.Context, a transport.Attempt, to transport.Sink) error {
	p.lines.secrets.learn(a)
	if err := p.desc.CheckOptions(a.Options); err != nil {
		return fmt.Errorf("plugin %q: %w", p.command.Name, err)
	}
	if err := p.desc.Lacks(a.Takes()...); err != nil {
		return fmt.Errorf("plugin %q: %w", p.command.Name, err)
	}
	frame, err := wire.FromAttempt(a)
	if err != nil {
		return p.fault(err.Error())
	}
	proc, err := p.running(ctx)
	switch {
	case errors.Is(err, errExhausted):
		return to.Signal(p.crashed(transport.Refused, p.refuse(err).Error()))
	case ctx.Err() != nil:
		return ctx.Err()
	case p.life.Err() != nil:
		return ErrClosed
	case err != nil:
		return to.Signal(p.crashed(transport.Ended, p.refuse(err).Error()))
	}
	defer proc.release()
	err = p.pump(ctx, proc, frame, documentLimit(p.desc, a.Options), to)
	var broken *brokenError
	if errors.As(err, &broken) {
		return p.broken(ctx, proc, broken, to)
	}
	return err
}

// documentLimit is the largest document that a connection with these options may carry.
func documentLimit(d transport.Descriptor, options map[string]string) int {
	n, err := strconv.Atoi(d.Value(options, wire.OptionMaxEventBytes))
	if err != nil || n < wire.DefaultDocument {
		return wire.DefaultDocument
	}
	return min(n, wire.MaxDocument)
}

// running is the current process if it answers, or a fresh one. The caller owes it a release.
func (p *Plugin) running(ctx context.Context) (*process, error) {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.life, cancel)()
	p.mu.Lock()
	proc := p.current
	p.mu.Unlock()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if proc != nil {
		if proc.acquire() {
			err := proc.ping(ctx, p.deadlines.ping)
			if err == nil {
				return proc, nil
			}
			proc.release()
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			proc.run.kill(err.Error())
		}
		<-proc.gone
	}
	p.mu.Lock()
	granted := p.budget.take(p.now())
	p.mu.Unlock()
	if !granted {
		return nil, errExhausted
	}
	return p.launch(ctx)
}

// brokenError is a failure of the call that may be the death of the process.
type brokenError struct{ err error }

func (e *brokenError) Error() string { return e.err.Error() }

// pump runs the call and hands over what comes, until a final signal.
func (p *Plugin) pump(ctx context.Context, proc *process, open *pb.HostFrame, limit int, to transport.Sink) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := proc.api.Open(ctx, grpc.ForceCodecV2(wire.Codec{}), grpc.MaxCallRecvMsgSize(wire.MaxMessage))
	if err == nil {
		err = stream.Send(open)
		if errors.Is(err, io.EOF) { // the stream is broken; Recv knows why
			err = nil
		}
	}
	if err != nil {
		return p.callError(ctx, err)
	}
	frame := wire.Frame{MaxDocument: limit}
	captured, _ := to.(transport.EventSink)
	for {
		err := stream.RecvMsg(&frame)
		if errors.Is(err, io.EOF) {
			return p.fault("it ended a connection without a final signal")
		}
		if err != nil {
			return p.callError(ctx, err)
		}
		final, err := p.deliver(&frame, to, captured)
		if err != nil || final {
			return err
		}
	}
}

// deliver hands one frame to the sink, events to captured if the sink is one for them.
func (p *Plugin) deliver(frame *wire.Frame, to transport.Sink, captured transport.EventSink) (final bool, err error) {
	for {
		it, err := frame.Next()
		if err != nil {
			return false, p.fault("it broke the protocol: " + err.Error())
		}
		if it == nil {
			break
		}
		if captured == nil {
			err = to.Document(it.Document())
		} else {
			ev := it.Event()
			if ev.Detail != "" {
				ev.Detail = p.lines.secrets.text(ev.Detail)
			}
			err = captured.Event(ev)
		}
		if err != nil {
			return false, err
		}
	}
	s, ok, err := frame.Signal()
	if err != nil {
		return false, p.fault("it broke the protocol: " + err.Error())
	}
	if !ok {
		return false, nil
	}
	p.lines.secrets.signal(&s)
	return s.Kind.Final(), to.Signal(s)
}

// callError tells a failing plugin from a broken one.
func (p *Plugin) callError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if p.life.Err() != nil {
		return ErrClosed
	}
	s := status.Convert(err)
	switch code := s.Code(); {
	case code == codes.Unavailable, code == codes.Internal && strings.Contains(s.Message(), "unexpected EOF"):
		return &brokenError{errors.New(s.Message())}
	case code == codes.ResourceExhausted:
		return p.fault(fmt.Sprintf("it sent a message above the limit of %d bytes: %s", wire.MaxMessage, s.Message()))
	default:
		return p.fault("it failed: " + s.Message())
	}
}

// broken ends a connection whose process died, or cut it off and is killed for that.
func (p *Plugin) broken(ctx context.Context, proc *process, cause error, to transport.Sink) error {
	select {
	case <-proc.gone:
	case <-time.After(crashWait):
		proc.run.kill("it broke its connection: " + cause.Error())
		<-proc.gone
	}
	if p.life.Err() != nil {
		return ErrClosed
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	detail := proc.run.status()
	if why := proc.run.reason(); why != "" {
		detail += ": " + why
	}
	return to.Signal(p.crashed(transport.Ended, detail))
}

// crashed is the signal for a process that is no more.
func (p *Plugin) crashed(kind transport.SignalKind, detail string) transport.Signal {
	return transport.Signal{Kind: kind, Cause: transport.PluginCrashed, Detail: p.lines.secrets.text(detail)}
}
