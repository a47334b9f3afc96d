package plugin

import (
	"context"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/stats"

	"github.com/conform-dev/conform/core/plugin/wire"
)

func TestAnEndedConnectionIsTheEndOfTheHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var exited atomic.Int32
		exited.Store(-1)
		w := &hostWatch{live: true, exit: func(code int) { exited.Store(int32(code)) }}
		ctx := context.Background()
		w.HandleConn(ctx, &stats.ConnBegin{})
		w.HandleConn(ctx, &stats.ConnBegin{})
		w.HandleConn(ctx, &stats.ConnEnd{})
		time.Sleep(time.Minute)
		if exited.Load() != -1 {
			t.Fatal("the process ended while a connection was left")
		}
		w.HandleConn(ctx, &stats.ConnEnd{})
		time.Sleep(orphanDelay - time.Nanosecond)
		if exited.Load() != -1 {
			t.Fatal("an orderly stop had no time")
		}
		time.Sleep(2 * time.Nanosecond)
		if exited.Load() != exitOrphaned {
			t.Errorf("exit status %d, want %d", exited.Load(), exitOrphaned)
		}
	})
}

func TestWithoutANamedHostNothingIsWatched(t *testing.T) {
	t.Setenv(wire.HostPIDKey, "")
	os.Unsetenv(wire.HostPIDKey)
	synctest.Test(t, func(t *testing.T) {
		w := newHostWatch()
		w.exit = func(int) { t.Error("the process ended") }
		w.HandleConn(context.Background(), &stats.ConnBegin{})
		w.HandleConn(context.Background(), &stats.ConnEnd{})
		time.Sleep(time.Hour)
	})
}
