package subject

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// cases reads testdata/faults.txt.
func faultCases(t testing.TB) (names, files, says []string) {
	t.Helper()
	data, err := os.ReadFile("testdata/faults.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range strings.Split(string(data), "\n\n== ")[1:] {
		name, rest, _ := strings.Cut(block, "\n")
		file, said, ok := strings.Cut("\n"+rest, "\n== says\n")
		if !ok {
			t.Fatalf("case %s says nothing", name)
		}
		names, files, says = append(names, name), append(files, strings.TrimPrefix(file+"\n", "\n")), append(says, strings.TrimSpace(said))
	}
	return names, files, says
}

// TestFaults: what is wrong is said with its place, in one line, and without a byte of what may be a secret.
func TestFaults(t *testing.T) {
	names, files, says := faultCases(t)
	if len(names) < 25 {
		t.Fatalf("%d cases", len(names))
	}
	for i := range names {
		t.Run(names[i], func(t *testing.T) {
			_, err := Parse("x.yaml", []byte(files[i]))
			if err == nil {
				t.Fatal("it was taken")
			}
			var place *Error
			if !errors.As(err, &place) || !strings.HasPrefix(err.Error(), says[i]) {
				t.Errorf("said %q\nwant %q", err, says[i])
			}
			if strings.ContainsAny(err.Error(), "\n") || strings.Contains(err.Error(), "CANARY") {
				t.Errorf("%q is more than one line, or shows a secret", err)
			}
		})
	}
}

