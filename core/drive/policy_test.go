package drive_test

import (
	"errors"
	"testing"
	"time"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/drive"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/session"
	"github.com/conform-dev/conform/core/transport"
)

func descriptor() transport.Descriptor {
	return transport.Descriptor{
		Name: "sse", Freshness: transport.Push, Order: transport.ServerSequence, Baseline: transport.BaselineSnapshot,
		Resume: []transport.Mode{transport.ByCursor, transport.BySequence}, Vouch: transport.VouchFrame,
	}
}

// TestClaims: what a transport does not claim is refused from its descriptor, before anything is opened (D-42, D-62).
func TestClaims(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*transport.Descriptor)
		stored bool
		member string // empty: accepted
	}{
		{"as the bundled ones", func(*transport.Descriptor) {}, true, ""},
		{"request chain", func(d *transport.Descriptor) { d.Order = transport.RequestChain }, true, ""},
		{"poll", func(d *transport.Descriptor) { d.Freshness = transport.Poll }, true, ""},
		{"no order", func(d *transport.Descriptor) { d.Order = transport.NoOrder }, false, "order"},
		{"order not stated", func(d *transport.Descriptor) { d.Order = "" }, false, "order"},
		{"no baseline", func(d *transport.Descriptor) { d.Baseline = transport.NoBaseline }, false, "baseline"},
		{"baseline not stated", func(d *transport.Descriptor) { d.Baseline = "" }, false, "baseline"},
		{"freshness not stated", func(d *transport.Descriptor) { d.Freshness = "" }, false, "freshness"},
		{"vouch not stated", func(d *transport.Descriptor) { d.Vouch = "" }, false, "vouch"},
		{"unknown mode", func(d *transport.Descriptor) { d.Resume = append(d.Resume, "page") }, false, "resume"},
		{"no resume, no store", func(d *transport.Descriptor) { d.Resume, d.Vouch = nil, transport.NoVouch }, false, ""},
		{"no resume, but a store", func(d *transport.Descriptor) { d.Resume = nil }, true, "resume"},
		{"nobody vouches, but a store", func(d *transport.Descriptor) { d.Vouch = transport.NoVouch }, true, "vouch"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := descriptor()
			c.change(&d)
			_, err := drive.Policy(d, session.Policy{}, c.stored)
			var claim *drive.ClaimError
			switch {
			case c.member == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.member != "" && (!errors.As(err, &claim) || claim.Member != c.member || claim.Transport != "sse"):
				t.Errorf("got %v, want a refusal over %s", err, c.member)
			}
		})
	}
}

// TestLane: a fleet-wake lane gets its own numbers, keeps what was chosen, and has nothing to store.
func TestLane(t *testing.T) {
	d := transport.Descriptor{Name: "fleetwake", Wire: transport.FleetWake, Freshness: transport.Push, Order: transport.NoOrder,
		Baseline: transport.NoBaseline, Vouch: transport.NoVouch}
	p, err := drive.Policy(d, session.Policy{Cap: 7 * time.Second, Horizon: time.Second}, false)
	if err != nil {
		t.Fatal(err)
	}
	if !p.Lane || p.Base != session.FleetBase || p.Cap != 7*time.Second || p.Idle != session.FleetIdle || p.Horizon != session.WakeHorizon {
		t.Errorf("policy %+v", p)
	}
	var claim *drive.ClaimError
	if _, err := drive.Policy(d, session.Policy{}, true); !errors.As(err, &claim) || claim.Member != "resume" {
		t.Errorf("with a store: %v", err)
	}
	d.Order = transport.ServerSequence
	if _, err := drive.Policy(d, session.Policy{}, false); !errors.As(err, &claim) || claim.Member != "order" {
		t.Errorf("with an order: %v", err)
	}
}

// TestPolicy: the descriptor decides how a session resumes and starts.
func TestPolicy(t *testing.T) {
	d := descriptor()
	d.Baseline, d.Vouch = transport.BaselinePosition, transport.VouchImplicit
	p, err := drive.Policy(d, session.Policy{Attempts: 3, Resume: session.ByDeltaToken}, true)
	if err != nil {
		t.Fatal(err)
	}
	if p.Resume != session.ByCursor|session.BySequence || p.Vouch != session.VouchImplicit || !p.AtPosition || p.Attempts != 3 {
		t.Errorf("policy %+v", p)
	}
}

// TestStart: what a store said is where the gate begins (D-26).
func TestStart(t *testing.T) {
	held := drive.Start(checkpoint.Start{Held: true, Pos: event.Position{Seq: 7, Cursor: "c"}, SavedAt: 9, IDs: []string{"a"}, Persisted: true})
	if held.Held == nil || held.Held.Pos.Seq != 7 || held.Held.SavedAt != 9 || !held.Persisted || len(held.IDs) != 1 {
		t.Errorf("held: %+v", held)
	}
	refused := drive.Start(checkpoint.Start{Pos: event.NoPosition, Refused: event.CursorExpired, Detail: checkpoint.DetailExpired})
	if refused.Held != nil || refused.Refused != event.CursorExpired || refused.Detail != checkpoint.DetailExpired {
		t.Errorf("refused: %+v", refused)
	}
	if nothing := drive.Start(checkpoint.Start{Pos: event.NoPosition}); nothing.Held != nil || nothing.Refused != event.None {
		t.Errorf("nothing: %+v", nothing)
	}
}

// TestQuery: a reconnect that needs a snapshot does not ask for deltas alone (facts 5.6 rule 4); everything else is asked for as
// the caller did.
func TestQuery(t *testing.T) {
	held := event.Position{Seq: 5}
	for _, c := range []struct {
		mode  string
		epoch session.Epoch
		pos   event.Position
		want  string
	}{
		{"delta", 1, event.NoPosition, "delta"},
		{"delta", 2, held, "delta"},
		{"delta", 2, event.NoPosition, "snapshot-then-delta"},
		{"snapshot", 2, event.NoPosition, "snapshot"},
		{"", 2, event.NoPosition, ""},
	} {
		got := drive.Query(transport.Query{SourceID: "s", Mode: c.mode}, session.Attempt{Epoch: c.epoch, Resume: c.pos})
		if got.Mode != c.want || got.SourceID != "s" {
			t.Errorf("%q, epoch %d, from %d: %+v, want %q", c.mode, c.epoch, c.pos.Seq, got, c.want)
		}
	}
}
