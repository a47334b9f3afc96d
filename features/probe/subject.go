package probe

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/conform-dev/conform/core/subject"
	"github.com/conform-dev/conform/core/subject/start"
	"github.com/conform-dev/conform/simulator/fleet"
)

// persons are the people of a subject file by their names in scenarios.
var persons = map[string]string{"viewer": Viewer, "another-viewer": Other, "stranger": Stranger, "holder": Holder}

// hookVerbs are the hooks of a subject file by their names in scenarios.
var hookVerbs = map[Verb]string{Publish: "publish", Trim: "trim", Restart: "restart", ShutDown: "shutdown", Lose: "lose", Arm: "arm", Disarm: "disarm"}

// Of makes a target of a server that runs, as its file says. It lives as long as running; Close of the target ends nothing.
func Of(s *subject.Subject, running *start.Running) (*Target, error) {
	u, err := url.Parse(running.Base())
	if err != nil {
		return nil, err
	}
	t := &Target{Wire: s.Wire, Base: u.String(), Client: running.Client(), People: map[string]Person{},
		Events: s.Endpoint("events"), Wake: s.Endpoint("wake"), Poll: s.Endpoint("poll"), Tool: s.Endpoint("tool"),
		Limits: Limits{Attempts: s.Limits.Attempts, AttemptWindow: s.Limits.AttemptWindow, ViewerStreams: s.Limits.ViewerStreams, Streams: s.Limits.Streams,
			WakeRequests: s.Limits.WakeRequests, WakeWindow: s.Limits.WakeWindow, WakeBody: s.Limits.WakeBody, Heartbeat: s.Limits.Heartbeat},
		Can: Able(s)}
	t.Limits.History = s.Limits.History
	_, t.Trims = s.Hooks["trim"]
	if s.Wire != fleet.Wire {
		t.Events = s.Endpoint("stream") + s.Endpoint("collection") // a wire has one of them
		t.serial = int(time.Now().UnixMilli()) * 1000              // what an earlier run left in a history is told from this one's
		if m := s.Mapping; m != nil {
			t.Feed = &Feed{Type: m.Type, ID: m.ID, Serial: m.Serial, Header: m.Resume.Header, Query: m.Resume.Query, Expired: m.Resume.Expired}
		}
	}
	down := false
	t.Close = func() error { // a server that was shut down comes back for the next scenario
		if !down {
			return nil
		}
		down = false
		return running.Do(context.Background(), hookVerbs[Restart], nil)
	}
	t.Headers = func() (map[string]string, error) {
		out := map[string]string{}
		for name, v := range s.Headers {
			text, err := v.Resolve(s.Dir, os.LookupEnv)
			if err != nil {
				return nil, fmt.Errorf("%s: headers.%s: %w", s.File, name, err)
			}
			out[name] = text
		}
		return out, nil
	}
	for name, p := range s.People {
		t.People[persons[name]] = person(s, p)
	}
	for i, p := range s.Visitors {
		t.People[Visitor+" "+strconv.Itoa(i+1)] = person(s, p)
	}
	t.Secrets = func() []string {
		secrets, err := s.Secrets(os.LookupEnv)
		if err != nil {
			return nil // each use says what is wrong with it
		}
		return secrets
	}
	t.Do = func(ctx context.Context, verb Verb, whom string, n int) error {
		values := map[string]string{"login": t.People[whom].Login, "keep": strconv.Itoa(n)}
		down = verb == ShutDown || down && verb != Restart
		times := 1
		if verb == Publish {
			times = n
		}
		for range times {
			if verb == Publish {
				t.serial++
			}
			values["serial"] = strconv.Itoa(t.serial)
			if err := running.Do(ctx, hookVerbs[verb], values); err != nil {
				return err
			}
		}
		return nil
	}
	return t, nil
}

func person(s *subject.Subject, p subject.Person) Person {
	of := func(v *subject.Value) func() (string, error) {
		if v == nil {
			return nil
		}
		return func() (string, error) {
			text, err := v.Resolve(s.Dir, os.LookupEnv)
			if err != nil {
				return "", fmt.Errorf("%s: %w", s.File, err)
			}
			return text, nil
		}
	}
	return Person{Login: p.Login, Subscription: p.Subscription, Admission: of(p.Bearer), Plane: of(p.Plane), Key: of(p.Key)}
}

// Able are the capabilities that a subject file gives the means for: what rows may require.
func Able(s *subject.Subject) []string {
	viewer, l, m := s.People["viewer"], s.Limits, cmp.Or(s.Mapping, &subject.Mapping{})
	has := func(name string) bool { _, ok := s.People[name]; return ok }
	hook := func(name string) bool { _, ok := s.Hooks[name]; return ok }
	room := len(s.Visitors) * l.ViewerStreams
	var out []string
	for _, c := range []struct {
		word  string
		there bool
	}{
		{"viewer", viewer.Bearer != nil},
		{"another-viewer", s.People["another-viewer"].Bearer != nil}, {"stranger", has("stranger")}, {"holder", has("holder")},
		{"limits", l.Attempts > 0 && l.AttemptWindow > 0 && l.ViewerStreams > 0 && l.Streams > 0 && l.WakeRequests > 0 && l.WakeWindow > 0 && l.WakeBody > 0},
		{"visitors", l.Streams > 0 && room >= l.Streams}, {"heartbeat", l.Heartbeat > 0}, {"plane", viewer.Plane != nil},
		{"other-plane", s.People["another-viewer"].Plane != nil}, {"signing", viewer.Key != nil && viewer.Subscription != "" && viewer.Login != ""},
		{"other-signing", s.People["another-viewer"].Key != nil},
		{"poll", s.Endpoint("poll") != "" && viewer.Plane != nil && viewer.Subscription != ""},
		{"tool", s.Endpoint("tool") != "" && viewer.Plane != nil && viewer.Subscription != ""},
		{"publish", hook("publish")}, {"restart", hook("restart")}, {"shutdown", hook("shutdown") && hook("restart")}, {"lose", hook("lose")},
		{"arm", hook("arm") && hook("disarm")},
		{"serial", m.Serial != ""}, {"replay", m.Resume.Header != "" || m.Resume.Query != ""},
		{"expiry", (hook("trim") || l.History > 0) && len(m.Resume.Expired) > 0},
	} {
		if c.there {
			out = append(out, c.word)
		}
	}
	return out
}

// Timeout is how long one scenario may take at s: the longest wait is for a window to be over, twice.
func Timeout(s *subject.Subject) time.Duration {
	return 2*max(s.Limits.AttemptWindow, s.Limits.WakeWindow) + 3*s.Limits.Heartbeat + time.Minute
}

// Claimed are the profiles that a subject claims, nil for all that it can.
func Claimed(s *subject.Subject) []string {
	var out []string
	for _, c := range s.Claims {
		out = append(out, strings.ReplaceAll(s.Wire, "fleetwake", "fleet")+"-"+c)
	}
	return out
}