// TestNew: what is written for each wire is read again, and every key of the format that is not needed stands in a comment.
func TestNew(t *testing.T) {
	for _, wire := range Wires {
		text, err := New(wire)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Parse(wire, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if s.Wire != wire {
			t.Errorf("%s: wire %s", wire, s.Wire)
		}
		for _, key := range []string{"exec:", "ready:", "endpoints:", "credentials:", "claims:", "hooks:"} {
			if !strings.Contains(text, key) {
				t.Errorf("%s: nothing about %s", wire, key)
			}
		}
	}
	if _, err := New("telegraph"); err == nil {
		t.Error("a file for no wire")
	}
}

func TestParse(t *testing.T) {
	s, err := Parse("dir/x.yaml", []byte(`
subject: full
wire: fleetwake
exec: {command: [./s, "--listen={port}"], env: {A: "{dir}"}}
ready: {log: "listening on .*", within: 3s}
endpoints: {poll: /p}
headers: {X-Env: test, X-Token: {env: T}}
tls: {ca: ca.pem}
credentials:
  viewer: {login: "@v", subscription: W, bearer: {env: B}, plane: {file: p}, key: {file: k}}
  visitors: [{bearer: {file: v1}}, {bearer: {file: v2}}]
claims: [caps, polls]
limits: {attempts: 3, attemptWindow: 2s, viewerStreams: 2, streams: 4, wakeRequests: 5, wakeWindow: 3s, wakeBody: 1000, heartbeat: 25s, history: 16}
hooks:
  publish: {http: {method: PUT, url: "/p/{serial}", headers: {Authorization: {env: H}}, body: '{"n": {serial}}', status: [201, 204]}, within: 1s}
  restart: {command: [systemctl, restart, s]}
mapping: {format: json, order: none, type: /t, sequence: /s, id: id, serial: /n, resume: {header: Last-Event-ID, vouched: always, expired: "status:410"}}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := &Subject{Name: "full", Wire: "fleetwake", File: "dir/x.yaml", Dir: "dir",
		Server:    Server{Exec: &Exec{Command: []string{"./s", "--listen={port}"}, Env: map[string]string{"A": "{dir}"}}},
		Ready:     Ready{Log: "listening on .*", Status: 200, Within: 3 * time.Second},
		Endpoints: map[string]string{"poll": "/p"}, Headers: map[string]Value{"X-Env": {Text: "test"}, "X-Token": {Env: "T"}}, CA: "ca.pem",
		People:   map[string]Person{"viewer": {Login: "@v", Subscription: "W", Bearer: &Value{Env: "B"}, Plane: &Value{File: "p"}, Key: &Value{File: "k"}}},
		Visitors: []Person{{Bearer: &Value{File: "v1"}}, {Bearer: &Value{File: "v2"}}}, Claims: []string{"caps", "polls"},
		Limits: Limits{3, 2 * time.Second, 2, 4, 5, 3 * time.Second, 1000, 25 * time.Second, 16},
		Hooks: map[string]Hook{"publish": {HTTP: &HTTP{Method: "PUT", URL: "/p/{serial}", Headers: map[string]Value{"Authorization": {Env: "H"}}, Body: `{"n": {serial}}`,
			Status: []int{201, 204}}, Within: time.Second}, "restart": {Command: []string{"systemctl", "restart", "s"}, Within: DefaultWithin}},
		Mapping: &Mapping{Format: "json", Order: "none", Type: "/t", Sequence: "/s", ID: "id", Serial: "/n", Resume: Resume{Header: "Last-Event-ID", Vouched: "always", Expired: []string{"status:410"}}}}
	if d := cmp.Diff(want, s); d != "" {
		t.Error(d)
	}
	if got := s.Endpoint("events"); got != "/fleet/events" {
		t.Errorf("the default of an endpoint is %q", got)
	}
	if got := Fill("/p/{serial}?{other}", map[string]string{"serial": "7"}); got != "/p/7?{other}" {
		t.Errorf("filled: %q", got)
	}
}

// TestLimits: each bound of the file is hit.
func TestLimits(t *testing.T) {
	head := "subject: a\nwire: sse\nurl: http://127.0.0.1:1\n"
	for name, text := range map[string]string{
		"longer than 262144 bytes": strings.Repeat("#", MaxFile+1),
		"longer than 4096 bytes":   "subject: " + strings.Repeat("x", MaxText+1),
		"more than 256 entries":    head + "claims: [" + strings.Repeat("framing,", MaxList) + "framing]",
		"more than 256 members":    head + "headers: {" + strings.Join(numbered(MaxList+1), ",") + "}",
	} {
		if _, err := Parse("x", []byte(text)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Parse("x", []byte(head+"headers: {"+strings.Join(numbered(MaxList), ",")+"}")); err != nil {
		t.Errorf("as many as there may be: %v", err)
	}
}

func numbered(n int) []string {
	var out []string
	for i := range n {
		out = append(out, "h"+strings.Repeat("x", i)+": y")
	}
	return out
}

// TestResolve: a secret comes from its place, without the line ends around it; what is wrong with the place is said, never what stands there.
func TestResolve(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"good": "CANARY\r\n", "empty": "\n", "long": "CANARY" + strings.Repeat("x", MaxSecret)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := func(name string) (string, bool) { return "CANARY", name == "SET" }
	for _, v := range []Value{{Env: "SET"}, {File: "good"}, {File: filepath.Join(dir, "good")}, {Text: "CANARY"}} {
		if got, err := v.Resolve(dir, env); got != "CANARY" || err != nil {
			t.Errorf("%+v: %q %v", v, got, err)
		}
	}
	for v, want := range map[Value]string{{Env: "UNSET"}: "the variable UNSET is not set", {File: "empty"}: "the file empty is empty",
		{File: "long"}: "the file long is longer than 65536 bytes", {File: "none"}: "the file none cannot be read"} {
		if _, err := v.Resolve(dir, env); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "CANARY") {
			t.Errorf("%+v: %v, want %s", v, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	_, files, _ := faultCases(f)
	for _, text := range files {
		f.Add([]byte(text))
	}
	for _, wire := range Wires {
		text, err := New(wire)
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse("x.yaml", data)
		if (s == nil) == (err == nil) {
			t.Fatalf("%v and %v", s, err)
		}
		if err != nil {
			var place *Error
			if !errors.As(err, &place) || place.Line < 1 || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q has no place, or more than one line", err)
			}
			return
		}
		_ = s.Explain()
	})
}
