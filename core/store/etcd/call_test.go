//go:build unix

package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/store"
	"github.com/conform-dev/conform/core/store/storetest"
)

// wire decides what becomes of a request: it calls do, or not, and answers. What is the method, or change.
type wire func(ctx context.Context, what string, do func(ctx context.Context) error) error

// change is a transaction that depends on what it finds: all others only read.
const change = "change"

// through is a client whose requests go through w once it is set.
func through(t *testing.T, w *atomic.Pointer[wire]) *clientv3.Client {
	t.Helper()
	m := cluster(t)
	m.client(t) // it answers
	c, err := clientv3.New(clientv3.Config{Endpoints: m.endpoints(), Logger: zap.NewNop(), DialOptions: []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			full := method
			do := func(ctx context.Context) error { return invoke(ctx, full, req, reply, cc, opts...) }
			if txn, ok := req.(*pb.TxnRequest); ok && len(txn.Compare) > 0 {
				method = change
			}
			if w := w.Load(); w != nil {
				return (*w)(ctx, method, do)
			}
			return do(ctx)
		}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// TestAnswersLost: requests and answers get lost, one after the other. Every save is acknowledged all the same, and is
// written once: the number that etcd itself counts of the record's writes is that of the saves.
func TestAnswersLost(t *testing.T) {
	var w atomic.Pointer[wire]
	c := through(t, &w)
	var heard []store.Diagnostic
	s := over(t, c, store.Config{OnDiagnostic: func(d store.Diagnostic) { heard = append(heard, d) }}, fresh())
	var n, lost int
	var lossy wire = func(ctx context.Context, method string, do func(context.Context) error) error {
		if n++; n%3 != 0 {
			return do(ctx)
		}
		lost++
		if n%2 == 0 { // the answer, and else the request
			if err := do(ctx); err != nil {
				return err
			}
		}
		return status.Error(codes.Unavailable, "canary-lost")
	}
	w.Store(&lossy)
	const saves = 60
	for seq := range event.Seq(saves) {
		if err := s.Save(t.Context(), at(seq)); err != nil {
			t.Fatal(err)
		}
	}
	w.Store(nil)
	key, err := checkpoint.ScopeKey(storetest.Scope())
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Get(t.Context(), s.under.records+key)
	if err != nil || len(got.Kvs) != 1 || got.Kvs[0].Version != saves {
		t.Errorf("%+v, %v, want version %d", got, err, saves)
	}
	if len(heard) > 0 || lost < saves/3 {
		t.Errorf("lost %d, heard %+v", lost, heard)
	}
}

// TestNoAnswer: a cluster that never answers holds up a call for Options.Timeout and no longer; a request takes a share of it,
// so that another member gets its turn. The error says so, in an error of the usual kind.
func TestNoAnswer(t *testing.T) {
	var w atomic.Pointer[wire]
	c := through(t, &w)
	var heard []store.Diagnostic
	opt := fresh()
	opt.Timeout = 400 * time.Millisecond
	s := over(t, c, store.Config{OnDiagnostic: func(d store.Diagnostic) { heard = append(heard, d) }}, opt)
	asked := 0
	var silent wire = func(ctx context.Context, _ string, _ func(context.Context) error) error {
		asked++
		if end, ok := ctx.Deadline(); !ok || time.Until(end) > opt.Timeout/attemptsInTimeout {
			t.Errorf("a request may take until %v", end)
		}
		<-ctx.Done()
		return status.FromContextError(ctx.Err()).Err()
	}
	w.Store(&silent)
	if err := s.Save(t.Context(), at(1)); err != nil {
		t.Fatal(err)
	}
	if a := s.Load(t.Context(), storetest.Scope()); a.Found != checkpoint.Nothing {
		t.Errorf("%+v", a)
	}
	if asked < attemptsInTimeout {
		t.Errorf("asked %d times", asked)
	}
	if len(heard) != 2 {
		t.Fatalf("heard %+v", heard)
	}
	for _, d := range heard {
		if d.Reason != store.StorageFailed || !errors.Is(d.Err, ErrNoAnswer) || !strings.Contains(d.Err.Cause.Error(), "no answer in time (400ms)") {
			t.Errorf("%v: %v", d.Reason, d.Err.Cause)
		}
	}
	if err := s.Forget(t.Context(), storetest.Scope()); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("forget: %v", err)
	}
}

// TestCallerEnds: a call whose context ends returns at once with its error.
func TestCallerEnds(t *testing.T) {
	var w atomic.Pointer[wire]
	s := over(t, through(t, &w), store.Config{}, fresh())
	ctx, cancel := context.WithCancel(t.Context())
	var silent wire = func(ctx context.Context, _ string, _ func(context.Context) error) error {
		cancel()
		<-ctx.Done()
		return ctx.Err()
	}
	w.Store(&silent)
	if err := s.under.Write(ctx, "k", []byte("x"), 1); !errors.Is(err, context.Canceled) {
		t.Errorf("write: %v", err)
	}
	if _, err := s.under.Read(ctx, "k"); !errors.Is(err, context.Canceled) {
		t.Errorf("read: %v", err)
	}
}

// TestServerErrors: what a server says is passed on in one line of bounded length, and is asked again only if that may help.
func TestServerErrors(t *testing.T) {
	var w atomic.Pointer[wire]
	c := through(t, &w)
	for name, e := range map[string]struct {
		err   error
		again bool
	}{
		"no leader":    {rpctypes.ErrGRPCNoLeader, true},
		"hung up":      {status.Error(codes.Unavailable, "error reading from server: EOF"), true},
		"not allowed":  {rpctypes.ErrGRPCPermissionDenied, false},
		"full":         {rpctypes.ErrGRPCNoSpace, false},
		"long":         {status.Error(codes.Internal, strings.Repeat("line\n\x1b[31m", 500)), false},
		"old revision": {rpctypes.ErrGRPCCompacted, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := over(t, c, store.Config{}, fresh())
			asked := 0
			var failing wire = func(ctx context.Context, _ string, do func(context.Context) error) error {
				if asked++; asked == 1 {
					return e.err
				}
				return do(ctx)
			}
			w.Store(&failing)
			defer w.Store(nil)
			err := s.under.Write(t.Context(), "k", []byte("x"), 1)
			if (err == nil) != e.again || (asked > 1) != e.again {
				t.Fatalf("asked %d times: %v", asked, err)
			}
			if err != nil && (strings.ContainsAny(err.Error(), "\n\x1b") || len(err.Error()) > maxErrorText+40 || !strings.HasPrefix(err.Error(), "etcd: write: ")) {
				t.Errorf("%q", err)
			}
		})
	}
}

