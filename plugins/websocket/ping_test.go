package websocket

import (
	"testing"
	"time"
)

// P-WS-10: the server answers the first ping and then nothing. The connection is given up between 30,001 and 60,000 ms, without a
// close frame: 1000 or 1001 would tell the server to forget the session. What follows is a lost connection, which resumes.
func TestNoPongComesBack(t *testing.T) {
	m := openMachine("resume")
	for _, step := range []struct {
		at   time.Duration
		sent []byte
		want string
	}{
		{14999 * time.Millisecond, nil, ""},
		{15 * time.Second, nil, `send ping "1"`},
		{15100 * time.Millisecond, appendServerFrame(nil, 0x8A, []byte("1")), "heartbeat"},
		{29999 * time.Millisecond, nil, ""},
		{30 * time.Second, nil, `send ping "2"`},
		{45 * time.Second, nil, `send ping "3"`},
		{54999 * time.Millisecond, nil, ""},
		{55 * time.Second, nil, "ended connection-lost (ping-unanswered: 2 in a row, 15s apart)"},
		{70 * time.Second, text(delta), ""},
	} {
		got := at(m, step.at)
		if step.sent != nil {
			m.Bytes(step.sent)
			got = take(m)
		}
		if got != step.want {
			t.Fatalf("at %v: got %q, want %q", step.at, got, step.want)
		}
	}
	if _, ok := m.Deadline(); ok {
		t.Error("waits on")
	}
}

// A pong counts for its ping and those before it; one that repeats no ping of ours, or an older one again, for none.
func TestPongs(t *testing.T) {
	pong := func(m *Machine, payload string) {
		m.Bytes(appendServerFrame(nil, 0x8A, []byte(payload)))
		take(m)
	}
	for name, c := range map[string]struct {
		answers []string // after the second ping
		dead    bool
	}{
		"none":                       {nil, true},
		"the last":                   {[]string{"2"}, false},
		"the first":                  {[]string{"1"}, false},
		"one that was not sent":      {[]string{"3"}, true},
		"none of ours":               {[]string{"", "hello", "-1", "99999999999999999999"}, true},
		"the last, then the first":   {[]string{"2", "1"}, false},
		"the first, again and again": {[]string{"1", "1"}, false},
	} {
		m := openMachine("pingEveryMs=3000")
		for _, now := range []time.Duration{3 * time.Second, 6 * time.Second} {
			at(m, now)
		}
		for _, p := range c.answers {
			pong(m, p)
		}
		if got := at(m, 8*time.Second); (got != "") != c.dead {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// Deadline is always the next moment at which Wake does something, and early calls are harmless.
func TestDeadlines(t *testing.T) {
	m := openMachine("pingEveryMs=3000")
	for _, want := range []time.Duration{3 * time.Second, 6 * time.Second, 8 * time.Second} {
		due, ok := m.Deadline()
		if !ok || due != want {
			t.Fatalf("deadline %v, want %v", due, want)
		}
		if got := at(m, due-1) + at(m, 0); got != "" { // a clock that steps back is not believed
			t.Fatalf("before %v: %q", due, got)
		}
		if got := at(m, due); got == "" {
			t.Fatalf("at %v: nothing", due)
		}
	}
}

// A machine that was not woken for long sends one ping, not all that it missed, and gives nobody up for it.
func TestLateWake(t *testing.T) {
	m := openMachine()
	if got := at(m, time.Hour); got != `send ping "1"` {
		t.Error(got)
	}
	if due, _ := m.Deadline(); due != time.Hour+DefaultPingEvery {
		t.Error(due)
	}
}

// P-CON-07, D-36: pings of the server's, and its pongs, are signs of life.
func TestPingsAreSignsOfLife(t *testing.T) {
	m := openMachine()
	m.Bytes(append(appendServerFrame(nil, 0x89, nil), appendServerFrame(nil, 0x89, []byte("x"))...))
	if got := take(m); got != "send pong \"\"\nsend pong \"x\"\nheartbeat" {
		t.Error(got)
	}
}
