//go:build unix

package etcd

import (
	"syscall"
	"testing"
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/store"
	"github.com/conform-dev/conform/core/store/storetest"
)

// TestMemberHangs: a member that is stopped takes requests and never answers. Saves that meet it go on to another one, and
// every one of them is acknowledged.
func TestMemberHangs(t *testing.T) {
	m := cluster(t)
	m.client(t)
	idle := (leaderOf(t, m) + 1) % m.size // without the leader there would be an election beside
	opt := fresh()
	opt.Timeout = 4 * time.Second
	s, err := Open(t.Context(), Cluster{Endpoints: m.endpoints()}, store.Config{OnDiagnostic: func(d store.Diagnostic) { t.Errorf("%v: %v", d.Reason, d.Err.Cause) }}, opt)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for seq := range event.Seq(2 * event.Seq(m.size)) { // the client knows all members by now
		_ = s.Save(t.Context(), at(seq))
	}
	if err := m.run[idle].Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.run[idle].Process.Signal(syscall.SIGCONT) }()
	const saves = 3
	slow := 0
	for seq := range event.Seq(saves) {
		began := time.Now()
		_ = s.Save(t.Context(), at(100+seq))
		if time.Since(began) >= opt.Timeout/attemptsInTimeout {
			slow++
		}
	}
	if slow == 0 {
		t.Error("no save met the member that hangs")
	}
	if a := s.Load(t.Context(), storetest.Scope()); a.Checkpoint.Resume.Seq != 100+saves-1 {
		t.Errorf("%+v", a)
	}
}