// TestClosed: what is under way when a store is closed is finished, and what comes after it fails with ErrClosed; so does the
// second close nothing.
func TestClosed(t *testing.T) {
	var w atomic.Pointer[wire]
	c := through(t, &w)
	var heard []store.Diagnostic
	s := over(t, c, store.Config{OnDiagnostic: func(d store.Diagnostic) { heard = append(heard, d) }}, fresh())
	arrived, goOn := make(chan struct{}), make(chan struct{})
	var written atomic.Bool
	var once sync.Once
	var slow wire = func(ctx context.Context, what string, do func(context.Context) error) error {
		once.Do(func() { close(arrived); <-goOn })
		err := do(ctx)
		written.CompareAndSwap(false, what == change)
		return err
	}
	w.Store(&slow)
	var both sync.WaitGroup
	both.Go(func() { _ = s.Save(context.WithoutCancel(t.Context()), at(41)) })
	<-arrived
	both.Go(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if !written.Load() {
			t.Error("close did not wait for the save")
		}
	})
	wait(t, "close", s.under.closed.Load)
	close(goOn)
	both.Wait()
	if err := s.Close(); err != nil {
		t.Errorf("the second close: %v", err)
	}
	if len(heard) != 0 {
		t.Fatalf("heard %+v", heard)
	}
	_ = s.Save(t.Context(), at(42))
	s.Load(t.Context(), storetest.Scope())
	if len(heard) != 2 || !errors.Is(heard[0].Err, ErrClosed) || !errors.Is(heard[1].Err, ErrClosed) {
		t.Errorf("heard %+v", heard)
	}
	opt := s.under.opt
	if a := over(t, c, store.Config{}, opt).Load(t.Context(), storetest.Scope()); a.Checkpoint.Resume.Seq != 41 {
		t.Errorf("the client was closed, or the save not finished: %+v", a)
	}
}

