package bolt

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/store"
	"github.com/conform-dev/conform/core/store/storetest"
	"github.com/conform-dev/conform/core/subscription"
	"github.com/conform-dev/conform/core/transport"
)

// roleEnv makes the test binary play another process: "role file".
const roleEnv = "CONFORM_BOLT_ROLE"

// roles are the processes that tests start, by name.
var roles = map[string]func(path string){}

func TestMain(m *testing.M) {
	if role := os.Getenv(roleEnv); role != "" {
		roles[role](os.Getenv(roleEnv + "_FILE"))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

var ctx = context.Background()

// role is the command of a process.
func role(name, path string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleEnv+"="+name, roleEnv+"_FILE="+path)
	cmd.Stderr = os.Stderr
	return cmd
}

// must ends a process over an error.
func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// feed is a server and its transport in one: events with rising numbers, resumed from wherever a client asks.
type feed struct {
	mu    sync.Mutex
	head  int // the snapshot stands for this number
	last  int // and events follow up to this one
	asked []event.Seq
}

func (f *feed) Describe(context.Context) (transport.Descriptor, error) {
	return transport.Descriptor{
		Name: "feed", Wire: "feed", Freshness: transport.Push, Order: transport.ServerSequence, Baseline: transport.BaselineSnapshot,
		Resume: []transport.Mode{transport.ByCursor}, Vouch: transport.VouchFrame,
	}, nil
}

func (f *feed) Open(ctx context.Context, a transport.Attempt, to transport.Sink) error {
	f.mu.Lock()
	f.asked = append(f.asked, a.Resume.Seq)
	f.mu.Unlock()
	resumed, from := transport.No, f.head
	_ = to.Signal(transport.Signal{Kind: transport.Open})
	if a.Resume.Seq.Valid() {
		resumed, from = transport.Yes, int(a.Resume.Seq)+1
	}
	_ = to.Signal(transport.Signal{Kind: transport.Answered, Answer: transport.Answer{StreamEpoch: storetest.Scope().SourceVersion, Head: event.NoSeq, Resumed: resumed}})
	for n := from; n <= f.last; n++ {
		kind := "upsert"
		if n == from && resumed == transport.No {
			kind = "snapshot"
		}
		doc := transport.Document{JSON: fmt.Appendf(nil, `{"type":%q,"sequence":%d,"features":[],"feature":{}}`, kind, n), Cursor: fmt.Sprint("c-", n)}
		if err := to.Document(doc); err != nil {
			return nil
		}
	}
	<-ctx.Done()
	return nil
}

// follow runs a subscription over a store until the feed's last event was accepted and its save returned, and gives what it
// asked for.
func (f *feed) follow(s store.Store) (asked event.Seq, err error) {
	before := f.asks()
	apply := func(context.Context, *event.Event) error { return nil }
	sub, err := subscription.Open(context.Background(), f, apply, subscription.WithStore(s), subscription.WithContext(storetest.Scope()))
	if err != nil {
		return event.NoSeq, err
	}
	through := func() bool {
		held, _ := sub.Held()
		return int(held.Pos.Seq) == f.last && sub.State().Persisted && len(f.asks()) > len(before)
	}
	for end := time.Now().Add(20 * time.Second); !through() && err == nil; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			err = fmt.Errorf("stuck: %+v, %+v", sub.State(), sub.Observation())
		}
	}
	sub.Close()
	if end := sub.Wait(); end != nil {
		return event.NoSeq, end
	}
	asks := f.asks()
	return asks[len(asks)-1], err
}

func (f *feed) asks() []event.Seq {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked
}

// ear collects diagnostics.
type ear struct {
	mu    sync.Mutex
	heard []store.Diagnostic
}

func (e *ear) hear(d store.Diagnostic) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.heard = append(e.heard, d)
}

// words are the diagnostics as operation/reason, each kind once, in order.
func (e *ear) words() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []string
	for _, d := range e.heard {
		w := fmt.Sprintf("%s/%s", d.Operation, d.Reason)
		if len(out) == 0 || out[len(out)-1] != w {
			out = append(out, w)
		}
	}
	return fmt.Sprint(out)
}

// stored makes a file with a record at sequence 41, and gives its bytes.
func stored(t *testing.T, path string) []byte {
	t.Helper()
	s, err := Open(path, store.Config{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Save(t.Context(), storetest.At(41, time.Now().UnixMilli())); err != nil {
		t.Fatal(err)
	}
	if a := s.Load(t.Context(), storetest.Scope()); a.Found != checkpoint.Stored {
		t.Fatalf("%+v", a)
	}
	s.Close()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Clone(data)
}
