package serve

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/simulator"
)

// TestFollow: a client of the standard library sees the connected frame, the whole state and what is published, and its rows
// equal the feed's; after it left, the server knows.
func TestFollow(t *testing.T) {
	s := open(t, simulator.Options{Head: 40})
	res := s.get("")
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("answer: %s, %v", res.Status, res.Header)
	}
	s.must(s.Publish(simulator.AutoMixed, 25))
	rows := simulator.NewRows("incidents")
	all := blocks(t, bufio.NewReader(res.Body), 1+1+25)
	if want := `{"type":"status","status":"connected","streamEpoch":"incidents-v7","headSequence":40,"resumed":false}`; string(data(all[0])) != want {
		t.Errorf("first frame\n%s\nwant\n%s", data(all[0]), want)
	}
	for _, b := range all[1:] {
		if err := rows.Apply(data(b)); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.State(); got.Head != 65 || rows.Digest() != got.Digest {
		t.Errorf("rows %s, feed %s at %d", rows.Digest(), got.Digest, got.Head)
	}
	_ = res.Body.Close()
	s.wait("the client to be gone", func(st simulator.State) bool { return len(st.Connections) == 0 })
	records := s.trace()
	if last := records[len(records)-1]; last.Kind != trace.ServerClosed || last.Detail != "gone" {
		t.Errorf("last record %+v", last)
	}
}

// TestCuts: where and how a connection ends is what was planned, byte for byte.
func TestCuts(t *testing.T) {
	for _, c := range []struct {
		name string
		at   simulator.At
		as   string
		want int   // bytes of the body, -1: everything up to and with sequence 2
		err  error // what the reader sees behind them
	}{
		{"clean end behind an event", simulator.At{Sequence: 2}, "eof", -1, io.EOF},
		{"cut behind an event", simulator.At{Sequence: 2}, "cut", -1, io.ErrUnexpectedEOF},
		{"reset behind an event", simulator.At{Sequence: 2}, "reset", -1, syscall.ECONNRESET},
		{"cut at a byte", simulator.At{Byte: 333}, "cut", 333, io.ErrUnexpectedEOF},
		{"reset at a byte", simulator.At{Byte: 333}, "reset", 333, syscall.ECONNRESET},
		{"clean end at a byte", simulator.At{Byte: 333}, "eof", 333, io.EOF},
		{"cut at the first byte", simulator.At{Byte: 1}, "cut", 1, io.ErrUnexpectedEOF},
	} {
		t.Run(c.name, func(t *testing.T) {
			for range 20 {
				s := open(t, simulator.Options{})
				s.must(s.Add(simulator.Fault{Name: "cut", At: c.at, With: map[string]string{"as": c.as}}))
				res := s.get("")
				s.must(s.Publish(simulator.AutoUpsert, 5))
				got, err := io.ReadAll(res.Body)
				if err == nil {
					err = io.EOF
				}
				if !errors.Is(err, c.err) {
					t.Fatalf("ended with %v, want %v", err, c.err)
				}
				if c.want >= 0 && len(got) != c.want || c.want < 0 && (!bytes.Contains(got, []byte(`"sequence":2,`)) || !bytes.HasSuffix(got, []byte("\n\n")) || bytes.Contains(got, []byte(`"sequence":3,`))) {
					t.Fatalf("%d bytes: %s", len(got), got)
				}
				s.wait("the end", func(st simulator.State) bool { return len(st.Connections) == 0 })
			}
		})
	}
}

// TestResetWaits: a reset does not overtake what was written before it, also when the client has not taken it yet.
func TestResetWaits(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux shows the length of the send queue")
	}
	s := open(t, simulator.Options{})
	s.narrow()
	s.must(s.Add(simulator.Fault{Name: "oversize", At: simulator.At{Sequence: 1}, With: map[string]string{"bytes": "1000000"}}))
	s.must(s.Add(simulator.Fault{Name: "cut", At: simulator.At{Sequence: 1}, With: map[string]string{"as": "reset"}}))
	res := s.get("")
	s.must(s.Publish(simulator.AutoUpsert, 1))
	s.wait("the cut", func(st simulator.State) bool { return st.Struck["cut"] == 1 })
	got, err := io.ReadAll(res.Body)
	if !errors.Is(err, syscall.ECONNRESET) || len(got) < 1000000 || !bytes.HasSuffix(got, []byte("\n\n")) {
		t.Errorf("%d bytes, then %v", len(got), err)
	}
}

