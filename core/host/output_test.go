//go:build linux

package host

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/conform-dev/conform/core/transport"
)

func TestOutputIsKeptBoundedAndRedacted(t *testing.T) {
	leakCheck(t)
	p, _ := startT(t, mustSelf("script"), standard, time.Now)
	s, got := newServer(t), &recorder{some: make(chan struct{}, 16)}
	a := s.attempt(1)
	a.Credential = transport.Credential{Header: "Authorization", Value: "Bearer canary-0123456789"}
	done := s.talk(p, a, got, "print to stdout", "fd1 noise", "secret", "stderr the token canary-0123456789 expired", "beat canary-0123456789")
	wait(t, "item", got.some)
	if got.last.Detail != hidden {
		t.Errorf("detail of a signal: %q", got.last.Detail)
	}
	eventually(t, "output", func() bool { return len(p.LastLines()) >= 4 })
	s.say("fail canary-0123456789 is not valid")
	err := wait(t, "end", done)
	if err == nil || !strings.Contains(err.Error(), hidden+" is not valid") {
		t.Errorf("error text: %v", err)
	}
	all := strings.Join(p.LastLines(), "\n")
	if strings.Contains(all, "canary") {
		t.Errorf("a secret was kept:\n%s", all)
	}
	for _, want := range []string{"to stdout", "sending Authorization: " + hidden, "the token " + hidden + " expired", "noisenoise"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is missing in\n%s", want, all)
		}
	}
	for _, line := range p.LastLines() {
		if len(line) > MaxLine+3 {
			t.Errorf("a line of %d bytes was kept", len(line))
		}
	}
	done = s.talk(p, a, got, "exit 3")
	wait(t, "end", done)
	if got.last.Cause != transport.PluginCrashed {
		t.Errorf("a plugin that filled standard output could not go on: %+v", got.last)
	}
}

func TestLastLinesIsARing(t *testing.T) {
	l := &lastLines{secrets: &redactor{}}
	w := &lineWriter{to: l}
	for i := range MaxLines + 10 {
		fmt.Fprintf(w, "line %d\n", i)
	}
	if got := l.all(); len(got) != MaxLines || got[0] != "line 10" || got[MaxLines-1] != fmt.Sprintf("line %d", MaxLines+9) {
		t.Errorf("%d lines, from %q to %q", len(got), got[0], got[len(got)-1])
	}
}

func TestRedaction(t *testing.T) {
	const secret = `Bearer tok"en/+0123456789`
	const token = `tok"en/+0123456789`
	r := &redactor{}
	r.learn(transport.Attempt{
		Endpoint:   "https://user:hunter2secret@example.test/events",
		Credential: transport.Credential{Header: "Authorization", Value: secret},
	})
	for in, want := range map[string]string{
		"nothing here":                 "nothing here",
		"a " + secret + " b":           "a " + hidden + " b",
		"a " + token + " b":            "a " + hidden + " b",
		secret + secret:                hidden + hidden,
		fmt.Sprintf("q %q", token):     "q \"" + hidden + "\"",
		"u=tok%22en%2F%2B0123456789&v": "u=" + hidden + "&v",
		"b " + base64.StdEncoding.EncodeToString([]byte(token)): "b " + hidden,
		"pw hunter2secret":   "pw " + hidden,
		"Bearer is a scheme": "Bearer is a scheme",
	} {
		if got := r.text(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	r.add("x")
	if got := r.text("axb"); got != "a"+hidden+"b" {
		t.Errorf("short secret: %q", got)
	}
}

// A line that is too long or never ends must not show part of a secret, wherever the cut falls.
func TestRedactionAtTheCut(t *testing.T) {
	const secret = "canary-ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	r := &redactor{}
	r.add(secret)
	check := func(what, line string) {
		t.Helper()
		for n := len(secret); n >= minTail; n-- {
			if strings.Contains(line, secret[:n]) {
				t.Errorf("%s: %d bytes of a secret are shown", what, n)
				return
			}
		}
	}
	for before := MaxLine - len(secret) - 2; before <= MaxLine+2; before++ {
		l := &lastLines{secrets: r}
		w := &lineWriter{to: l}
		fmt.Fprintf(w, "%s%s%s\n", strings.Repeat("-", before), secret, strings.Repeat("+", 20_000))
		check(fmt.Sprintf("cut at %d", before), l.all()[0])
	}
	for n := minTail; n <= len(secret); n++ {
		l := &lastLines{secrets: r}
		w := &lineWriter{to: l}
		fmt.Fprintf(w, "token %s", secret[:n])
		w.flush()
		check(fmt.Sprintf("process died after %d bytes", n), l.all()[0])
	}
	for before := partLimit - len(secret) - 2; before <= partLimit+2; before++ {
		l := &lastLines{secrets: r}
		w := &lineWriter{to: l}
		fmt.Fprintf(w, "%s%s%s\n", strings.Repeat("-", before), secret, strings.Repeat("+", 2000))
		check(fmt.Sprintf("buffer full at %d", before), l.all()[0])
	}
}

func TestRedactorForgetsTheOldest(t *testing.T) {
	r := &redactor{}
	for i := range maxSecrets + 5 {
		r.add(fmt.Sprintf("secret-number-%d", i))
	}
	if len(r.secrets) != maxSecrets || len(r.forms) != maxSecrets {
		t.Errorf("%d secrets, %d forms", len(r.secrets), len(r.forms))
	}
	if got := r.text("secret-number-68!"); got != hidden+"!" {
		t.Errorf("the latest is not hidden: %q", got)
	}
}

func TestControlCharactersAreNotKept(t *testing.T) {
	l := &lastLines{secrets: &redactor{}}
	w := &lineWriter{to: l}
	fmt.Fprintf(w, "a\tb\x1b[31mred\r\x00\xff\n")
	if got := l.all()[0]; got != "a b\uFFFD[31mred\uFFFD\uFFFD\uFFFD" {
		t.Errorf("%q", got)
	}
}
