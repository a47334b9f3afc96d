//go:build linux

package host

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/transport"
)

// A sink for events gets what capture in this process would have given; a sink for documents gets the documents, with the position
// that the framing named. The plugin is one of the SDK.
func TestAnSDKPluginCapturesInItsOwnProcess(t *testing.T) {
	leakCheck(t)
	p, _ := startT(t, mustSelf("script"), standard, time.Now)
	say := []string{
		`event {"type":"snapshot","sequence":7,"features":[]}`, `event {"type":"delta","sequence":8,"eventId":"mine","cursor":"c8"}`,
		`event {"type":"delta","eventId":7}`, "event nonsense", `event {"type":"beep"}`, "cause 1",
	}
	want := []string{
		"snapshot 7  :   false", "delta 8 c8 mine:   false", "malformed -1  : invalid-event eventId: not a string false",
		"malformed -1  : invalid-event document: not JSON true", "malformed -1  : invalid-event type: none of snapshot, upsert, delete, delta false",
		"ended connection-lost",
	}
	s, got := newServer(t), &eventRecorder{}
	if err := wait(t, "end", s.talk(p, s.attempt(1), got, say...)); err != nil || !slices.Equal(got.got, want) {
		t.Errorf("%v\ngot  %q\nwant %q", err, got.got, want)
	}
	docs := &recorder{}
	if err := wait(t, "end", s.talk(p, s.attempt(2), docs, say...)); err != nil {
		t.Fatal(err)
	}
	for i, line := range say[:5] {
		if docs.docs[i] != strings.TrimPrefix(line, "event ") {
			t.Errorf("document %d is %q", i, docs.docs[i])
		}
	}
}

// What a plugin says about a defect is redacted like everything that it says.
func TestDefectsAreRedacted(t *testing.T) {
	leakCheck(t)
	p, _ := startT(t, mustSelf("script"), standard, time.Now)
	s, got := newServer(t), &eventRecorder{}
	a := s.attempt(1)
	a.Credential.Header, a.Credential.Value = "Authorization", "canary-4711"
	if err := wait(t, "end", s.talk(p, a, got, "defect it said canary-4711", "cause 1")); err != nil {
		t.Fatal(err)
	}
	if all := got.all(); strings.Contains(all, "canary") || !strings.Contains(all, event.InvalidEvent.String()+" it said ") {
		t.Errorf("got %s", all)
	}
}

// What polls and wakes say arrives whole, in its order; texts for people are redacted, an envelope is data and is not.
func TestSignalsOfPollsAndWakesArrive(t *testing.T) {
	leakCheck(t)
	p, _ := startT(t, mustSelf("script"), standard, time.Now)
	s, got := newServer(t), &signals{}
	a := s.attempt(1)
	a.Credential.Header, a.Credential.Value = "Authorization", "canary-4711"
	if err := wait(t, "end", s.talk(p, a, got, "poll", "wake not canary-4711", "cause 1")); err != nil {
		t.Fatal(err)
	}
	want := []transport.Signal{
		{Kind: transport.Recovering, Reason: event.CursorExpired},
		{Kind: transport.Refreshed, Position: event.Position{Seq: 3, DeltaToken: "d"}},
		{Kind: transport.Polled, Poll: &transport.PollReport{Interval: time.Minute, Seq: 3}},
		{Kind: transport.WakeStated, WakeState: &transport.WakeState{Reason: "not " + hidden, HasReason: true, LastPushAt: -1}},
		{Kind: transport.Woken, Wake: &transport.Wake{SubscriptionID: "s", LogID: 7, Envelope: []byte(`{"note":"not canary-4711"}`)}},
		{Kind: transport.CaughtUp, CatchUp: &transport.CatchUp{State: transport.CatchUpFailed, Pending: -1, Watermark: 7, Reason: "not " + hidden}},
		{Kind: transport.Ended, Cause: transport.ConnectionLost},
	}
	if diff := cmp.Diff(want, got.all); diff != "" {
		t.Error(diff)
	}
}

// signals is a sink that keeps signals whole.
type signals struct{ all []transport.Signal }

func (s *signals) Document(transport.Document) error { return nil }

func (s *signals) Signal(sig transport.Signal) error {
	s.all = append(s.all, sig)
	return nil
}

// A document that crosses in parts is the same event at the other end.
func TestLargeEventsCrossInParts(t *testing.T) {
	leakCheck(t)
	p, _ := startT(t, mustSelf("script"), standard, time.Now)
	s, got := newServer(t), &eventRecorder{}
	done := s.talk(p, s.attempt(1), got, `event {"type":"snapshot","sequence":7,"features":[]}`, "large 8 1000000", `event {"type":"delta","sequence":9}`, "beat", "cause 1")
	if err := wait(t, "end", done); err != nil {
		t.Fatal(err)
	}
	if want := "snapshot 7  :   false, delta 8  : 1000000 bytes  false, delta 9  :   false, heartbeat, ended connection-lost"; got.all() != want {
		t.Errorf("got  %s\nwant %s", got.all(), want)
	}
}
