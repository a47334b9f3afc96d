package drive_test

import (
	"bytes"
	"encoding/json"
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
	"github.com/conform-dev/conform/core/transport"
)

// sampled is a session whose samples are written down as a driver in virtual time would: each at once, by a clock that
// stands at noon plus the time passed.
type sampled struct {
	t       testing.TB
	s       *session.Session
	sampler drive.Sampler
	ctx     checkpoint.Context
	now     session.Now
	samples []drive.Sample
	save    *gate.Held
}

const noon = 1_785_153_600_000 // 2026-07-27T12:00:00Z

func newSampled(t testing.TB, start gate.Start) *sampled {
	t.Helper()
	g, err := gate.New(gate.Config{Saves: true}, start)
	if err != nil {
		t.Fatal(err)
	}
	l := &sampled{t: t, now: session.Now{Wall: noon}, ctx: checkpoint.Context{
		SourceID: "incidents", QueryFingerprint: "sha256:accepted-plan-v1", SourceVersion: "incidents-snapshot-v7",
		SchemaVersion: "incident-schema-v3", AuthorizationScopeFingerprint: "sha256:dispatch-read-v2",
	}}
	l.s, err = session.New(g, session.Policy{
		Jitter: func(int) int { return 0 }, Resume: session.ByCursor, Vouch: session.VouchFrame, SourceVersion: l.ctx.SourceVersion,
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *sampled) wait(d time.Duration) {
	l.now.Mono += d
	l.now.Wall += d.Milliseconds()
}

func (l *sampled) did(in drive.Input) {
	due := l.s.Take()
	l.save = due.Save
	moments := l.sampler.After(l.s, &l.ctx, l.now, &due, in)
	for i := range moments {
		at := checkpoint.Clock{Now: l.now.Wall, NowKnown: true, StaleAfter: 60_000, Bounded: true}
		l.samples = append(l.samples, moments[i].Sample(at))
	}
}

func (l *sampled) signal(e session.Epoch, sig transport.Signal) {
	drive.Signal(l.s, e, l.now, sig)
	in := drive.AnyInput
	if sig.Kind == transport.Heartbeat {
		in = drive.HeartbeatInput
	}
	l.did(in)
}

// event brings one event all the way into the store.
func (l *sampled) event(e session.Epoch, doc string) {
	var ev event.Event
	drive.Document(l.s, e, l.now, transport.Document{JSON: []byte(doc)}, &ev)
	l.did(drive.AnyInput)
	l.s.Applied(l.now, nil)
	l.did(drive.AnyInput)
	if l.save == nil {
		l.t.Fatalf("%s was not to be saved", doc)
	}
	l.s.Saved(l.now, nil)
	l.did(drive.SavedInput)
}

// ndjson is every sample, one per line.
func (l *sampled) ndjson() []byte {
	var b bytes.Buffer
	for _, s := range l.samples {
		text, err := s.MarshalJSON()
		if err != nil {
			l.t.Fatal(err)
		}
		b.Write(append(text, '\n'))
	}
	return b.Bytes()
}

// story is one short life: a snapshot and a delta, silence beyond stale, a break, an expired position, the end.
func story(t *testing.T) *sampled {
	l := newSampled(t, gate.Start{})
	l.s.Open(l.now)
	l.did(drive.AnyInput)
	l.signal(1, transport.Signal{Kind: transport.Open})
	l.event(1, `{"type":"snapshot","sequence":40,"features":[],"eventId":"SECRET-e40"}`)
	l.wait(time.Second)
	l.event(1, `{"type":"delta","sequence":41,"eventId":"SECRET-e41","cursor":"SECRET-c41","watermark":"SECRET-w41","deltaToken":"SECRET-d41","timestamp":"2026-07-27T11:59:59.500Z"}`)
	l.wait(80 * time.Second)
	l.signal(1, transport.Signal{Kind: transport.Heartbeat})
	l.signal(1, transport.Signal{Kind: transport.Ended, Cause: transport.ConnectionLost, Detail: "SECRET"})
	l.wait(250 * time.Millisecond)
	l.s.Wake(l.now)
	l.did(drive.AnyInput)
	l.signal(2, transport.Signal{Kind: transport.Expired, Reason: event.CursorExpired, Detail: "SECRET"})
	l.signal(1, transport.Signal{Kind: transport.Ended}) // of a connection that does not count: nothing new
	l.s.Close(l.now, event.Closed)
	l.did(drive.AnyInput)
	l.signal(2, transport.Signal{Kind: transport.Heartbeat}) // after the end: no sample
	return l
}

// TestSamples compares the samples of one life with testdata/samples.ndjson. Each is in canonical form, and none holds what
// somebody could resume from (ref:RES-19). A second run gives the same bytes.
func TestSamples(t *testing.T) {
	got := story(t).ndjson()
	if again := story(t).ndjson(); !bytes.Equal(got, again) {
		t.Errorf("the same life gives other samples:\n%s%s", got, again)
	}
	if bytes.Contains(got, []byte("SECRET")) {
		t.Errorf("a position, an id or a detail stands in a sample:\n%s", got)
	}
	for line := range strings.Lines(string(got)) {
		line = strings.TrimSpace(line)
		if canonical, err := checkpoint.Canonical([]byte(line)); err != nil || string(canonical) != line {
			t.Errorf("not in canonical form: %s %v", line, err)
		}
	}
	golden := filepath.Join("testdata", "samples.ndjson")
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("samples differ from %s:\n%s", golden, got)
	}
}

// TestSampleOddContent: what is held may be no well-formed checkpoint: it is left out and still judged. A source version is
// the server's text: it stays text.
func TestSampleOddContent(t *testing.T) {
	for name, held := range map[string]gate.Held{
		"long cursor": {Pos: event.Position{Seq: 5, Cursor: strings.Repeat("SECRET", checkpoint.MaxText)}, SavedAt: noon},
		"not Unicode": {Pos: event.Position{Seq: 5, DeltaToken: "SECRET\xff"}, SavedAt: noon},
		"no date":     {Pos: event.Position{Seq: 5, Cursor: "SECRET"}, SavedAt: 1 << 62},
	} {
		l := newSampled(t, gate.Start{Held: &held})
		l.s.Close(l.now, event.Closed)
		l.did(drive.AnyInput)
		end := l.samples[0]
		if end.Checkpoint != nil || !end.Authority.Authoritative || end.Authority.AgeKnown == (name == "no date") {
			t.Errorf("%s: %+v", name, end)
		}
		if text := l.ndjson(); bytes.Contains(text, []byte("SECRET")) {
			t.Errorf("%s: %.200s", name, text)
		}
		if err := end.Tie(&checkpoint.Checkpoint{Context: l.ctx, Resume: event.Position{Seq: 5}}); err == nil {
			t.Errorf("%s: a sample without a checkpoint was taken for one", name)
		}
	}
	l := newSampled(t, gate.Start{Held: &gate.Held{Pos: event.Position{Seq: 5, Cursor: "c5"}, SavedAt: noon}})
	l.ctx.SourceID = "</script>\",\"phase\":\"live\u2028"
	l.s.Open(l.now)
	l.did(drive.AnyInput)
	var back struct {
		Phase      string
		Checkpoint struct{ Context struct{ SourceID string } }
	}
	text, err := json.Marshal(l.samples[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &back); err != nil || back.Phase != "resuming" || back.Checkpoint.Context.SourceID != l.ctx.SourceID {
		t.Errorf("%s: %+v, %v", text, back, err)
	}
	bad := checkpoint.Checkpoint{Context: l.ctx, Resume: event.NoPosition}
	if err := l.samples[0].Tie(&bad); err == nil {
		t.Error("a sample was tied to what is no checkpoint")
	}
}

// TestTelemetryDocs: docs/telemetry.md shows a sample of this package and names every member and word that samples have.
func TestTelemetryDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/telemetry.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(page)
	_, rest, ok := strings.Cut(doc, "```json sample\n")
	sample, _, closed := strings.Cut(rest, "\n```")
	l := story(t)
	if !ok || !closed || !strings.Contains(string(l.ndjson()), sample+"\n") {
		t.Errorf("the sample in docs/telemetry.md is none of testdata/samples.ndjson")
	}
	words := []drive.After{drive.AfterSubscribe, drive.AfterResult, drive.AfterSave, drive.AfterHeartbeat, drive.AfterReconnect, drive.AfterStop, drive.AfterFailure}
	for _, w := range words {
		if !strings.Contains(doc, "| `"+string(w)+"` |") {
			t.Errorf("docs/telemetry.md has no row for %q", w)
		}
	}
	for line := range strings.Lines(string(l.ndjson())) {
		var members map[string]json.RawMessage
		if err := json.Unmarshal([]byte(line), &members); err != nil {
			t.Fatal(err)
		}
		for m := range members {
			if !strings.Contains(doc, "| `"+m+"` |") {
				t.Errorf("docs/telemetry.md has no row for member %q", m)
			}
		}
	}
}

// BenchmarkSample measures what a sample costs where nobody waits for it: three digests, and its JSON form.
func BenchmarkSample(b *testing.B) {
	l := newSampled(b, gate.Start{Held: &gate.Held{Pos: event.Position{Seq: 5, Cursor: "c5", Watermark: "w5", DeltaToken: "d5"}, SavedAt: noon}})
	l.s.Open(l.now)
	due := l.s.Take()
	m := l.sampler.After(l.s, &l.ctx, l.now, &due, drive.AnyInput)[0]
	b.Run("redact", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			m.Sample(checkpoint.Clock{Now: noon, NowKnown: true})
		}
	})
	sample := m.Sample(checkpoint.Clock{Now: noon, NowKnown: true})
	b.Run("json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := sample.MarshalJSON(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
