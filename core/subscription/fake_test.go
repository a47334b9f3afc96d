package subscription_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/store"
	"github.com/conform-dev/conform/core/store/memory"
	"github.com/conform-dev/conform/core/transport"
)

// wire is a transport that plays one function per connection and holds the last one open. It notes what it was asked.
type wire struct {
	mu    sync.Mutex
	plays []play
	asked []transport.Attempt
	open  int // connections open now
	most  int // and at most
	d     transport.Descriptor
}

type play func(ctx context.Context, a transport.Attempt, to transport.Sink) error

func newWire(plays ...play) *wire {
	return &wire{plays: plays, d: transport.Descriptor{
		Name: "fake", Wire: "fake", Freshness: transport.Push, Order: transport.ServerSequence, Baseline: transport.BaselineSnapshot,
		Resume: []transport.Mode{transport.ByCursor}, Vouch: transport.VouchFrame,
	}}
}

func (w *wire) Describe(context.Context) (transport.Descriptor, error) { return w.d, nil }

func (w *wire) Open(ctx context.Context, a transport.Attempt, to transport.Sink) error {
	w.mu.Lock()
	n := len(w.asked)
	w.asked = append(w.asked, a)
	w.open++
	w.most = max(w.most, w.open)
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		w.open--
		w.mu.Unlock()
	}()
	if n < len(w.plays) {
		return w.plays[n](ctx, a, to)
	}
	return hold(ctx, a, to)
}

func (w *wire) attempts() []transport.Attempt {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]transport.Attempt(nil), w.asked...)
}

func (w *wire) atOnce() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.most
}

// hold is a connection that opens and says nothing more.
func hold(ctx context.Context, _ transport.Attempt, to transport.Sink) error {
	_ = to.Signal(transport.Signal{Kind: transport.Open})
	<-ctx.Done()
	return nil
}

// connected opens and answers as a contract server does (D-41).
func connected(to transport.Sink, resumed transport.Tristate) {
	_ = to.Signal(transport.Signal{Kind: transport.Open})
	_ = to.Signal(transport.Signal{Kind: transport.Answered, Answer: transport.Answer{StreamEpoch: "v1", Head: event.NoSeq, Resumed: resumed}})
}

// send offers one event whose cursor is c and its number.
func send(to transport.Sink, kind string, seq int) error {
	return to.Document(transport.Document{
		JSON: fmt.Appendf(nil, `{"type":%q,"sequence":%d,"features":[],"feature":{}}`, kind, seq), Cursor: fmt.Sprintf("c%d", seq),
	})
}

// serve plays a connection: it answers resumed, sends the events and ends with sig, or holds the connection if sig is none.
func serve(resumed transport.Tristate, sig transport.Signal, events ...int) play {
	return func(ctx context.Context, a transport.Attempt, to transport.Sink) error {
		connected(to, resumed)
		for i, seq := range events {
			kind := "upsert"
			if i == 0 && a.Resume.Seq == event.NoSeq {
				kind = "snapshot"
			}
			if err := send(to, kind, seq); err != nil {
				return err
			}
		}
		if sig.Kind == 0 {
			<-ctx.Done()
			return nil
		}
		time.Sleep(time.Millisecond) // in a bubble: everything else has come to rest
		return to.Signal(sig)
	}
}

var (
	lost = transport.Signal{Kind: transport.Ended, Cause: transport.ConnectionLost}
	stop = transport.Signal{Kind: transport.Ended, Cause: transport.ServerStop, Status: 204}
	stay = transport.Signal{}
)

// seen is a consumer that notes what it was given.
type seen struct {
	mu   sync.Mutex
	list []string
}

func (s *seen) apply(_ context.Context, ev *event.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, fmt.Sprintf("%s %d", ev.Kind, ev.Pos.Seq))
	return nil
}

func (s *seen) all() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprint(s.list)
}

func testContext() checkpoint.Context {
	return checkpoint.Context{SourceID: "incidents", QueryFingerprint: "sha256:q", SourceVersion: "v1", SchemaVersion: "s1", AuthorizationScopeFingerprint: "scope-a"}
}

func newStore(t *testing.T) *memory.Store {
	t.Helper()
	s, err := memory.New(store.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// odd is a store of the caller's own that misbehaves as its functions say.
type odd struct {
	store.Store
	load   func() checkpoint.Answer
	save   func(checkpoint.Checkpoint) error
	forget func(context.Context) error
}

func (o odd) Load(ctx context.Context, scope checkpoint.Context) checkpoint.Answer {
	if o.load != nil {
		return o.load()
	}
	return o.Store.Load(ctx, scope)
}

func (o odd) Save(ctx context.Context, c checkpoint.Checkpoint) error {
	if o.save != nil {
		return o.save(c)
	}
	return o.Store.Save(ctx, c)
}

func (o odd) Forget(ctx context.Context, scope checkpoint.Context) error {
	if o.forget != nil {
		return o.forget(ctx)
	}
	return o.Store.Forget(ctx, scope)
}

var errDisk = errors.New("disk full")