// TestMidChunk: a cut at a byte leaves a chunk unfinished: its length was announced, the rest never came (P-CON-15).
func TestMidChunk(t *testing.T) {
	s := open(t, simulator.Options{})
	s.must(s.Add(simulator.Fault{Name: "cut", At: simulator.At{Byte: 150}}))
	c, err := net.Dial("tcp", s.Addr())
	s.must(err)
	defer c.Close()
	fmt.Fprintf(c, "GET /stream HTTP/1.1\r\nHost: %s\r\n\r\n", s.Addr())
	all, err := io.ReadAll(c)
	s.must(err)
	_, body, _ := strings.Cut(string(all), "\r\n\r\n")
	first, rest, _ := strings.Cut(body, "\r\n")
	var n, announced int
	fmt.Sscanf(first, "%x", &n)
	second, tail, _ := strings.Cut(rest[n+2:], "\r\n")
	fmt.Sscanf(second, "%x", &announced)
	if n+len(tail) != 150 || announced <= len(tail) {
		t.Errorf("a chunk of %d, then %d of %d announced bytes:\n%s", n, len(tail), announced, all)
	}
}

// TestOldClient: HTTP/1.0 knows no chunks, so it gets none; HEAD gets no body; 204 neither.
func TestOldClient(t *testing.T) {
	s := open(t, simulator.Options{})
	ask := func(request string) string {
		c, err := net.Dial("tcp", s.Addr())
		s.must(err)
		defer c.Close()
		fmt.Fprint(c, request+"\r\nHost: localhost\r\n\r\n")
		all, err := io.ReadAll(c)
		s.must(err)
		return string(all)
	}
	if got := ask("GET /stream?mode=snapshot HTTP/1.0"); strings.Contains(got, "chunked") || !strings.HasSuffix(got, "}]}\n\n") {
		t.Errorf("HTTP/1.0:\n%s", got)
	}
	if got := ask("HEAD /stream HTTP/1.1"); !strings.HasPrefix(got, "HTTP/1.1 405 ") || !strings.HasSuffix(got, "\r\n\r\n") || strings.Contains(got, "title") {
		t.Errorf("HEAD:\n%s", got)
	}
	s.must(s.Add(simulator.Fault{Name: "status", With: map[string]string{"code": "204"}}))
	if got := ask("GET /stream HTTP/1.1"); got != "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n" {
		t.Errorf("204:\n%s", got)
	}
}

// TestBackpressure: with a client that does not read, the server holds one send queue and no more, its write blocks, and
// nothing is lost when the client reads on.
func TestBackpressure(t *testing.T) {
	const events, size = 200, 64 << 10
	s := open(t, simulator.Options{QueueBytes: 256 << 10})
	s.narrow()
	res := s.get("")
	feature := `{"text":"` + strings.Repeat("x", size) + `"}`
	for i := range events {
		s.must(s.Do(func(sim *simulator.Simulator, now simulator.Now) error {
			_, err := sim.Publish(now, simulator.Upsert(fmt.Sprint(i%8), feature))
			return err
		}))
		if st := s.State(); len(st.Connections) != 1 || st.Connections[0].Waiting > 256<<10+size+1000 {
			t.Fatalf("after %d events: %+v", i, st.Connections)
		}
	}
	if c := s.State().Connections[0]; c.Sent > events*3/4 {
		t.Fatalf("%d of %d events composed for a client that reads nothing", c.Sent, events)
	}
	rows := simulator.NewRows("incidents")
	for _, b := range blocks(t, bufio.NewReader(res.Body), 1+1+events)[1:] {
		if err := rows.Apply(data(b)); err != nil {
			t.Fatal(err)
		}
	}
	if st := s.State(); rows.Digest() != st.Digest {
		t.Errorf("rows differ after %d events", st.Head)
	}
}

// TestSlow: a client that takes nothing is closed, with the reason in the trace.
func TestSlow(t *testing.T) {
	s := open(t, simulator.Options{Stall: 300 * time.Millisecond})
	res := s.get("")
	s.must(s.Add(simulator.Fault{Name: "oversize", With: map[string]string{"bytes": "33554432"}}))
	s.must(s.Publish(simulator.AutoUpsert, 1))
	s.wait("the slow client to be closed", func(st simulator.State) bool { return len(st.Connections) == 0 })
	records := s.trace()
	if last := records[len(records)-1]; last.Kind != trace.ServerClosed || last.Detail != "reset" || last.Args["why"] != "stalled" {
		t.Errorf("last record %+v", last)
	}
	if _, err := io.ReadAll(res.Body); err == nil {
		t.Error("the client saw a clean end")
	}
}

