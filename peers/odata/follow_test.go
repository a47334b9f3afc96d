//go:build cgo

package odata

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/store"
	"github.com/conform-dev/conform/core/store/memory"
	"github.com/conform-dev/conform/core/subscription"
	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/plugins/odata"
)

// longEnough is when a test that waits gives up.
const longEnough = 10 * time.Second

// versionOf reads the version in a delta token of go-odata. Only a test may: to a client a token is opaque.
func versionOf(t testing.TB, deltaLink string) (version int) {
	t.Helper()
	u, err := url.Parse(deltaLink)
	if err != nil {
		t.Fatal(err)
	}
	var token struct{ Version *int }
	if err := json.NewDecoder(base64.NewDecoder(base64.RawURLEncoding, strings.NewReader(u.Query().Get("$deltatoken")))).Decode(&token); err != nil || token.Version == nil {
		t.Fatalf("token of %s: %v", deltaLink, err)
	}
	return *token.Version
}

// consumer is an application: what it holds is all that it was ever told. It outlives its subscriptions.
type consumer struct {
	t      testing.TB
	kept   *memory.Store
	mu     sync.Mutex
	rows   map[string]Incident
	seen   []string
	notes  []string // what the transport said of a poll, and why a snapshot was taken again
	polled chan transport.PollReport
}

func newConsumer(t testing.TB) *consumer {
	kept, err := memory.New(store.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return &consumer{t: t, kept: kept, rows: map[string]Incident{}}
}

func (c *consumer) apply(_ context.Context, ev *event.Event) error {
	type row struct {
		ID      json.RawMessage // a number, as the key is
		Feature Incident
	}
	var doc struct{ Features, Upserts, Deletes []row }
	if err := json.Unmarshal(ev.Payload, &doc); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if ev.Kind == event.Snapshot {
		clear(c.rows)
	}
	for _, r := range slices.Concat(doc.Features, doc.Upserts) {
		c.rows[string(r.ID)] = r.Feature
	}
	for _, r := range doc.Deletes {
		delete(c.rows, string(r.ID))
	}
	c.seen = append(c.seen, ev.Kind.String())
	return nil
}

var place = checkpoint.Context{
	SourceID: "incidents", QueryFingerprint: "sha256:q", SourceVersion: "1", SchemaVersion: "1", AuthorizationScopeFingerprint: "everybody",
}

// follow opens a subscription that polls every 20 ms and goes on from where the store stands.
func (c *consumer) follow(s *server, more ...subscription.Option) *subscription.Subscription {
	c.t.Helper()
	c.polled = make(chan transport.PollReport)
	polled, over := c.polled, make(chan struct{})
	options := map[string]string{odata.OptionOrder: odata.RequestChain, odata.OptionRows: odata.RowsEntity, odata.OptionKey: "ID", odata.OptionPollIntervalMs: "20"}
	sub, err := subscription.Open(c.t.Context(), odata.New(), c.apply, append([]subscription.Option{
		subscription.WithEndpoint("http://" + s.addr + set),
		subscription.WithQuery(transport.Query{SourceID: "incidents"}),
		subscription.WithContext(place),
		subscription.WithStore(c.kept),
		subscription.WithTransportOptions(options),
		subscription.WithObserver(c.note),
		subscription.WithPolls(func(p transport.PollReport) { // the next poll waits until the test has looked, or the test is over
			select {
			case polled <- p:
			case <-over:
			}
		}),
	}, more...)...)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { close(over); sub.Close(); _ = sub.Wait() })
	return sub
}

func (c *consumer) note(r trace.Record) {
	if r.Detail != "" && (r.Kind == trace.SessionSignal || r.Kind == trace.SessionEnd) {
		c.mu.Lock()
		c.notes = append(c.notes, strings.TrimSpace(r.Status+" "+r.Reason+" ("+r.Detail+")"))
		c.mu.Unlock()
	}
}

// poll waits for the next report of a poll.
func (c *consumer) poll() transport.PollReport {
	c.t.Helper()
	select {
	case p := <-c.polled:
		return p
	case <-time.After(longEnough):
		c.t.Fatalf("no poll; notes %q", c.notes)
		return transport.PollReport{}
	}
}

// until polls until the consumer holds the row with this id in this state, or not at all for an empty state.
func (c *consumer) until(id int64, state string) {
	c.t.Helper()
	for end := time.Now().Add(longEnough); ; {
		c.mu.Lock()
		got := c.rows[strconv.FormatInt(id, 10)].State
		c.mu.Unlock()
		if got == state {
			return
		}
		if time.Now().After(end) {
			c.t.Fatalf("row %d never became %q, is %q", id, state, got)
		}
		select { // a report is handed out before the gate has handed the event to the consumer
		case <-c.polled:
		case <-time.After(time.Millisecond):
		}
	}
}

// over waits for the end of a subscription, whose polls nobody looks at any more.
func (c *consumer) over(sub *subscription.Subscription) error {
	c.t.Helper()
	done := make(chan error, 1)
	go func() { done <- sub.Wait() }()
	for {
		select {
		case <-c.polled:
		case err := <-done:
			return err
		case <-time.After(longEnough):
			c.t.Fatal("the subscription does not end")
		}
	}
}

// leave ends a subscription whose position is kept.
func (c *consumer) leave(sub *subscription.Subscription) {
	c.t.Helper()
	sub.Close()
	if err := c.over(sub); err != nil {
		c.t.Fatal(err)
	}
}

// wrong compares what the publisher wrote with what the consumer holds, row by row.
func (c *consumer) wrong(s *server) (list []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	want := map[string]Incident{}
	for id, i := range s.list {
		want[strconv.FormatInt(id, 10)] = i
	}
	ids := slices.Concat(slices.Collect(maps.Keys(want)), slices.Collect(maps.Keys(c.rows)))
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		is, told := c.rows[id]
		was, there := want[id]
		switch {
		case !told:
			list = append(list, fmt.Sprintf("incident %s (%s) was published and never came", id, was.State))
		case !there:
			list = append(list, fmt.Sprintf("incident %s was deleted and is still held", id))
		case is != was:
			list = append(list, fmt.Sprintf("incident %s was published as %s %d and is held as %s %d", id, was.State, was.Level, is.State, is.Level))
		}
	}
	return list
}

func (c *consumer) told() (notes, seen string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.notes, "; "), strings.Join(c.seen, " ")
}
