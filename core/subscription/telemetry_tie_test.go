package subscription_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/store"
	"github.com/conform-dev/conform/core/subscription"
	"github.com/conform-dev/conform/core/transport"
)

// capture is a store that keeps every checkpoint it was given.
type capture struct {
	odd
	mu    sync.Mutex
	saved []checkpoint.Checkpoint
	slow  time.Duration // what a save takes
}

func newCapture(under store.Store) *capture {
	c := &capture{odd: odd{Store: under}}
	c.save = func(p checkpoint.Checkpoint) error {
		c.mu.Lock()
		c.saved = append(c.saved, p.Clone())
		c.mu.Unlock()
		time.Sleep(c.slow)
		return nil
	}
	return c
}

func (c *capture) all() []checkpoint.Checkpoint {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.saved
}

// tied is how many samples show p.
func tied(samples []subscription.Sample, p *checkpoint.Checkpoint) (n int) {
	for i := range samples {
		if samples[i].Tie(p) == nil {
			n++
		}
	}
	return n
}

// full sends an event with every position and an event id.
func full(to transport.Sink, kind string, seq int) error {
	return to.Document(transport.Document{JSON: fmt.Appendf(nil,
		`{"type":%q,"sequence":%d,"features":[],"feature":{},"eventId":"EVENT-%d","cursor":"CURSOR-%d","watermark":"WATERMARK-%d",`+
			`"deltaToken":"DELTATOKEN-%d","timestamp":"2026-07-27T03:59:59.%03dZ"}`, kind, seq, seq, seq, seq, seq, seq)})
}

// rich plays a connection whose events carry all positions.
func rich(resumed transport.Tristate, sig transport.Signal, first, last int) play {
	return func(ctx context.Context, a transport.Attempt, to transport.Sink) error {
		connected(to, resumed)
		for seq := first; seq <= last; seq++ {
			kind := "delta"
			if seq == first && a.Resume.Seq == event.NoSeq {
				kind = "snapshot"
			}
			if err := full(to, kind, seq); err != nil {
				return err
			}
			time.Sleep(time.Millisecond) // each with a time of its own
		}
		if sig.Kind == 0 {
			<-ctx.Done()
			return nil
		}
		return to.Signal(sig)
	}
}

// TestTelemetryTied: every checkpoint that the store was given is shown by a sample with the same sequence, the same savedAt
// and the exact digests of its fields (facts 7.3), and by no sample when one of them is wrong (ref:XTC-03, ref:XTC-04).
func TestTelemetryTied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, got := newCapture(newStore(t)), &told{}
		w := newWire(rich(transport.No, lost, 5, 7), rich(transport.Yes, stay, 8, 9))
		s := open(t, w, (&seen{}).apply, subscription.WithStore(st), subscription.WithSavedIDs(), subscription.WithTelemetry(got.take))
		time.Sleep(time.Second)
		closeAndWait(t, s)
		if len(st.all()) != 5 {
			t.Fatalf("%d checkpoints were stored", len(st.all()))
		}
		for i := range st.all() {
			p := &st.all()[i]
			if tied(got.all(), p) == 0 {
				t.Errorf("no sample shows %d: %s", p.Resume.Seq, got.story())
			}
			want, err := p.RedactedJSON()
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for _, m := range got.all() {
				if strings.Contains(line(t, m), `"checkpoint":`+string(want)) {
					n++
				}
			}
			if n != tied(got.all(), p) {
				t.Errorf("%d: %d samples show it byte for byte, %d are tied to it", p.Resume.Seq, n, tied(got.all(), p))
			}
		}
		doctored := map[string]func(r *checkpoint.Redacted){
			"resume.sequence": func(r *checkpoint.Redacted) { r.Resume.Seq++ },
			"savedAt":         func(r *checkpoint.Redacted) { r.SavedAt++ },
			"resume.cursor":   func(r *checkpoint.Redacted) { r.Resume.Cursor = checkpoint.RedactPosition("watermark", "CURSOR-9") },
			"resume.watermark": func(r *checkpoint.Redacted) {
				r.Resume.Watermark = checkpoint.RedactPosition("watermark", "WATERMARK-8")
			},
			"resume.deltaToken": func(r *checkpoint.Redacted) { r.Resume.DeltaToken = "" },
			"resume.timestamp":  func(r *checkpoint.Redacted) { r.Resume.Timestamp = "2026-07-27T04:00:00.000Z" },
			"context":           func(r *checkpoint.Redacted) { r.Context.SourceVersion = "v2" },
		}
		last := &st.all()[4]
		for member, doctor := range doctored {
			samples := got.all()
			for i := range samples {
				if samples[i].Checkpoint != nil {
					shown := *samples[i].Checkpoint
					doctor(&shown)
					samples[i].Checkpoint = &shown
				}
			}
			if n := tied(samples, last); n != 0 {
				t.Errorf("%s: %d doctored samples were taken for the stored checkpoint", member, n)
			}
			if err := samples[len(samples)-1].Tie(last); err == nil || !strings.HasSuffix(err.Error(), " "+member+" differs") {
				t.Errorf("%s: %v", member, err)
			}
		}
	})
}

