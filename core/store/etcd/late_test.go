//go:build unix

package etcd

import (
	"context"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/conform-dev/conform/core/store"
)

// TestLate: a change whose request got stuck is made again, and done; others go on from there. When the stuck request
// arrives after all, it changes nothing any more.
func TestLate(t *testing.T) {
	ctx := t.Context()
	for name, c := range map[string]struct {
		call func(s *storage) error
		want string // after it, and what the other store wrote then
	}{
		"a first write":             {func(s *storage) error { return s.Write(ctx, "new", []byte("new"), 9) }, "[b new other]"},
		"a write that evicts":       {func(s *storage) error { return s.Write(ctx, "new", []byte("new"), 2) }, "[b new other]"},
		"a write over its own":      {func(s *storage) error { return s.Write(ctx, "a", []byte("a2"), 9) }, "[b other]"},
		"a removal":                 {func(s *storage) error { return s.Remove(ctx, "a", nil) }, "[b other]"},
		"a removal of what is read": {func(s *storage) error { return s.Remove(ctx, "a", []byte("a")) }, "[b other]"},
		"a clear":                   {func(s *storage) error { return s.Clear(ctx) }, "[other]"},
	} {
		t.Run(name, func(t *testing.T) {
			var w atomic.Pointer[wire]
			opt := fresh()
			s := over(t, through(t, &w), store.Config{}, opt).under
			other := over(t, cluster(t).client(t), store.Config{}, opt).under
			mustWrite(t, s, "a", "a", 9)
			mustWrite(t, s, "b", "b", 9)
			var stuck func(context.Context) error
			var sticky wire = func(ctx context.Context, what string, do func(context.Context) error) error {
				if stuck == nil && what == change {
					stuck = do
					return status.Error(codes.Unavailable, "stuck")
				}
				return do(ctx)
			}
			w.Store(&sticky)
			if err := c.call(s); err != nil {
				t.Fatal(err)
			}
			w.Store(nil)
			mustWrite(t, other, "a", "other", 9)
			if err := stuck(ctx); err != nil {
				t.Fatal(err)
			}
			if got := mustList(t, s); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}
