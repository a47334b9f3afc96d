package start

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/conform-dev/conform/core/subject"
)

const secret = "CANARY-of-the-subject"

// TestMain lets the test binary be the server under test, and a child of it.
func TestMain(m *testing.M) {
	switch os.Getenv("SUBJECT_ROLE") {
	case "server":
		serve()
	case "broken":
		fmt.Println("cannot start with", secret)
		os.Exit(3)
	case "silent":
		time.Sleep(time.Hour)
	}
	os.Exit(m.Run())
}

// serve answers at the port that stands in its last argument, and starts a child that would outlive it.
func serve() {
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), "SUBJECT_ROLE=silent")
	if err := child.Start(); err != nil {
		os.Exit(4)
	}
	http.HandleFunc("/pid", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, os.Getpid(), " ", child.Process.Pid) })
	http.HandleFunc("/ready", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	fmt.Println("listening soon")
	_ = http.ListenAndServe("127.0.0.1:"+os.Args[len(os.Args)-1], nil)
	os.Exit(5)
}

// started is a subject that runs this binary.
func started(t *testing.T, role string, ready subject.Ready) *subject.Subject {
	t.Helper()
	if ready.Within == 0 {
		ready.Within = 10 * time.Second
	}
	return &subject.Subject{Name: "s", Wire: "sse", File: "s.yaml", Dir: t.TempDir(), Ready: ready,
		Server: subject.Server{Exec: &subject.Exec{Command: []string{os.Args[0], "{port}"}, Env: map[string]string{"SUBJECT_ROLE": role}}}}
}

// TestExec: a server is started on a free port, is ready when it answers as the file says, and is gone afterwards with what it started.
func TestExec(t *testing.T) {
	r, err := Start(t.Context(), started(t, "server", subject.Ready{Path: "/ready", Status: 204}))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.Get(r.Base() + "/pid")
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(response.Body)
	response.Body.Close()
	var pids [2]int
	if _, err := fmt.Sscan(string(text), &pids[0], &pids[1]); err != nil {
		t.Fatal(err)
	}
	dir := r.process.dir
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("process %d is still there", pid)
		}
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its folder is still there: %v", err)
	}
}

