package drive_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/conform-dev/conform/core/drive"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
	"github.com/conform-dev/conform/core/session"
	"github.com/conform-dev/conform/core/transport"
)

// follow makes a session that holds position 5 and is connected.
func follow(t *testing.T) *session.Session {
	t.Helper()
	g, err := gate.New(gate.Config{Saves: true}, gate.Start{Held: &gate.Held{Pos: event.Position{Seq: 5, Cursor: "c5"}}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := session.New(g, session.Policy{
		Jitter: func(int) int { return 0 }, Resume: session.ByCursor, Vouch: session.VouchFrame, SourceVersion: "v1",
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Open(session.Now{})
	s.Take()
	return s
}

// TestSignals: what each signal means to a session (D-31 to D-34, D-41, D-43).
func TestSignals(t *testing.T) {
	for _, c := range []struct {
		name string
		sig  transport.Signal
		want string
	}{
		{"open", transport.Signal{Kind: transport.Open}, "up"},
		{"heartbeat opens as well", transport.Signal{Kind: transport.Heartbeat}, "up"},
		{"answered, resumed", transport.Signal{Kind: transport.Answered, Answer: transport.Answer{Head: event.NoSeq, Resumed: transport.Yes}}, "up"},
		{"answered, not resumed", transport.Signal{Kind: transport.Answered, Answer: transport.Answer{Head: event.NoSeq, Resumed: transport.No}},
			"waiting 250ms resume-unsupported resume-refused hangup"},
		{"answered, why not", transport.Signal{Kind: transport.Answered, Answer: transport.Answer{Head: event.NoSeq, Resumed: transport.No, Rejected: "cursor-expired"}},
			"waiting 250ms resume-unsupported cursor-expired hangup forget"},
		{"answered, unknown why", transport.Signal{Kind: transport.Answered, Answer: transport.Answer{Head: event.NoSeq, Resumed: transport.No, Rejected: "because"}},
			"waiting 250ms resume-unsupported resume-refused hangup"},
		{"answered, other epoch", transport.Signal{Kind: transport.Answered, Answer: transport.Answer{StreamEpoch: "v2", Head: event.NoSeq, Resumed: transport.Yes}},
			"waiting 250ms source-version-changed stream-epoch hangup"},
		{"answered, head behind", transport.Signal{Kind: transport.Answered, Answer: transport.Answer{Head: 4, Resumed: transport.Yes}},
			"waiting 250ms transport-gap head-behind-position hangup"},
		{"mark", transport.Signal{Kind: transport.Mark, Cursor: "c6"}, "up"},
		{"mark cleared", transport.Signal{Kind: transport.Mark}, "up forget"},
		{"retry", transport.Signal{Kind: transport.Retry, RetryAfter: time.Second}, "up"},
		{"expired", transport.Signal{Kind: transport.Expired, Reason: event.CursorExpired}, "waiting 250ms cursor-expired forget"},
		{"gap", transport.Signal{Kind: transport.Gap, Reason: event.TransportGap, Detail: "gap-notice"}, "waiting 250ms transport-gap gap-notice"},
		{"gap with a delay", transport.Signal{Kind: transport.Gap, Reason: event.ResumeUnsupported, RetryAfter: 5 * time.Second}, "waiting 5s resume-unsupported"},
		{"gap, no reason for one", transport.Signal{Kind: transport.Gap, Reason: event.InvalidEvent}, "waiting 250ms transport-gap"},
		{"oversize", transport.Signal{Kind: transport.Gap, Reason: event.TransportGap, Detail: "frame-too-large: limit 10, event at byte 7"},
			"waiting 250ms transport-gap frame-too-large: limit 10, event at byte 7 forget"},
		{"lost", transport.Signal{Kind: transport.Ended, Cause: transport.ConnectionLost}, "waiting 250ms"},
		{"ended, no cause", transport.Signal{Kind: transport.Ended}, "waiting 250ms"},
		{"throttled", transport.Signal{Kind: transport.Ended, Cause: transport.Throttled, Status: 429, RetryAfter: 7 * time.Second}, "waiting 7s"},
		{"throttled, called refused", transport.Signal{Kind: transport.Refused, Cause: transport.Throttled, Status: 503, RetryAfter: 7 * time.Second}, "waiting 7s"},
		{"server stop", transport.Signal{Kind: transport.Ended, Cause: transport.ServerStop, Status: 204}, "over server-stop 204"},
		{"401", transport.Signal{Kind: transport.Refused, Cause: transport.Unauthorized, Status: 401}, "waiting 250ms renew"},
		{"403", transport.Signal{Kind: transport.Refused, Cause: transport.Unauthorized, Status: 403}, "over refused 403"},
		{"authorization ended", transport.Signal{Kind: transport.Refused, Cause: transport.Unauthorized}, "over refused"},
		{"404", transport.Signal{Kind: transport.Refused, Cause: transport.Rejected, Status: 404}, "over refused 404"},
		{"refused, no cause", transport.Signal{Kind: transport.Refused}, "over refused"},
		{"media type", transport.Signal{Kind: transport.Refused, Cause: transport.BadMediaType, Status: 200}, "over bad-media-type 200"},
		{"redirect", transport.Signal{Kind: transport.Refused, Cause: transport.BadRedirect, Status: 307}, "over bad-redirect 307"},
		{"protocol error", transport.Signal{Kind: transport.Refused, Cause: transport.ProtocolError}, "over protocol-error"},
		{"violation found here", transport.Signal{Kind: transport.Ended, Cause: transport.ProtocolError, Detail: "protocol-violation: masked-server-frame, frame 3"}, "waiting 250ms"},
		{"violation reported by the server", transport.Signal{Kind: transport.Refused, Cause: transport.ProtocolError, Detail: "closed with 1002"}, "over protocol-error"},
		{"message too large, first time", transport.Signal{Kind: transport.Gap, Reason: event.TransportGap, Detail: "message-too-large: the server closed with 1009"}, "waiting 250ms"},
		{"crash", transport.Signal{Kind: transport.Ended, Cause: transport.PluginCrashed}, "waiting 250ms"},
		{"too many crashes", transport.Signal{Kind: transport.Refused, Cause: transport.PluginCrashed}, "over plugin-crashed"},
		{"a poll is a sign of life", transport.Signal{Kind: transport.Polled, Poll: &transport.PollReport{Seq: 5}}, "up"},
		{"a recovery of a polling transport", transport.Signal{Kind: transport.Recovering, Reason: event.CursorExpired}, "over protocol-error"},
		{"a refresh of a polling transport", transport.Signal{Kind: transport.Refreshed, Position: event.Position{Seq: 5}}, "over protocol-error"},
		{"a signal of the future", transport.Signal{Kind: 99}, "over protocol-error"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := follow(t)
			drive.Signal(s, 1, session.Now{}, c.sig)
			if got := outcome(s); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func outcome(s *session.Session) string {
	d, ob := s.Take(), s.Observe(session.Now{})
	words := []string{ob.Link.String()}
	if ob.Link == session.LinkWaiting {
		words = append(words, ob.RetryAt.String())
	}
	if st := s.State(); st.Phase == gate.ResnapshotRequired {
		words = append(words, st.Reason.String(), st.Detail)
	}
	if d.End != nil {
		words = append(words, d.End.Cause.String())
		if d.End.Status != 0 {
			words = append(words, fmt.Sprint(d.End.Status))
		}
	}
	if d.Hangup != 0 {
		words = append(words, "hangup")
	}
	if d.Forget {
		words = append(words, "forget")
	}
	if ob.Link == session.LinkWaiting {
		s.Wake(session.Now{Mono: ob.RetryAt})
		if c := s.Take().Connect; c != nil && c.Renew {
			words = append(words, "renew")
		}
	}
	return strings.Join(strings.Fields(strings.Join(words, " ")), " ")
}

// TestDocument: a document is captured and offered; one that names no type ends the connection (D-44).
func TestDocument(t *testing.T) {
	s := follow(t)
	drive.Signal(s, 1, session.Now{}, transport.Signal{Kind: transport.Answered, Answer: transport.Answer{Head: event.NoSeq, Resumed: transport.Yes}})
	var ev event.Event
	drive.Document(s, 1, session.Now{}, transport.Document{JSON: []byte(`{"type":"delta","sequence":6}`), Cursor: "c6"}, &ev)
	if d := s.Take(); d.Apply == nil || d.Apply.Pos.Seq != 6 || d.Apply.Pos.Cursor != "c6" {
		t.Fatalf("apply %+v", d.Apply)
	}
	drive.Document(s, 1, session.Now{}, transport.Document{JSON: []byte(`{"sequence":7`)}, &ev)
	if got := outcome(s); !strings.HasPrefix(got, "waiting 250ms transport-gap undecodable-payload: document: ") || !strings.HasSuffix(got, "hangup forget") {
		t.Errorf("got %s", got)
	}
}
