package plugin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/mem"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/plugin/wire"
	"github.com/conform-dev/conform/core/transport"
)

// host is the receiving end of a sink: send blocks until the test takes the message.
type host struct {
	messages chan string // "3 documents, 12 bytes", complete ones, or a signal's kind
	frame    wire.Frame
	err      error
	ctx      context.Context // of the call
	end      context.CancelFunc
}

func newHost() *host { return &host{messages: make(chan string), ctx: context.Background()} }

func (h *host) tell(message string) error {
	select {
	case h.messages <- message:
		return nil
	case <-h.ctx.Done():
		return h.ctx.Err()
	}
}

func (h *host) send(m any) error {
	if h.err != nil {
		return h.err
	}
	out, err := (wire.Codec{}).Marshal(m)
	if err != nil {
		return err
	}
	encoded := mem.BufferSlice{mem.SliceBuffer(bytes.Clone(out.Materialize()))}
	out.Free()
	f := &h.frame
	if err := (wire.Codec{}).Unmarshal(encoded, f); err != nil {
		return err
	}
	if s, ok, err := f.Signal(); ok || err != nil {
		return h.tell(s.Kind.String())
	}
	n, size := 0, 0
	for {
		it, err := f.Next()
		if err != nil {
			return err
		}
		if it == nil {
			break
		}
		n, size = n+1, size+len(it.Document().JSON)
	}
	return h.tell(fmt.Sprintf("%d documents, %d bytes", n, size))
}

func doc(size int) transport.Document { return transport.Document{JSON: make([]byte, size)} }

var (
	beat  = transport.Signal{Kind: transport.Heartbeat}
	ended = transport.Signal{Kind: transport.Ended, Cause: transport.ConnectionLost}
)

// busy is a sink whose sender is held up by a host that has not taken a heartbeat yet.
func busy() (*host, *sink) {
	h := newHost()
	ctx, cancel := context.WithCancel(context.Background())
	h.ctx, h.end = ctx, cancel
	s := newSink(ctx, h.send, cancel)
	s.Signal(beat)
	synctest.Wait()
	return h, s
}

// flow runs a transport against a host that takes a message only when the transport is blocked or done, and compares what came.
func flow(t *testing.T, run func(s *sink), want ...string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h, s := busy()
		go func() {
			run(s)
			s.finish()
			close(h.messages)
		}()
		synctest.Wait()
		var got []string
		for m := range h.messages {
			got = append(got, m)
			synctest.Wait()
		}
		want = append([]string{"heartbeat"}, want...)
		if strings.Join(got, "; ") != strings.Join(want, "; ") {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	})
}

func TestAFreeSenderSendsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost()
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		s := newSink(ctx, h.send, cancel)
		begin := time.Now()
		for range 3 {
			s.Document(doc(10))
			if got := <-h.messages; got != "1 documents, 10 bytes" {
				t.Errorf("got %s", got)
			}
		}
		if waited := time.Since(begin); waited != 0 {
			t.Errorf("an event waited %v for company", waited)
		}
		s.finish()
	})
}

func TestABusySenderFillsBatches(t *testing.T) {
	flow(t, func(s *sink) {
		for range 150 {
			s.Document(doc(10))
		}
		s.Signal(ended)
	}, "64 documents, 640 bytes", "64 documents, 640 bytes", "22 documents, 220 bytes", "ended")
}

func TestBatchesAreBoundedInBytes(t *testing.T) {
	flow(t, func(s *sink) {
		for range 5 {
			s.Document(doc(100_000))
		}
		s.Document(doc(1))
	}, "2 documents, 200000 bytes", "2 documents, 200000 bytes", "2 documents, 100001 bytes")
}

// A large document goes out in parts while the transport still holds it: the event, and each part as the host takes the last.
func TestLargeDocumentsGoInParts(t *testing.T) {
	const nothing = "0 documents, 0 bytes" // complete yet
	flow(t, func(s *sink) {
		s.Document(doc(1))
		s.Document(doc(wire.MaxBatchBytes*3 + 1))
		s.Document(doc(2))
		s.Signal(ended)
	}, "1 documents, 1 bytes", nothing, nothing, nothing, "1 documents, 786433 bytes", "1 documents, 2 bytes", "ended")
}

