package fleetwake

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/conform-dev/conform/core/host"
	"github.com/conform-dev/conform/core/plugin"
	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/internal/need"
)

// TestMain makes the test binary its own plugin.
func TestMain(m *testing.M) {
	if !plugin.ServeArgs(os.Args[1:], map[string]func() transport.Transport{"fleetwake": New}) {
		os.Exit(m.Run())
	}
}

const (
	canaryOne   = "s3cr3t-canary-one"
	canaryThree = "s3cr3t-canary-three"
)

func secretAttempt(base string, options ...string) transport.Attempt {
	a := attemptAt(base, options...)
	a.Credential.Value = "Bearer " + canaryOne
	a.Headers[0].Value = "Bearer " + canaryThree
	return a
}

// Both credentials reach their server and nobody else: a server that echoes them wherever it can does not get them into a signal or an
// error.
func TestSecretsStayOnTheWire(t *testing.T) {
	const echo = canaryOne + canaryThree
	head := func(status int, header ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for i := 0; i+1 < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(status)
			io.WriteString(w, echo)
		}
	}
	body := func(s string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, s)
		}
	}
	for name, h := range map[string]http.HandlerFunc{
		"content type": head(200, "Content-Type", "x/"+echo),
		"coding":       head(200, "Content-Encoding", echo),
		"location":     head(301, "Location", "http://x/"+echo),
		"retry after":  head(503, "Retry-After", echo),
		"refusal":      head(401, "Www-Authenticate", echo),
		"comment":      body(":" + echo + "\n\n"),
		"other frame":  body("event: " + echo + "\ndata: " + echo + "\n\n"),
		"state":        body("event: state\ndata: " + echo + "\n\n"),
		"state member": body(strings.Replace(state, "true", `"`+echo+`"`, 1)),
		"wake":         body("event: wake\ndata: " + echo + "\n\n"),
		"version":      body(strings.Replace(wake7, `"1.0"`, `"`+echo+`"`, 1)),
		"event type":   body(strings.Replace(wake7, `"wake/digest"`, `"`+echo+`"`, 1)),
		"foreign":      body(state + strings.ReplaceAll(wake7, "WAKE_SUB:relay", echo)),
		"unfinished":   body("event: wake\ndata: " + echo),
		"cut":          func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlane(t, answering(echo))
			p.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				all := fmt.Sprint(r.Header)
				if stream := r.URL.Path == EventsPath; strings.Contains(all, canaryOne) != stream || strings.Contains(all, canaryThree) == stream {
					t.Errorf("%s got the wrong credentials", r.URL.Path)
				}
				if r.URL.Path != EventsPath {
					answering(echo)(w, r)
					return
				}
				h(w, r)
			})
			a := secretAttempt(p.URL, OptionPoll, PollURL, OptionPollURL, p.URL+"/poll")
			told, to := "", &sight{}
			err := New().Open(context.Background(), a, to)
			told = to.all + fmt.Sprint(err)
			if strings.Contains(told, "s3cr3t") || to.all == "" {
				t.Errorf("told:\n%s", told)
			}
			if all := fmt.Sprintf("%v %+v %#v", a.Credential, a.Headers, a); strings.Contains(all, canaryThree) || strings.Contains(all, canaryOne) {
				t.Errorf("printed: %s", all)
			}
		})
	}
}

// sight is a sink that prints all it is told, in every way.
type sight struct{ all string }

func (s *sight) Document(transport.Document) error { return nil }

func (s *sight) Signal(sig transport.Signal) error {
	s.all += render(transport.Output{Signal: &sig}) + fmt.Sprintf(" %+v %#v", sig, sig)
	if sig.Wake != nil && sig.Wake.Dropped != "" {
		s.all += fmt.Sprintf(" %+v", *sig.Wake)
	}
	s.all += "\n"
	return nil
}

// The credentials of a plugin process come over its wire: neither its arguments nor its environment holds them, and nothing that it
// printed.
func TestSecretsOfAPluginProcess(t *testing.T) {
	_, err := os.Stat("/proc/self/environ")
	need.Or(t, "procfs", err)
	t.Setenv("CONFORM_FLEET_PLANE_ADMISSION_BEARER", canaryOne)
	t.Setenv("CONFORM_FLEET_PLANE_BEARER", canaryThree)
	command, err := host.Self("fleetwake")
	if err != nil {
		t.Fatal(err)
	}
	command.OnEvent = func(e host.Event) {
		if all := fmt.Sprintf("%+v", e); strings.Contains(all, "s3cr3t") {
			t.Errorf("event: %s", all)
		}
	}
	p, err := host.Start(t.Context(), command)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	caught := make(chan struct{})
	plane := newPlane(t, answering(`{"pending":4,"watermark":30}`), state, caught, wake7)
	pid := p.PID()
	to := &log{hook: func(line string) error {
		if !strings.HasPrefix(line, "caught-up") {
			return nil
		}
		for _, file := range []string{"cmdline", "environ"} {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
			if err != nil || len(text) == 0 || strings.Contains(string(text), "s3cr3t") {
				t.Errorf("%s of the plugin: %v, %q", file, err, text)
			}
		}
		close(caught)
		return nil
	}}
	a := secretAttempt(plane.URL, OptionPoll, PollURL, OptionPollURL, plane.URL+"/fleet/poll-digest")
	a.Query.SourceID = "fleet"
	ctx, cancel := context.WithTimeout(t.Context(), guard)
	defer cancel()
	if err := p.Open(ctx, a, to); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(to.lines, "caught-up done pending=4 mark=30") || !slices.Contains(to.lines, "woken id=WAKE_SUB:relay event=EVT:1 log=7 envelope=204") {
		t.Errorf("got %q", to.lines)
	}
	plane.Close()
	for i, want := range []string{canaryOne, canaryThree} {
		if got := plane.seen[i].Header.Values("Authorization"); len(got) != 1 || got[0] != "Bearer "+want {
			t.Errorf("request %d: %d credentials, or the wrong one", i+1, len(got))
		}
	}
}
