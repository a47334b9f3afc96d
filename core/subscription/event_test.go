package subscription_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/subscription"
	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/core/transport"
)

// TestCapturedEventsAreDocuments: a transport that hands captured events over is followed exactly as one that hands the same
// documents over: gate, session and consumer see no difference, whether the events are good, duplicate, in a gap, malformed
// or no events at all.
func TestCapturedEventsAreDocuments(t *testing.T) {
	scripts := [][]string{
		{`{"type":"snapshot","sequence":5,"features":[]}`, `{"type":"delta","sequence":6,"eventId":"a"}`, `{"type":"delta","sequence":6}`, `{"type":"delta","sequence":9}`},
		{`{"type":"snapshot","sequence":5,"features":[],"cursor":"other"}`, `{"type":"delta","sequence":6}`},
		{`{"type":"snapshot","sequence":5,"features":[]}`, `nonsense`},
		{`{"type":"snapshot","sequence":5,"features":[]}`, `{"type":"delete","sequence":6}`},
	}
	for i, script := range scripts {
		play := func(captured bool) play {
			return func(ctx context.Context, _ transport.Attempt, to transport.Sink) error {
				connected(to, transport.No)
				for i, json := range script {
					d := transport.Document{JSON: []byte(json), Cursor: fmt.Sprint("c", i)}
					var err error
					if captured {
						var ev event.Event
						d.Capture(&ev)
						err = to.(transport.EventSink).Event(&ev)
					} else {
						err = to.Document(d)
					}
					if err != nil {
						return err
					}
					time.Sleep(time.Millisecond)
				}
				<-ctx.Done()
				return nil
			}
		}
		run := func(captured bool) (records []trace.Record, list string) {
			synctest.Test(t, func(t *testing.T) {
				got := &seen{}
				s := open(t, newWire(play(captured)), got.apply, subscription.WithObserver(func(r trace.Record) { records = append(records, r) }))
				time.Sleep(time.Second)
				closeAndWait(t, s)
				list = got.all()
			})
			return records, list
		}
		documents, want := run(false)
		events, list := run(true)
		if diff := cmp.Diff(documents, events); diff != "" || list != want {
			t.Errorf("script %d: seen %s, want %s\n%s", i, list, want, diff)
		}
		if i < 1 && want != "[snapshot 5 delta 6]" {
			t.Errorf("script %d: seen %s", i, want)
		}
	}
}