// While a document goes out in parts, another goroutine's signal waits, and what is queued stays within two parts.
func TestNothingGetsBetweenParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, s := busy()
		done := make(chan struct{})
		go func() {
			s.Document(doc(wire.MaxBatchBytes * 4))
			close(done)
		}()
		synctest.Wait()
		go s.Signal(beat)
		var got []string
		for len(got) < 7 {
			synctest.Wait()
			s.mu.Lock()
			if s.bytes > 2*wire.MaxPart {
				t.Errorf("%d bytes are queued", s.bytes)
			}
			s.mu.Unlock()
			got = append(got, <-h.messages)
		}
		<-done
		const nothing = "0 documents, 0 bytes"
		if want := []string{"heartbeat", nothing, nothing, nothing, nothing, "1 documents, 1048576 bytes", "heartbeat"}; !slices.Equal(got, want) {
			t.Errorf("got  %q\nwant %q", got, want)
		}
		s.finish()
	})
}

// A host that goes away in the middle of a document frees the transport.
func TestTheHostGoesInTheMiddleOfADocument(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, s := busy()
		failed := make(chan error, 1)
		go func() { failed <- s.Document(doc(wire.MaxBatchBytes * 4)) }()
		synctest.Wait()
		<-h.messages
		h.end()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		s.finish()
	})
}

func TestEventsAndDocumentsKeepTheirOrder(t *testing.T) {
	flow(t, func(s *sink) {
		s.Document(doc(1))
		if err := s.Event(&event.Event{Kind: event.Delta, Pos: event.Position{Seq: 1}, Payload: []byte("{}")}); err != nil {
			t.Error(err)
		}
		s.Signal(beat)
		if err := s.Event(&event.Event{Kind: event.Delta, Pos: event.Position{Seq: -9}, Payload: []byte("{}")}); err == nil {
			t.Error("an impossible event was accepted")
		}
		s.Signal(ended)
	}, "2 documents, 3 bytes", "heartbeat", "ended")
}

func TestSignalsKeepTheirPlace(t *testing.T) {
	flow(t, func(s *sink) {
		s.Document(doc(1))
		s.Document(doc(2))
		s.Signal(beat)
		s.Document(doc(3))
		s.Document(doc(4))
		s.Signal(ended)
	}, "2 documents, 3 bytes", "heartbeat", "2 documents, 7 bytes", "ended")
}

func TestTheTransportIsBlocked(t *testing.T) {
	for name, give := range map[string]func(s *sink) error{
		"documents": func(s *sink) error { return s.Document(doc(10)) },
		// Heartbeats count, too: an idle server must not fill our memory with them.
		"signals": func(s *sink) error { return s.Signal(beat) },
	} {
		synctest.Test(t, func(t *testing.T) {
			h, s := busy()
			accepted := 0
			var err error
			go func() {
				for err == nil {
					if err = give(s); err == nil {
						accepted++
					}
				}
			}()
			synctest.Wait()
			if accepted != wire.MaxBatchEvents {
				t.Errorf("%s: %d were accepted by a host that reads nothing, want %d", name, accepted, wire.MaxBatchEvents)
			}
			<-h.messages
			synctest.Wait()
			if accepted != 2*wire.MaxBatchEvents {
				t.Errorf("%s: %d were accepted after the host read one message, want %d", name, accepted, 2*wire.MaxBatchEvents)
			}
			h.end()
			synctest.Wait()
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s: a blocked transport is told %v when the call ends", name, err)
			}
			s.finish()
		})
	}
}

