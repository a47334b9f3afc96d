package drive_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/drive"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
	"github.com/conform-dev/conform/core/session"
	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/core/transport"
)

// TestRecorder compares the trace of one short life with testdata/life: stored position, expiry, snapshot, a failing store.
// No position may stand in it in clear.
func TestRecorder(t *testing.T) {
	var records []trace.Record
	r := drive.NewRecorder(func(rec trace.Record) {
		if !trace.Known(rec.Actor, rec.Kind) {
			t.Errorf("%s has no records of kind %s", rec.Actor, rec.Kind)
		}
		rec.N = len(records) + 1
		records = append(records, rec)
	})
	at := func(ms int) session.Now {
		return session.Now{Mono: time.Duration(ms) * time.Millisecond, Wall: int64(ms)}
	}

	stored := event.Position{Seq: 5, Cursor: "SECRET-c5"}
	r.Loaded(at(0), checkpoint.Answer{Found: checkpoint.Stored, Checkpoint: checkpoint.Checkpoint{Resume: stored}})
	start := gate.Start{Held: &gate.Held{Pos: stored}, Persisted: true}
	g, err := gate.New(gate.Config{Saves: true}, start)
	if err != nil {
		t.Fatal(err)
	}
	r.Started(at(0), start, g)
	s, err := session.New(g, session.Policy{Notes: true, Jitter: func(int) int { return 100 }, Resume: session.ByCursor, Vouch: session.VouchFrame})
	if err != nil {
		t.Fatal(err)
	}
	take := func(now session.Now) session.Due {
		d := s.Take()
		r.Due(now, &d)
		return d
	}
	signal := func(ms int, e session.Epoch, sig transport.Signal) {
		r.Signal(at(ms), e, sig)
		drive.Signal(s, e, at(ms), sig)
		take(at(ms))
	}
	s.Open(at(0))
	take(at(0))
	signal(10, 1, transport.Signal{Kind: transport.Expired, Reason: event.CursorExpired, Detail: "error-frame"})
	r.Forgot(at(11), nil)
	s.Wake(at(285))
	take(at(285))
	signal(290, 2, transport.Signal{Kind: transport.Open})
	signal(290, 2, transport.Signal{Kind: transport.Answered, Answer: transport.Answer{StreamEpoch: "v1", Head: 9, Resumed: transport.No}})
	signal(290, 2, transport.Signal{Kind: transport.Retry, RetryAfter: 3 * time.Second})
	var ev event.Event
	drive.Document(s, 2, at(291), transport.Document{JSON: []byte(`{"type":"snapshot","sequence":9,"eventId":"e9","features":[]}`), Cursor: "SECRET-c9"}, &ev)
	take(at(291))
	s.Applied(at(292), nil)
	d := take(at(292))
	r.Wrote(at(300), d.Save.Pos.Seq, errors.New("SECRET disk"))
	s.Saved(at(300), errors.New("SECRET disk"))
	take(at(300))
	drive.Signal(s, 1, at(301), transport.Signal{Kind: transport.Heartbeat})
	take(at(301))

	var out bytes.Buffer
	if err := trace.Encode(&out, records); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "SECRET") {
		t.Errorf("a position or an error text stands in the trace:\n%s", out.String())
	}
	golden := filepath.Join("testdata", "life.ndjson")
	if *update {
		if err := os.WriteFile(golden, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(want) {
		t.Errorf("trace differs from %s:\n%s", golden, out.String())
	}
}

var update = flag.Bool("update", false, "rewrite the golden trace")
