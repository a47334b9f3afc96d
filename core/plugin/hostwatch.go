package plugin

import (
	"context"
	"os"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc/stats"

	"github.com/conform-dev/conform/core/plugin/wire"
)

// parentPoll is how often a plugin looks whether its host still lives. On Linux the kernel kills the plugin with its host at once;
// this is for the other systems, and for a host that died before the kernel was told.
const parentPoll = time.Second

// orphanDelay is what a plugin has to return from main after its host's connection ended: more than the host's own grace, so that the
// host's word counts while there is a host.
const orphanDelay = 3 * time.Second

// hostWatch ends the process when the host is gone: when its parent changed, or when the host's last connection ended. A host
// never reconnects, so an ended connection is the end; an orderly stop closes the server before that.
type hostWatch struct {
	exit func(code int)
	live bool // off when nobody named a host: a plugin under a debugger is attached to again and again

	mu    sync.Mutex
	conns int
}

// exitOrphaned is the status of a plugin that ended because its host was gone. Nobody is left to read it but a process
// accountant.
const exitOrphaned = 3

func newHostWatch() *hostWatch {
	w := &hostWatch{exit: os.Exit}
	host, err := strconv.Atoi(os.Getenv(wire.HostPIDKey))
	if err != nil {
		return w
	}
	w.live = true
	parent := os.Getppid()
	// A wrapper script may stand between host and plugin, so another parent than the host is fine; being inherited by init is not.
	if parent == 1 && host != 1 {
		w.exit(exitOrphaned)
	}
	go func() {
		for range time.Tick(parentPoll) {
			if os.Getppid() != parent {
				w.exit(exitOrphaned)
			}
		}
	}()
	return w
}

// HandleConn counts connections that passed the TLS handshake.
func (w *hostWatch) HandleConn(_ context.Context, s stats.ConnStats) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch s.(type) {
	case *stats.ConnBegin:
		w.conns++
	case *stats.ConnEnd:
		w.conns--
		if w.conns == 0 && w.live {
			// Not at once: on an orderly stop the process is about to return from main with status 0.
			time.AfterFunc(orphanDelay, func() { w.exit(exitOrphaned) })
		}
	}
}

// TagConn is not needed.
func (w *hostWatch) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// TagRPC is not needed.
func (w *hostWatch) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// HandleRPC is not needed.
func (w *hostWatch) HandleRPC(context.Context, stats.RPCStats) {}
