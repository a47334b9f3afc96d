package browser

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/plugins/sse"
)

// client follows a stream until the event with the last event ID last came, over as many connections as it takes. It counts in
// got what it was given, the status frame of each connection included.
type client func(ctx context.Context, url, last string, got *tally) ([]Event, error)

// tally counts.
type tally struct {
	mu     sync.Mutex
	n      int
	waiter chan struct{} // closed and replaced when n changes
}

func newTally() *tally { return &tally{waiter: make(chan struct{})} }

func (c *tally) add() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	close(c.waiter)
	c.waiter = make(chan struct{})
}

// reach returns when n was counted.
func (c *tally) reach(ctx context.Context, n int) error {
	for {
		c.mu.Lock()
		now, changed := c.n, c.waiter
		c.mu.Unlock()
		if now >= n {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%d of %d: %w", now, n, ctx.Err())
		}
	}
}

// types are all event names of the contract (docs/wire.md), and the one of an event without a name.
var types = []string{"message", "snapshot", "upsert", "delete", "delta", "status", "error", "heartbeat", "gap"}

// source is a client that is EventSource with conform's decoder inside: what it keeps between connections is the last event
// ID and the reconnection time. A decoder knows one connection: until an id line comes on it, the ID of the one before is
// in force.
func source(ctx context.Context, url, last string, got *tally) (all []Event, err error) {
	id, pause := "", time.Duration(0)
	for {
		done, err := stream(ctx, url, id, func(b sse.Block) bool {
			if b.OwnID {
				id = string(b.ID)
			}
			switch b.Kind {
			case sse.RetryLine:
				pause = time.Duration(b.Retry) * time.Millisecond
			case sse.EventBlock:
				e := Event{Type: string(b.Event), Data: string(b.Data), ID: id}
				if e.Type == "" {
					e.Type = "message"
				}
				all = append(all, e)
				got.add()
				return e.ID == last
			}
			return false
		})
		if err != nil || done {
			return all, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return all, ctx.Err()
		}
	}
}

// stream reads one connection to its end, however it ends, or until each says that it is enough.
func stream(ctx context.Context, url, id string, each func(sse.Block) bool) (done bool, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false, err
	}
	if id != "" {
		request.Header.Set("Last-Event-ID", id)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return false, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return false, fmt.Errorf("status %d", answer.StatusCode)
	}
	d := sse.NewDecoder(0)
	for buf := make([]byte, 4096); ; {
		n, failure := answer.Body.Read(buf)
		d.Feed(buf[:n])
		for b, ok := d.Next(); ok; b, ok = d.Next() {
			if each(b) {
				return true, nil
			}
		}
		if failure != nil {
			return false, ctx.Err() // a cut is no error here
		}
	}
}

// plugin is a client that is the transport of plugins/sse, called again with the last cursor as long as it says that the
// connection ended and may be tried again. It tells data events only, and no names: Type stays empty.
func plugin(ctx context.Context, url, last string, got *tally) ([]Event, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &sink{last: last, enough: cancel, got: got}
	for !s.done {
		a := transport.Attempt{Endpoint: url, Query: transport.Query{SourceID: "incidents"}, Resume: event.NoPosition}
		a.Resume.Cursor = s.cursor
		s.end = transport.Signal{}
		err := sse.New().Open(ctx, a, s)
		switch {
		case s.done:
		case err != nil:
			return s.all, err
		case s.end.Kind != transport.Ended || s.end.Cause != transport.ConnectionLost:
			return s.all, fmt.Errorf("the transport ended with %s %s: %s", s.end.Kind, s.end.Cause, s.end.Detail)
		}
	}
	return s.all, nil
}

type sink struct {
	last   string
	enough func()
	got    *tally
	all    []Event
	cursor string
	end    transport.Signal
	done   bool
}

func (s *sink) Document(d transport.Document) error {
	s.all = append(s.all, Event{Data: string(d.JSON), ID: d.Cursor})
	s.cursor = d.Cursor
	s.got.add()
	if d.Cursor == s.last {
		s.done = true
		s.enough()
	}
	return nil
}

func (s *sink) Signal(g transport.Signal) error {
	switch {
	case g.Kind.Final():
		s.end = g
	case g.Kind == transport.Answered:
		s.got.add()
	}
	return nil
}
