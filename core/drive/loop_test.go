package drive_test

import (
	"strings"
	"testing"
	"time"

	"github.com/conform-dev/conform/core/drive"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
	"github.com/conform-dev/conform/core/polling"
	"github.com/conform-dev/conform/core/session"
	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/core/transport"
)

// poll makes a loop for a transport that polls, which holds position 5 and is open.
func poll(t *testing.T) drive.Loop {
	t.Helper()
	g, err := gate.New(gate.Config{Saves: true}, gate.Start{Held: &gate.Held{Pos: event.Position{Seq: 5, DeltaToken: "t5"}}})
	if err != nil {
		t.Fatal(err)
	}
	d := transport.Descriptor{
		Freshness: transport.Poll, Order: transport.ServerSequence, Baseline: transport.BaselineSnapshot,
		Resume: []transport.Mode{transport.ByDeltaToken}, Vouch: transport.VouchImplicit,
	}
	p, err := drive.Policy(d, session.Policy{Jitter: func(int) int { return 0 }, SourceVersion: "v1"}, true)
	if err != nil {
		t.Fatal(err)
	}
	l, err := drive.NewLoop(g, d, p)
	if err != nil {
		t.Fatal(err)
	}
	l.Open(session.Now{})
	if c := l.Take().Connect; c == nil || c.Resume.DeltaToken != "t5" {
		t.Fatalf("attempt %+v", c)
	}
	return l
}

// TestNewLoop: what a transport declares decides who keeps the subscription going (D-45).
func TestNewLoop(t *testing.T) {
	for freshness, polls := range map[transport.Freshness]bool{transport.Push: false, transport.Poll: true} {
		g, err := gate.New(gate.Config{}, gate.Start{})
		if err != nil {
			t.Fatal(err)
		}
		l, err := drive.NewLoop(g, transport.Descriptor{Freshness: freshness}, session.Policy{Jitter: func(int) int { return 0 }})
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := l.(*polling.Loop); ok != polls {
			t.Errorf("%s is driven by %T", freshness, l)
		}
		if _, err := drive.NewLoop(g, transport.Descriptor{Freshness: freshness}, session.Policy{}); err == nil {
			t.Errorf("%s: a policy without jitter was taken", freshness)
		}
	}
}

// TestPollSignals: what a signal means to a loop that polls: Recovering and Refreshed are its own, a final one is the end, a renewed
// credential, a fresh process and what only a new Open can mend aside.
func TestPollSignals(t *testing.T) {
	for _, c := range []struct {
		name string
		sig  transport.Signal
		want string
	}{
		{"polled", transport.Signal{Kind: transport.Polled, Poll: &transport.PollReport{Seq: 5}}, "up"},
		{"polled, nothing said", transport.Signal{Kind: transport.Polled}, "up"},
		{"refreshed, resuming still", transport.Signal{Kind: transport.Refreshed, Position: event.Position{Seq: 5, DeltaToken: "t6"}}, "up"},
		{"recovering", transport.Signal{Kind: transport.Recovering, Reason: event.CursorExpired, Detail: "410"}, "up cursor-expired 410 forget"},
		{"recovering for no reason that a transport has", transport.Signal{Kind: transport.Recovering, Reason: event.SequenceGap}, "dialing transport-gap transport-recovers"},
		{"answered, other epoch", transport.Signal{Kind: transport.Answered, Answer: transport.Answer{StreamEpoch: "v2", Head: event.NoSeq}}, "dialing source-version-changed stream-epoch hangup open"},
		{"a wait", transport.Signal{Kind: transport.Retry, RetryAfter: time.Hour}, "up"},
		{"lost", transport.Signal{Kind: transport.Ended, Cause: transport.ConnectionLost}, "over attempts-used-up delivery-failed"},
		{"throttled", transport.Signal{Kind: transport.Ended, Cause: transport.Throttled, Status: 429}, "over attempts-used-up delivery-failed"},
		{"404", transport.Signal{Kind: transport.Refused, Cause: transport.Rejected, Status: 404}, "over refused"},
		{"no delta link", transport.Signal{Kind: transport.Refused, Cause: transport.ProtocolError, Detail: "no-delta-link"}, "over protocol-error"},
		{"401", transport.Signal{Kind: transport.Refused, Cause: transport.Unauthorized, Status: 401}, "dialing open renew"},
		{"crash", transport.Signal{Kind: transport.Ended, Cause: transport.PluginCrashed}, "dialing open"},
		{"token that cannot be sent", transport.Signal{Kind: transport.Gap, Reason: event.ResumeUnsupported, Detail: "unsendable"}, "dialing resume-unsupported unsendable open"},
		{"a wake", transport.Signal{Kind: transport.Woken, Wake: &transport.Wake{}}, "over protocol-error"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := poll(t)
			drive.Signal(l, 1, session.Now{}, c.sig)
			d, words := l.Take(), []string{l.Observe(session.Now{}).Link.String()}
			if st := l.State(); st.Phase == gate.ResnapshotRequired {
				words = append(words, st.Reason.String(), st.Detail)
			}
			if d.End != nil {
				words = append(words, d.End.Cause.String(), d.End.Reason.String())
			}
			for word, is := range map[string]bool{"hangup": d.Hangup != 0, "forget": d.Forget} {
				if is {
					words = append(words, word)
				}
			}
			if d.Connect != nil {
				words = append(words, "open", map[bool]string{true: "renew"}[d.Connect.Renew])
			}
			if got := strings.Join(strings.Fields(strings.Join(words, " ")), " "); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestPollRecords: what a poll and a refresh leave in a trace, without a position in clear.
func TestPollRecords(t *testing.T) {
	var records []trace.Record
	r := drive.NewRecorder(func(rec trace.Record) { records = append(records, rec) })
	r.Signal(session.Now{}, 1, transport.Signal{Kind: transport.Polled, Poll: &transport.PollReport{
		Interval: time.Minute, Next: 30 * time.Second, Seq: 7, Changed: true, Upserts: 2, Deletes: 1,
	}})
	r.Signal(session.Now{}, 1, transport.Signal{Kind: transport.Polled})
	r.Signal(session.Now{}, 1, transport.Signal{Kind: transport.Refreshed, Position: event.Position{Seq: 7, DeltaToken: "SECRET"}})
	r.Signal(session.Now{}, 1, transport.Signal{Kind: transport.Recovering, Reason: event.CursorExpired, Detail: "410"})
	p := records[0]
	if p.Status != "polled" || p.Seq != 7 || p.Ms != 30_000 || p.Args["changed"] != "true" || p.Args["upserts"] != "2" || p.Args["deletes"] != "1" {
		t.Errorf("polled: %+v", p)
	}
	if records[1].Seq != event.NoSeq || records[1].Args != nil {
		t.Errorf("polled without a report: %+v", records[1])
	}
	if f := records[2]; f.Seq != 7 || f.DeltaToken != trace.Digest("deltaToken", "SECRET") || f.Cursor != "" {
		t.Errorf("refreshed: %+v", f)
	}
	if c := records[3]; c.Status != "recovering" || c.Reason != "cursor-expired" || c.Detail != "410" {
		t.Errorf("recovering: %+v", c)
	}
}