// TestTwice: the same schedule gives the same canonical trace over real sockets (D-65).
func TestTwice(t *testing.T) {
	run := func() (string, string) {
		s := open(t, simulator.Options{Head: 5, Retention: 4})
		var body strings.Builder
		read := func(res *http.Response) {
			b, err := io.ReadAll(res.Body)
			fmt.Fprintf(&body, "%s %s\n%s\n", res.Status, b, strings.ReplaceAll(fmt.Sprint(err), s.Addr(), "HOST"))
		}
		for _, f := range []simulator.Fault{
			{Name: "gap", At: simulator.At{Sequence: 7}},
			{Name: "duplicate", At: simulator.At{Sequence: 8}},
			{Name: "cut", At: simulator.At{Sequence: 9}},
			{Name: "cut", At: simulator.At{Connection: 2, Byte: 200}, With: map[string]string{"as": "reset"}},
			{Name: "status", At: simulator.At{Connection: 3}, With: map[string]string{"retryAfter": "1"}},
		} {
			s.must(s.Add(f))
		}
		first := s.get("")
		s.must(s.Publish(simulator.AutoMixed, 6))
		read(first)
		read(s.get("c-7-8"))
		read(s.get("c-7-8"))
		read(s.get("c-7-5"))
		s.wait("all ends", func(st simulator.State) bool { return len(st.Connections) == 0 })
		hash, err := trace.Hash(trace.Canonical(s.trace(), trace.Process))
		s.must(err)
		return hash, strings.NewReplacer(fmt.Sprint(s.Addr()), "HOST").Replace(portless(body.String()))
	}
	hash, body := run()
	for range 10 {
		h, b := run()
		if h != hash {
			t.Fatal("another canonical trace")
		}
		if b != body {
			t.Fatalf("other bytes:\n%s\nthen\n%s", body, b)
		}
	}
}

// portless cuts the ports out of network errors.
func portless(s string) string {
	var out strings.Builder
	for _, w := range strings.SplitAfter(s, " ") {
		if strings.Contains(w, "127.0.0.1:") {
			w = "ADDRESS "
		}
		out.WriteString(w)
	}
	return out.String()
}

// TestCrowd: many clients, publishers and control calls at once; each client that stays ends with the feed's rows. Meant for -race.
func TestCrowd(t *testing.T) {
	const clients, events = 12, 200
	s := open(t, simulator.Options{})
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			res := s.get("")
			if i%3 == 0 {
				_ = res.Body.Close()
				return
			}
			rows := simulator.NewRows("incidents")
			in := bufio.NewReader(res.Body)
			for {
				b := blocks(t, in, 1)[0]
				if strings.Contains(b, "status") {
					continue
				}
				if err := rows.Apply(data(b)); err != nil {
					t.Error(err)
				}
				if strings.Contains(b, fmt.Sprintf(`"sequence":%d,`, events)) {
					break
				}
			}
			if got := s.State(); got.Digest != rows.Digest() {
				t.Errorf("client %d: rows differ", i)
			}
		})
	}
	for range 4 {
		wg.Go(func() {
			for range events / 4 {
				s.must(s.Publish(simulator.AutoMixed, 1))
				_ = s.State()
			}
		})
	}
	wg.Wait()
}

// TestStartRefuses: a setting that cannot be served is named, and a taken port is the network's own error.
func TestStartRefuses(t *testing.T) {
	s := open(t, simulator.Options{})
	for _, c := range []struct {
		opt  Options
		want string
	}{
		{Options{Addr: "nowhere"}, `addr: "nowhere" is not host:port`},
		{Options{Addr: "0.0.0.0:0"}, `addr: "0.0.0.0:0" is no loopback address; name the hosts that requests may be for`},
		{Options{Addr: s.Addr()}, "address already in use"},
		{Options{Simulator: simulator.Options{Retention: 65537}}, "retention: 65537 is not in 1 to 65536"},
		{Options{Simulator: simulator.Options{Path: "/control/v1/state"}}, `path: "/control/v1/state" is taken by the control API`},
	} {
		got, err := Start(t.Context(), c.opt)
		if err == nil {
			_ = got.Close()
			t.Errorf("%+v was started", c.opt)
		} else if !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %q, want %q", err, c.want)
		}
	}
}

// TestClose: the end of the context ends everything; what comes later is told so.
func TestClose(t *testing.T) {
	before := goroutines()
	ctx, cancel := context.WithCancel(t.Context())
	s, err := Start(ctx, Options{})
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{}}
	res, err := client.Get(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	never := make(chan error)
	go func() {
		never <- s.WaitFor(context.Background(), func(st simulator.State) bool { return st.Head == 99 })
	}()
	cancel()
	if _, err := io.ReadAll(res.Body); err == nil {
		t.Error("the stream ended cleanly")
	}
	if err := <-never; !errors.Is(err, ErrClosed) {
		t.Errorf("WaitFor: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Publish(simulator.AutoUpsert, 1); !errors.Is(err, ErrClosed) {
		t.Errorf("Publish: %v", err)
	}
	client.CloseIdleConnections()
	noLeak(t, before)
}

// TestWaitFor: a condition that comes true is seen at once; a wait that is given up leaves nothing behind.
func TestWaitFor(t *testing.T) {
	s := open(t, simulator.Options{})
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	if err := s.WaitFor(ctx, func(simulator.State) bool { return false }); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
	if n := len(s.waiters); n != 0 {
		t.Errorf("%d waiters left", n)
	}
	reached := make(chan error)
	go func() {
		reached <- s.WaitFor(s.ctx, func(st simulator.State) bool { return st.Head >= event.Seq(3) })
	}()
	s.must(s.Publish(simulator.AutoUpsert, 3))
	if err := <-reached; err != nil {
		t.Error(err)
	}
}