// TestKnownIsBounded: what is remembered of scopes has a limit; beyond it a store still finds its own records.
func TestKnownIsBounded(t *testing.T) {
	s := newStorage(nil, Options{}, time.Minute)
	for i := range maxKnown {
		s.learn(fmt.Sprint(i), 7)
	}
	s.learn("0", 8)
	if len(s.known) != maxKnown || s.knows("0") != 8 {
		t.Errorf("%d known", len(s.known))
	}
	s.learn("one more", 9)
	if len(s.known) != 1 || s.knows("one more") != 9 {
		t.Errorf("%d known", len(s.known))
	}
	s.learn("one more", 0)
	if s.knows("one more") != 0 {
		t.Error("what is gone is still known")
	}
	p := newPair(t)
	if !p.save(t, p.a, at(41)) {
		t.Fatal("first")
	}
	clear(p.a.under.known)
	if !p.save(t, p.a, at(7)) {
		t.Error("its own record is taken for another's")
	}
}

// TestOneRequest: a save of a scope that the store knows is one request; an age's leases cost one in a quarter of it.
func TestOneRequest(t *testing.T) {
	var w atomic.Pointer[wire]
	s := over(t, through(t, &w), store.Config{}, fresh())
	if err := s.Save(t.Context(), at(1)); err != nil {
		t.Fatal(err)
	}
	asked := 0
	var counting wire = func(ctx context.Context, _ string, do func(context.Context) error) error {
		asked++
		return do(ctx)
	}
	w.Store(&counting)
	const saves = 20
	for seq := range event.Seq(saves) {
		_ = s.Save(t.Context(), at(2+seq))
	}
	if a := s.Load(t.Context(), storetest.Scope()); a.Checkpoint.Resume.Seq != saves+1 || asked != saves+1 {
		t.Errorf("%d requests for %d saves and a load, which found %d", asked, saves, a.Checkpoint.Resume.Seq)
	}
}

// TestListMeetsChange: a list of several pages is one state, whatever is written between two of them; and when that state is
// compacted away meanwhile, it is the next one.
func TestListMeetsChange(t *testing.T) {
	var w atomic.Pointer[wire]
	c := through(t, &w)
	for _, compact := range []bool{false, true} {
		opt := fresh()
		s, other := over(t, c, store.Config{}, opt), over(t, cluster(t).client(t), store.Config{}, opt)
		const records = page + 3
		for i := range records {
			mustWrite(t, s.under, fmt.Sprintf("%03d", i), "old", records+1)
		}
		asked := 0
		var meddling wire = func(ctx context.Context, _ string, do func(context.Context) error) error {
			if asked++; asked == 2 {
				mustWrite(t, other.under, fmt.Sprintf("%03d", records-1), "new", records+1)
				mustWrite(t, other.under, "more", "more", records+1)
				if got, err := other.under.client.Get(ctx, "x"); err != nil {
					t.Error(err)
				} else if compact {
					if _, err := other.under.client.Compact(ctx, got.Header.Revision); err != nil {
						t.Error(err)
					}
				}
			}
			return do(ctx)
		}
		w.Store(&meddling)
		got := mustList(t, s.under)
		w.Store(nil)
		want := "[" + strings.Repeat("old ", records-1) + "old]"
		if compact {
			want = "[" + strings.Repeat("old ", records-1) + "new more]"
		}
		if got != want || asked != map[bool]int{false: 2, true: 4}[compact] {
			t.Errorf("compacted %v: %d requests, %s", compact, asked, got)
		}
	}
}