// A signal counts with its size: a few wakes fill the queue as a few large documents do.
func TestLargeSignalsBlockTheTransport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, s := busy()
		wake := transport.Signal{Kind: transport.Woken, Wake: &transport.Wake{LogID: 1, Envelope: make([]byte, 100_000)}}
		accepted := 0
		go func() {
			for s.Signal(wake) == nil {
				accepted++
			}
		}()
		synctest.Wait()
		if accepted != 2 { // a third would pass 256 KiB
			t.Errorf("%d wakes of 100,000 bytes were accepted by a host that reads nothing", accepted)
		}
		h.end()
		s.finish()
	})
}

// Every kind that is not final goes through, and keeps its place.
func TestSignalsOfPollsAndWakesPass(t *testing.T) {
	flow(t, func(s *sink) {
		for _, sig := range []transport.Signal{
			{Kind: transport.Recovering, Reason: event.CursorExpired},
			{Kind: transport.Refreshed, Position: event.Position{Seq: 1, DeltaToken: "d"}},
			{Kind: transport.Polled, Poll: &transport.PollReport{Seq: event.NoSeq}},
			{Kind: transport.WakeStated, WakeState: &transport.WakeState{}},
			{Kind: transport.Woken, Wake: &transport.Wake{LogID: event.NoSeq}},
			{Kind: transport.CaughtUp, CatchUp: &transport.CatchUp{State: transport.CatchUpDone, Pending: -1, Watermark: event.NoSeq}},
			ended,
		} {
			if err := s.Signal(sig); err != nil {
				t.Error(err)
			}
		}
	}, "recovering", "refreshed", "polled", "wake-stated", "woken", "caught-up", "ended")
}

func TestASendErrorReachesTheTransport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost()
		h.err = errors.New("broken pipe")
		ctx, cancel := context.WithCancel(context.Background())
		s := newSink(ctx, h.send, cancel)
		if err := s.Document(doc(1)); err != nil {
			t.Errorf("the first document cannot know: %v", err)
		}
		synctest.Wait()
		if ctx.Err() == nil {
			t.Error("a transport that waits for its server is not told")
		}
		if err := s.Document(doc(1)); !errors.Is(err, h.err) {
			t.Errorf("got %v, want %v", err, h.err)
		}
		if _, err := s.finish(); !errors.Is(err, h.err) {
			t.Errorf("finish: %v", err)
		}
	})
}

func TestNothingFollowsAFinalSignal(t *testing.T) {
	flow(t, func(s *sink) {
		s.Signal(ended)
		if err := s.Document(doc(1)); !errors.Is(err, errAfterFinal) {
			t.Errorf("document: %v", err)
		}
		if err := s.Signal(beat); !errors.Is(err, errAfterFinal) {
			t.Errorf("signal: %v", err)
		}
	}, "ended")
}

func TestTheSinkRefusesWhatTheHostWould(t *testing.T) {
	flow(t, func(s *sink) {
		for name, err := range map[string]error{
			"cause":  s.Signal(transport.Signal{Kind: transport.Ended, Cause: transport.PluginCrashed}),
			"kind":   s.Signal(transport.Signal{}),
			"status": s.Signal(transport.Signal{Kind: transport.Open, Status: -1}),
			"cursor": s.Document(transport.Document{Cursor: "\xff"}),
		} {
			if err == nil {
				t.Errorf("%s: accepted", name)
			}
		}
	})
}

// A document is copied: the transport may use its buffer again at once.
func TestDocumentsAreCopied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		first := make(chan struct{})
		send := func(m any) error {
			<-first
			out, _ := (wire.Codec{}).Marshal(m)
			got = append(got, string(out.Materialize()))
			out.Free()
			return nil
		}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		s := newSink(ctx, send, cancel)
		buf := []byte("one")
		s.Document(transport.Document{JSON: buf})
		copy(buf, "two")
		s.Document(transport.Document{JSON: buf})
		copy(buf, "xxx")
		close(first)
		s.finish()
		if all := strings.Join(got, ""); !strings.Contains(all, "one") || !strings.Contains(all, "two") || strings.Contains(all, "xxx") {
			t.Errorf("sent %q", got)
		}
	})
}