// TestTelemetrySupersededSave: a save that was given up while it ran still stored something. A sample shows it before the
// snapshot that arrived meanwhile takes its place, also when no reconnect comes between (D-30).
func TestTelemetrySupersededSave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, got := newCapture(newStore(t)), &told{}
		st.slow = 5 * time.Second
		anew := func(ctx context.Context, a transport.Attempt, to transport.Sink) error {
			connected(to, transport.Unsaid)
			time.Sleep(6 * time.Second) // 6 is being saved
			_ = full(to, "snapshot", 9) // the position that was sent is not looked at
			<-ctx.Done()
			return nil
		}
		again := func(ctx context.Context, a transport.Attempt, to transport.Sink) error {
			connected(to, transport.Yes)
			_ = full(to, "delta", 6)
			return to.Signal(lost)
		}
		w := newWire(rich(transport.No, lost, 5, 5), again, anew)
		s := open(t, w, (&seen{}).apply, subscription.WithStore(st), subscription.WithTelemetry(got.take))
		time.Sleep(time.Minute)
		closeAndWait(t, s)
		for i := range st.all() {
			if p := &st.all()[i]; tied(got.all(), p) == 0 {
				t.Errorf("no sample shows %d: %s", p.Resume.Seq, got.story())
			}
		}
		if len(st.all()) != 3 || !strings.Contains(got.story(), "save 6, result 9") {
			t.Errorf("%d stored, told %s", len(st.all()), got.story())
		}
	})
}

// TestTelemetryNewIdentity: what is held stays bound to the source version under which it was accepted, as its record does,
// when the server names another one (D-41).
func TestTelemetryNewIdentity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, got := newCapture(newStore(t)), &told{}
		other := func(ctx context.Context, _ transport.Attempt, to transport.Sink) error {
			_ = to.Signal(transport.Signal{Kind: transport.Answered, Answer: transport.Answer{StreamEpoch: "v2", Head: event.NoSeq}})
			<-ctx.Done()
			return nil
		}
		snapshot := func(ctx context.Context, _ transport.Attempt, to transport.Sink) error {
			_ = to.Signal(transport.Signal{Kind: transport.Answered, Answer: transport.Answer{StreamEpoch: "v2", Head: event.NoSeq}})
			time.Sleep(time.Second)
			_ = full(to, "snapshot", 1)
			<-ctx.Done()
			return nil
		}
		s := open(t, newWire(rich(transport.No, lost, 5, 5), other, snapshot), (&seen{}).apply,
			subscription.WithStore(st), subscription.WithTelemetry(got.take))
		time.Sleep(time.Minute)
		closeAndWait(t, s)
		for _, m := range got.all() {
			if m.Checkpoint == nil {
				continue
			}
			if want := map[event.Seq]string{5: "v1", 1: "v2"}[m.Checkpoint.Resume.Seq]; m.Checkpoint.Context.SourceVersion != want {
				t.Errorf("%s shows %d of %s", m.After, m.Checkpoint.Resume.Seq, m.Checkpoint.Context.SourceVersion)
			}
		}
		if p := &st.all()[1]; p.Context.SourceVersion != "v2" || tied(got.all(), p) == 0 {
			t.Errorf("stored %+v, told %s", p, got.story())
		}
	})
}

// TestTelemetryTiedAlways: under random breaks, gaps, expiries, slow consumers and slow stores, every stored checkpoint has
// its sample, and the counts never go back.
func TestTelemetryTiedAlways(t *testing.T) {
	stored := 0
	for seed := range uint64(1000) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 7))
			st, got := newCapture(newStore(t)), &told{}
			st.slow = time.Duration(r.IntN(3)) * 400 * time.Millisecond
			work := time.Duration(r.IntN(3)) * 300 * time.Millisecond
			every := 1 + r.IntN(3)
			var plays []play
			for range 1 + r.IntN(6) {
				plays = append(plays, roll(r))
			}
			s := open(t, newWire(plays...), func(ctx context.Context, _ *event.Event) error {
				time.Sleep(work)
				return ctx.Err()
			}, subscription.WithStore(st), subscription.WithSaveEvery(every), subscription.WithTelemetry(got.take))
			if r.IntN(3) == 0 {
				time.Sleep(time.Duration(r.IntN(2000)) * time.Millisecond)
				s.RequireResnapshot(event.TransportGap, "asked")
			}
			time.Sleep(time.Duration(r.IntN(20_000)) * time.Millisecond)
			s.Close()
			_ = s.Wait()
			for i := range st.all() {
				if p := &st.all()[i]; tied(got.all(), p) == 0 {
					t.Errorf("seed %d: no sample shows %d of %d: %s", seed, p.Resume.Seq, p.SavedAt, got.story())
				}
			}
			stored += len(st.all())
			monotonic(t, got.all())
		})
	}
	if stored < 1000 {
		t.Errorf("only %d checkpoints were stored", stored)
	}
}

