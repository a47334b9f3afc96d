package host

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	goplugin_runner "github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/conform-dev/conform/core/plugin/wire"
	pb "github.com/conform-dev/conform/core/plugin/wire/transportv1"
	"github.com/conform-dev/conform/core/transport"
)

// process is one start of a plugin. It is used once: go-plugin's client cannot be started again.
type process struct {
	run    *runner
	client *goplugin.Client
	conn   *grpc.ClientConn
	api    pb.TransportClient
	desc   transport.Descriptor
	asked  bool          // guarded by Plugin.mu: the host stops it, so its exit is no crash
	gone   chan struct{} // closed when the process is reaped and reported

	mu     sync.Mutex
	calls  int           // connections that may still be reading what the process sent
	buried bool          // gone is closed or about to be: no connection may begin
	idle   chan struct{} // closed when buried and calls is 0
}

// acquire keeps p's connection open until release; false for a process that is no more.
func (p *process) acquire() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.buried {
		return false
	}
	p.calls++
	return true
}

func (p *process) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls--
	if p.buried && p.calls == 0 {
		close(p.idle)
	}
}

// bury refuses further connections.
func (p *process) bury() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.buried = true
	if p.calls == 0 {
		close(p.idle)
	}
}

// launch starts a process and returns when it has described itself. On failure nothing of it is left. The caller owes a release.
func launch(ctx context.Context, command Command, dir string, lines *lastLines, dl deadlines) (*process, error) {
	p := &process{run: newRunner(command, command.environ(dir), lines), gone: make(chan struct{}), idle: make(chan struct{}), calls: 1}
	p.client = goplugin.NewClient(p.config(dir, dl))
	ctx, cancel := context.WithTimeoutCause(ctx, dl.start, fmt.Errorf("it was not ready within %v", dl.start))
	defer cancel()
	// go-plugin knows no context here and holds a lock meanwhile; killing the process is what makes it return.
	stop := context.AfterFunc(ctx, func() { p.run.kill(context.Cause(ctx).Error()) })
	defer stop()
	protocol, err := p.client.Client()
	if err == nil {
		p.conn = protocol.(*goplugin.GRPCClient).Conn
		p.api = pb.NewTransportClient(p.conn)
		p.desc, err = p.describe(ctx, dl.describe)
	}
	if err != nil {
		problem := p.problem(ctx, err)
		p.discard()
		return nil, problem
	}
	return p, nil
}

// config is how go-plugin is used here: gRPC only, mutual TLS, nothing of the host's environment, our own runner, no logging.
func (p *process) config(dir string, dl deadlines) *goplugin.ClientConfig {
	return &goplugin.ClientConfig{
		HandshakeConfig:  goplugin.HandshakeConfig{MagicCookieKey: wire.CookieKey, MagicCookieValue: wire.CookieValue},
		VersionedPlugins: map[int]goplugin.PluginSet{wire.ProtocolVersion: {}},
		RunnerFunc: func(_ hclog.Logger, cmd *exec.Cmd, socketDir string) (goplugin_runner.Runner, error) {
			return p.run, p.run.prepare(cmd.Env, socketDir)
		},
		AutoMTLS:         true,
		SkipHostEnv:      true,
		UnixSocketConfig: &goplugin.UnixSocketConfig{TempDir: dir},
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		StartTimeout:     dl.start,
		Stderr:           p.run.writer(),
		SyncStdout:       p.run.writer(),
		SyncStderr:       p.run.writer(),
		Logger:           hclog.New(&hclog.LoggerOptions{Level: hclog.Off}),
		GRPCDialOptions: []grpc.DialOption{
			// go-plugin sets both to 2 GiB: a plugin could fill the host's memory with one message.
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(wire.Overhead), grpc.MaxCallSendMsgSize(wire.PluginReceive)),
			grpc.WithMaxHeaderListSize(wire.MaxHeaderList),
			grpc.WithInitialWindowSize(wire.StreamWindow),
			grpc.WithInitialConnWindowSize(wire.ConnWindow),
			grpc.WithReadBufferSize(wire.MaxBatchBytes),
			// An idle connection must stay: the plugin takes its end for the end of the host.
			grpc.WithIdleTimeout(0),
		},
	}
}

// describe asks the plugin what it can do and checks the answer.
func (p *process) describe(ctx context.Context, limit time.Duration) (transport.Descriptor, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it did not describe itself within %v", limit))
	defer cancel()
	answer, err := p.api.Describe(ctx, &pb.DescribeRequest{})
	if err != nil {
		if late := expired(ctx, err); late != nil {
			return transport.Descriptor{}, late
		}
		return transport.Descriptor{}, fmt.Errorf("it did not describe itself: %s", status.Convert(err).Message())
	}
	d, err := wire.ToDescriptor(answer)
	if err != nil {
		return transport.Descriptor{}, fmt.Errorf("its description is invalid: %w", err)
	}
	return d, nil
}

// expired is why ctx ended, if that is why a call failed. gRPC tells the plugin our deadline, and the plugin's own timer may be a little
// early.
func expired(ctx context.Context, err error) error {
	const early = 100 * time.Millisecond
	said := strings.HasSuffix(status.Convert(err).Message(), context.DeadlineExceeded.Error()) // a plugin may hand it on as an error of its own
	if code := status.Code(err); said || code == codes.Canceled || code == codes.DeadlineExceeded {
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < early {
			<-ctx.Done()
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// ping asks the plugin's health service. A plugin that is stopped does not answer.
func (p *process) ping(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer to a ping within %v", limit))
	defer cancel()
	answer, err := grpc_health_v1.NewHealthClient(p.conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: goplugin.GRPCServiceName})
	if err != nil {
		if late := expired(ctx, err); late != nil {
			return late
		}
		return errors.New("ping failed: " + status.Convert(err).Message())
	}
	if answer.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		return fmt.Errorf("it says that it is %v", answer.GetStatus())
	}
	return nil
}

// stop asks the process to end and kills its group when it has not within the grace time, or when ctx ends.
func (p *process) stop(ctx context.Context, grace time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	// The answer does not matter: a server that stops may not get to send one.
	_ = p.conn.Invoke(ctx, "/plugin.GRPCController/Shutdown", &emptypb.Empty{}, &emptypb.Empty{})
	select {
	case <-p.run.exited:
	case <-ctx.Done():
		p.run.kill(fmt.Sprintf("it did not end within %v of being told to", grace))
	}
	p.discard()
}

// discard kills what is left, waits for the process to be reaped and lets go-plugin clean up: with the process gone its Kill finds
// nothing to wait for.
func (p *process) discard() {
	p.run.kill("")
	if p.run.pid() != 0 {
		<-p.run.exited
	}
	p.client.Kill()
	p.run.drain()
}

// problem says in one line why a start failed: the first thing that went wrong, not the last.
func (p *process) problem(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if refusal := p.run.refusal(); refusal != nil {
		return refusal
	}
	if p.run.pid() == 0 {
		return err
	}
	select {
	case <-p.run.exited:
		if p.conn == nil {
			return fmt.Errorf("it ended before its handshake: %s", p.run.status())
		}
		return fmt.Errorf("it ended before it had described itself: %s", p.run.status())
	case <-time.After(pipeWait):
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	return errors.New(text)
}
