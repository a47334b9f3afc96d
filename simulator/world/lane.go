package world

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/plugins/fleetwake"
	"github.com/conform-dev/conform/simulator"
	"github.com/conform-dev/conform/simulator/fleet"
)

// Lane is what a scenario says about the wake lane. Zero values mean the defaults.
type Lane struct {
	Arming     string `json:"arming,omitempty"`     // when the viewer is armed: boot, later
	Bearer     string `json:"bearer,omitempty"`     // which credential the relay shows: one of Bearers; empty is its own
	PollBearer string `json:"pollBearer,omitempty"` // none, or empty for the viewer's own
	RetryAfter bool   `json:"retryAfter,omitempty"` // a 429 says when to come again
	Attempts   int    `json:"attempts,omitempty"`   // connects that one viewer may make in one window
	// Leaves are what the relay's own configuration declares, by leaf: one of Secrets, in a leaf of a file what the file holds. With any of
	// them the relay shows what the credential chain comes to, in the place of Bearer; process lane.
	Leaves map[string]string `json:"leaves,omitempty"`
}

// Secrets are the words for what a leaf holds.
var Secrets = []string{"own", "own with line ends", "plane", "bootstrap", "nothing", "a missing file", "a folder"}

// Secret is the value that a word stands for; ok is false for those that are about a file.
func Secret(word string) (value string, ok bool) {
	value, ok = map[string]string{"own": classToken(0), "own with line ends": " " + classToken(0) + "\r\n\n", "plane": planeToken,
		"bootstrap": Canary + "-bootstrap", "nothing": " \n"}[word]
	return value, ok
}

func (l *Lane) said() bool {
	return l.Arming != "" || l.Bearer != "" || l.PollBearer != "" || l.RetryAfter || l.Attempts != 0 || len(l.Leaves) > 0
}

// Bearers are what a relay may show in the place of its own credential.
var Bearers = []string{"plane", "unknown", "possession"}

// Who is known to the lane's server.
const (
	Viewer       = "@viewer"
	Other        = "@other"
	Subscription = "WAKE_SUB:relay"
)

// planeToken is the secret of class 3, of the poll; classToken one of class 1.
const planeToken = Canary + "-plane"

func classToken(renewals int) string {
	return strings.TrimPrefix(CredentialAfter(renewals).Value.Reveal(), "Bearer ")
}

// Plane is the server's side of a lane's set-up. The signing keys are the same in every run: nobody outside sees them.
func (s *Setup) Plane() fleet.Options {
	l := &s.Lane
	o := fleet.Options{
		Viewers: []fleet.Viewer{
			{ProviderUsername: "viewer", UserID: "1", Provider: "forge", ProviderUserID: "1", Subscription: Subscription,
				Admission: []string{classToken(0), classToken(1)}, Plane: []string{planeToken}},
			{ProviderUsername: "other", UserID: "2", Provider: "forge", ProviderUserID: "2", Plane: []string{Canary + "-other"}},
			{ProviderUsername: "bare", Admission: []string{Canary + "-possession"}},
		},
		Service: Viewer, SelfBase: origin, Arming: l.Arming, Seed: [32]byte{1}, Hosts: []string{originHost, "127.0.0.1"},
		Retry: ms(s.RetryHint), RetryAfter: l.RetryAfter, Attempts: l.Attempts,
	}
	if s.Heartbeat > 0 {
		o.Heartbeat = ms(s.Heartbeat)
	}
	return o
}

// Credential is what the lane's client shows when its credential was renewed so often.
func (s *Setup) Credential(renewals int) transport.Credential {
	c := CredentialAfter(renewals)
	switch s.Lane.Bearer {
	case "plane":
		c.Value = "Bearer " + planeToken
	case "unknown":
		c.Value = "Bearer " + Canary + "-unknown"
	case "possession":
		c.Value = "Bearer " + Canary + "-possession"
	}
	return c
}

// Headers are the client's extra headers: on a lane the credential of its poll.
func (s *Setup) Headers() []transport.ExtraHeader {
	if s.Wire != fleet.Wire || s.Lane.PollBearer == "none" {
		return nil
	}
	return []transport.ExtraHeader{{Name: transport.PollCredential, Value: "Bearer " + planeToken}}
}

// Options are the transport's options as the client is given them. A poll that is posted goes to pollURL, unless the scenario says where.
func (s *Setup) Options(pollURL string) map[string]string {
	o := s.Client.Options
	if s.Wire != fleet.Wire || o[fleetwake.OptionPoll] != fleetwake.PollURL || o[fleetwake.OptionPollURL] != "" {
		return o
	}
	o = maps.Clone(o)
	o[fleetwake.OptionPollURL] = pollURL
	return o
}

// The verbs of a lane. N and Text are said per verb.
const (
	Mail      Verb = "mail"       // N messages for the viewer are logged, and the digest is posted
	MailOther Verb = "mail-other" // the same for somebody else
	Arm       Verb = "arm"        // the viewer
	Disarm    Verb = "disarm"     // the viewer
	EndStream Verb = "end-stream" // Text: eof, cut, reset
	Silence   Verb = "silence"    // the server writes nothing any more
	Speak     Verb = "speak"      // and does so again
	Write     Verb = "write"      // Text goes into the stream as it is
	FailPoll  Verb = "fail-poll"  // the next N polls
	Reboot    Verb = "reboot"     // the server ends and starts again: its windows and routes are gone
	LoseLog   Verb = "lose-log"   // the plane's log is empty and goes on behind N
	Revoke    Verb = "revoke"     // the viewer's credential of class N
	HoldPolls Verb = "hold-polls" // polls are not answered any more; virtual lane
)

// errNoLane is the error of a lane's verb at a feed, and the other way round.
var errNoLane = errors.New("this server does not do that")

// OnPlane does a at m.
func (a Action) OnPlane(m *fleet.Server, now simulator.Now) error {
	switch a.Verb {
	case Mail, MailOther:
		to := Viewer
		if a.Verb == MailOther {
			to = Other
		}
		if a.N < 1 || a.N > fleet.MaxPublish {
			return fmt.Errorf("%d messages are not in 1 to %d", a.N, fleet.MaxPublish)
		}
		_, err := m.Publish(now, to, make([]fleet.Event, a.N))
		return err
	case Arm:
		_, _, err := m.Arm(now, Viewer, fleet.ArmWell)
		return err
	case Disarm:
		m.Disarm(now, Viewer)
	case EndStream:
		_, err := m.Cut(now, "", simulator.CloseKind(a.Text))
		return err
	case Silence, Speak:
		m.Silence(now, "", a.Verb == Silence)
	case Write:
		return m.Raw(now, "", []byte(a.Text))
	case FailPoll:
		return m.Fail(now, fleet.FailPoll, int(a.N))
	case Reboot:
		return m.Restart(now, simulator.Cut)
	case LoseLog:
		return m.ResetLog(now, a.N)
	case Revoke:
		return m.Revoke(now, 0, int(a.N))
	default:
		return errNoLane
	}
	return nil
}