// alive says whether a process is there and no zombie.
func alive(pid int) bool {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

func TestReadyByLog(t *testing.T) {
	r, err := Start(t.Context(), started(t, "server", subject.Ready{Log: "^listening"}))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestNotReady: what does not come up is named, in one line, with the end of what it printed and without a secret.
func TestNotReady(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		role  string
		ready subject.Ready
		want  string
	}{
		"ends":    {"broken", subject.Ready{Path: "/", Status: 200}, "s ended before it was ready; it printed last: cannot start with SECRET"},
		"silent":  {"silent", subject.Ready{Path: "/", Status: 200, Within: 200 * time.Millisecond}, "s is not ready: no answer at / within 200ms, 200 was wanted"},
		"other":   {"server", subject.Ready{Path: "/pid", Status: 418, Within: 2 * time.Second}, "s is not ready: status 200 at /pid within 2s, 418 was wanted"},
		"no line": {"server", subject.Ready{Log: "never", Within: 500 * time.Millisecond}, `no line that matches "never"`},
	} {
		t.Run(name, func(t *testing.T) {
			s := started(t, c.role, c.ready)
			s.People = map[string]subject.Person{"viewer": {Bearer: &subject.Value{File: key}}}
			_, err := Start(t.Context(), s)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
	s := started(t, "server", subject.Ready{Path: "/", Status: 200})
	s.Server.Exec.Command = []string{"./no-such-program"}
	if _, err := Start(t.Context(), s); err == nil || !strings.Contains(err.Error(), "s.yaml: exec: ") {
		t.Errorf("%v", err)
	}
	s.People = map[string]subject.Person{"viewer": {Bearer: &subject.Value{Env: "CONFORM_TEST_UNSET"}}}
	if _, err := Start(t.Context(), s); err == nil || err.Error() != "s.yaml: credentials.viewer.bearer: the variable CONFORM_TEST_UNSET is not set" {
		t.Errorf("%v", err)
	}
}

// TestHooks: a request and a command with their values, and what is said of one that fails.
func TestHooks(t *testing.T) {
	got := make(chan string, 8)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get("X-Env") != "test" {
			t.Errorf("%s %s came without the file's header", r.Method, r.URL.Path)
		}
		got <- r.Method + " " + r.URL.Path + " " + r.Header.Get("Authorization") + " " + string(body)
		if r.URL.Path == "/no" {
			http.Error(w, "not with "+secret, http.StatusTeapot)
		}
	}))
	defer server.Close()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "key"), []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	header := map[string]subject.Value{"Authorization": {File: "key"}}
	s := &subject.Subject{Name: "s", File: "s.yaml", Dir: dir, Server: subject.Server{URL: server.URL}, Headers: map[string]subject.Value{"X-Env": {Text: "test"}}, Hooks: map[string]subject.Hook{
		"publish":  {HTTP: &subject.HTTP{Method: "PUT", URL: "/p/{serial}", Body: `{"n":{serial},"who":"{login}"}`, Headers: header}, Within: time.Second},
		"trim":     {HTTP: &subject.HTTP{Method: "POST", URL: "/no", Headers: header}, Within: time.Second},
		"arm":      {HTTP: &subject.HTTP{Method: "POST", URL: "/no", Status: []int{418}}, Within: time.Second},
		"pause":    {Command: []string{os.Args[0]}, Within: 300 * time.Millisecond},
		"restart":  {Command: []string{"no-such-program-of-conform"}, Within: time.Second},
		"shutdown": {Container: "kill", Within: time.Second},
	}}
	r, err := Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	do := func(name string) error {
		return r.Do(t.Context(), name, map[string]string{"serial": "7", "login": "@v"})
	}
	if err := do("publish"); err != nil {
		t.Fatal(err)
	}
	if said := <-got; said != `PUT /p/7 `+secret+` {"n":7,"who":"@v"}` {
		t.Errorf("the server got %s", said)
	}
	if err := do("arm"); err != nil {
		t.Errorf("a status that means done: %v", err)
	}
	t.Setenv("SUBJECT_ROLE", "silent")
	for name, want := range map[string]string{
		"trim":     "s.yaml: hooks.trim: POST " + server.URL + "/no was answered with 418: not with SECRET",
		"pause":    "s.yaml: hooks.pause: ",
		"restart":  "s.yaml: hooks.restart: no-such-program-of-conform: ",
		"shutdown": "s.yaml: hooks.shutdown: container kill: the server runs in no container",
		"revoke":   "the subject has no such hook: revoke",
	} {
		if err := do(name); err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	if err := do("revoke"); !errors.Is(err, ErrNoHook) {
		t.Errorf("%v is no ErrNoHook", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Do(ctx, "publish", nil); err == nil {
		t.Error("a hook ran after the end")
	}
}

// TestTail: what a server prints is bounded, and the end is what is kept.
func TestTail(t *testing.T) {
	tl := newTail()
	for i := range 3000 {
		fmt.Fprintf(tl, "line %06d of what it prints\n", i)
	}
	text, _ := tl.look()
	if len(text) > MaxPrinted || !strings.HasSuffix(text, "line 002999 of what it prints\n") {
		t.Errorf("%d bytes, ending in %q", len(text), text[len(text)-40:])
	}
}

// TestTLS: a server behind a certificate of one's own is trusted by the file that the subject names, and by nothing else.
func TestTLS(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	defer server.Close()
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	dir := t.TempDir()
	pemText := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	for name, text := range map[string][]byte{"ca.pem": pemText, "empty.pem": []byte("no certificate")} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for ca, want := range map[string]string{"ca.pem": "", "": "s is not ready: no answer", "empty.pem": "s.yaml: tls.ca: empty.pem holds no certificate", "none.pem": "s.yaml: tls.ca: "} {
		s := &subject.Subject{Name: "s", File: "s.yaml", Dir: dir, CA: ca, Server: subject.Server{URL: server.URL}, Ready: subject.Ready{Path: "/", Status: 204, Within: 300 * time.Millisecond}}
		r, err := Start(t.Context(), s)
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", ca, err, want)
		}
		if r != nil {
			_ = r.Close()
		}
	}
}
