//go:build linux

package host

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// A planned hand-over needs two connections at once in one process (D-36): both deliver, the older one is hung up, the newer one goes
// on, and nothing crashes or is started anew.
func TestTheNextConnectionStandsBesideTheLast(t *testing.T) {
	leakCheck(t)
	p, log := startT(t, mustSelf("script"), standard, time.Now)
	old, next := newServer(t), newServer(t)
	first, second := &recorder{some: make(chan struct{}, 8)}, &recorder{some: make(chan struct{}, 8)}
	ctx, hangup := context.WithCancel(context.Background())
	gone := make(chan error, 1)
	go func() { gone <- p.Open(ctx, old.attempt(1), first) }()
	old.accept()
	old.say("doc 11")
	wait(t, "item of the old connection", first.some)
	end := next.talk(p, next.attempt(2), second, "doc 12")
	wait(t, "item of the new connection", second.some)
	old.say("doc 12")
	wait(t, "another item of the old connection", first.some)
	hangup()
	if err := wait(t, "end of the old connection", gone); !errors.Is(err, context.Canceled) {
		t.Errorf("old connection: %v", err)
	}
	next.say("doc 13", "cause 1")
	if err := wait(t, "end of the new connection", end); err != nil {
		t.Error(err)
	}
	if first.all() != "doc 11, doc 12" || second.all() != "doc 12, doc 13, ended connection-lost" {
		t.Errorf("old: %s; new: %s", first.all(), second.all())
	}
	if log.kinds() != "started" {
		t.Errorf("events: %s", log.kinds())
	}
}

// The deadlines in force, not shortened ones: a plugin that does not describe itself is given up after DescribeTimeout, one that does not
// answer a ping after PingTimeout.
func TestDescribeTimeoutAndPingTimeout(t *testing.T) {
	leakCheck(t)
	type result struct {
		err  error
		took time.Duration
	}
	described := make(chan result, 1)
	go func() {
		begin := time.Now()
		p, err := Start(context.Background(), mustSelf("mute"))
		if err == nil {
			err = p.Close()
		}
		described <- result{err, time.Since(begin)}
	}()
	p, err := Start(context.Background(), mustSelf("script"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	stopProcess(t, p.PID())
	begin := time.Now()
	err = p.Ping(context.Background())
	if took := time.Since(begin); err == nil || !strings.Contains(err.Error(), "no answer to a ping within 2s") || took < PingTimeout {
		t.Errorf("ping: %v after %v", err, took)
	}
	if r := wait(t, "end of the start", described); r.err == nil || !strings.Contains(r.err.Error(), "it did not describe itself within 5s") || r.took < DescribeTimeout {
		t.Errorf("start: %v after %v", r.err, r.took)
	}
}