// roll plays a random connection.
func roll(r *rand.Rand) play {
	sigs := []transport.Signal{lost, lost, {Kind: transport.Expired, Reason: event.CursorExpired}, {Kind: transport.Gap, Reason: event.TransportGap}, stay}
	sig := sigs[r.IntN(len(sigs))]
	resumed := transport.Tristate(r.IntN(3))
	n, pause, jump, snapshot := r.IntN(6), time.Duration(r.IntN(3))*100*time.Millisecond, r.IntN(8), r.IntN(8) == 0
	return func(ctx context.Context, a transport.Attempt, to transport.Sink) error {
		connected(to, resumed)
		at := int(a.Resume.Seq)
		for i := range n {
			kind := "delta"
			if i == 0 && (snapshot || a.Resume.Seq == event.NoSeq) {
				kind = "snapshot"
				at = max(at, 0) + 3
			}
			if i == jump {
				at++
			}
			at++
			if err := full(to, kind, at); err != nil {
				return err
			}
			time.Sleep(pause)
		}
		if sig.Kind == 0 {
			_ = to.Signal(transport.Signal{Kind: transport.Heartbeat})
			<-ctx.Done()
			return nil
		}
		return to.Signal(sig)
	}
}

func monotonic(t *testing.T, all []subscription.Sample) {
	t.Helper()
	for i := 1; i < len(all); i++ {
		a, b := all[i-1], all[i]
		if b.Accepted < a.Accepted || b.Duplicates < a.Duplicates || b.Gaps < a.Gaps || b.Overflows < a.Overflows || b.Missed != 0 {
			t.Errorf("%+v follows %+v", b, a)
		}
	}
}

// TestTelemetryCanary: what somebody could resume from or log in with is in no sample: raw positions, event ids, the
// credential, the endpoint, payloads, and what an error or a transport says (ref:RES-19).
func TestTelemetryCanary(t *testing.T) {
	canaries := []string{
		"CURSOR-", "WATERMARK-", "DELTATOKEN-", "EVENT-", "CREDENTIAL", "ENDPOINT", "example", "DETAIL", "ERROR", "TOKENFILTER", "MARK",
		"HEADER", "OPTION", "PAYLOAD",
	}
	synctest.Test(t, func(t *testing.T) {
		st, got := newCapture(newStore(t)), &told{}
		gap := transport.Signal{Kind: transport.Gap, Reason: event.TransportGap, Detail: "DETAIL of the gap"}
		mark := func(ctx context.Context, a transport.Attempt, to transport.Sink) error {
			connected(to, transport.No)
			_ = full(to, "snapshot", 20)
			_ = to.Document(transport.Document{JSON: []byte(`{"type":"delta","sequence":21,"PAYLOAD":"PAYLOAD"}`), Cursor: "CURSOR-21"})
			synctest.Wait()
			_ = to.Signal(transport.Signal{Kind: transport.Heartbeat})
			_ = to.Signal(transport.Signal{Kind: transport.Mark, Cursor: "MARK"})
			_ = full(to, "delta", 22)
			<-ctx.Done()
			return nil
		}
		w := newWire(rich(transport.No, lost, 5, 7), rich(transport.Yes, gap, 8, 9), mark)
		w.d.Options = []transport.Option{{Name: "opt"}}
		s := open(t, w, func(_ context.Context, ev *event.Event) error {
			if ev.Pos.Seq == 22 {
				return errors.New("ERROR of the consumer over CURSOR-22")
			}
			return nil
		}, subscription.WithStore(st), subscription.WithSavedIDs(), subscription.WithTelemetry(got.take),
			subscription.WithEndpoint("https://user:CREDENTIAL@feed.example/ENDPOINT?key=CREDENTIAL"),
			subscription.WithQuery(transport.Query{Where: "TOKENFILTER"}),
			subscription.WithTransportOptions(map[string]string{"opt": "OPTION"}),
			subscription.WithCredentials(func(context.Context, bool) (transport.Credential, string, error) {
				return transport.Credential{Header: "X-HEADER", Value: "CREDENTIAL"}, "scope-a", nil
			}))
		if err := s.Wait(); err == nil {
			t.Error("the consumer's error got lost")
		}
		if !strings.HasSuffix(got.story(), "heartbeat 21, failure 21") {
			t.Errorf("told %s", got.story())
		}
		for _, m := range got.all() {
			text := line(t, m) + fmt.Sprintf("%+v", m)
			if m.Checkpoint != nil {
				text += fmt.Sprintf("%+v", *m.Checkpoint)
			}
			for _, canary := range canaries {
				if strings.Contains(text, canary) {
					t.Errorf("%q is in %s", canary, text)
				}
			}
		}
		// The test can see them where they are: in what was stored.
		for i := range st.all() {
			if text, err := st.all()[i].JSON(); err != nil || !strings.Contains(string(text), "CURSOR-") || !strings.Contains(string(text), "EVENT-") {
				t.Errorf("%s %v", text, err)
			}
		}
	})
}
