//go:build linux

package host

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
	"github.com/conform-dev/conform/core/subscription"
	"github.com/conform-dev/conform/core/transport"
)

// benchDoc is how long a document is, in bytes: what an event of the reference traffic has. As a captured event it is 256 bytes of
// document, an id of 20 and a cursor of 12, which is as much on the wire.
const benchDoc = 300

// stream makes up the n-th captured event of a source.
func stream(ev *event.Event, n int, payload []byte) {
	*ev = event.Event{Kind: event.Delta, ID: benchIDs[n%len(benchIDs)], Pos: event.Position{Seq: event.Seq(n), Cursor: benchIDs[n%len(benchIDs)][4:16]}, Payload: payload}
	if n == 0 {
		ev.Kind = event.Snapshot
	}
}

// benchIDs differ within any window that a gate may have.
var benchIDs = func() (ids [1 << 14]string) {
	for i := range ids {
		ids[i] = fmt.Sprintf("evt-%016d", i)
	}
	return ids
}()

// document appends the n-th event of a source as JSON, benchDoc bytes of it.
func document(to []byte, n int) []byte {
	from := len(to)
	to = append(to, `{"type":"delta","eventId":"`...)
	if n == 0 {
		to = append(to[:from], `{"type":"snapshot","features":[],"eventId":"`...)
	}
	to = append(to, benchIDs[n%len(benchIDs)]...)
	to = append(to, `","sequence":`...)
	to = strconv.AppendInt(to, int64(n), 10)
	to = append(to, `,"upserts":[{"id":"pump-7","version":3,"feature":{"note":"`...)
	const tail = `"}}]}`
	to = append(to, padding[:benchDoc-len(tail)-len(to)+from]...)
	return append(to, tail...)
}

var padding = strings.Repeat("x", benchDoc)

// made gives the number of events that were asked for, as fast as it may and without a server, so that the boundary alone is
// measured.
type made struct {
	described
	give func(n int, to transport.Sink) error
}

func (m made) Open(_ context.Context, a transport.Attempt, to transport.Sink) error {
	for n := range atoi(a.Query.Where) {
		if err := m.give(n, to); err != nil {
			return err
		}
	}
	return to.Signal(transport.Signal{Kind: transport.Ended, Cause: transport.ConnectionLost})
}

// burst gives events that are captured already, as the yardstick does.
func burst() transport.Transport {
	payload := []byte(padding[:256])
	var ev event.Event
	return made{give: func(n int, to transport.Sink) error {
		stream(&ev, n, payload)
		return to.(transport.EventSink).Event(&ev)
	}}
}

// papers gives documents, which the SDK captures.
func papers() transport.Transport {
	var doc []byte
	return made{give: func(n int, to transport.Sink) error {
		doc = document(doc[:0], n)
		return to.Document(transport.Document{JSON: doc})
	}}
}

// ticks gives single events that hold the time of their sending, one to three milliseconds apart.
func ticks() transport.Transport {
	payload := make([]byte, 256)
	var ev event.Event
	return made{give: func(n int, to transport.Sink) error {
		time.Sleep(time.Duration(1+n%3) * time.Millisecond)
		stream(&ev, n, payload)
		binary.LittleEndian.PutUint64(payload, uint64(monotonic()))
		return to.(transport.EventSink).Event(&ev)
	}}
}

// monotonic is a clock that all processes of the machine share.
func monotonic() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(err)
	}
	return ts.Nano()
}

// gated is a gate with a consumer that does nothing, and takes the time from the first event to the last.
type gated struct {
	b       testing.TB
	g       *gate.Gate
	n       int
	first   time.Time
	last    time.Time
	consume func(ev *event.Event)
}

func newGated(b testing.TB) *gated {
	g, err := gate.New(gate.Config{}, gate.Start{})
	if err != nil {
		b.Fatal(err)
	}
	return &gated{b: b, g: g}
}

func (s *gated) Event(ev *event.Event) error {
	if s.n == 0 {
		s.first = time.Now()
	}
	s.g.Enqueue(ev)
	due := s.g.Take()
	if due.Apply == nil {
		return fmt.Errorf("event %d was refused: %v", s.n, s.g.State())
	}
	if s.consume != nil {
		s.consume(due.Apply)
	}
	s.g.Applied(1, nil)
	s.g.Take()
	s.n++
	return nil
}

func (s *gated) Document(d transport.Document) error { panic("an event came as a document") }

func (s *gated) Signal(sig transport.Signal) error {
	if sig.Kind.Final() {
		s.last = time.Now()
	}
	return nil
}

// took is the time from the first event to the last, all n of which must have come.
func (s *gated) took(n int) time.Duration {
	if s.n != n {
		s.b.Fatalf("%d of %d events came", s.n, n)
	}
	return s.last.Sub(s.first)
}

// processor is the processor time that a process has used up, all threads.
func processor(pid int) time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|2), &ts); err != nil { // the kernel's name for a process's clock: CPUCLOCK_SCHED
		panic(err)
	}
	return time.Duration(ts.Nano())
}

// path is one way from a plugin process to a consumer.
type path struct {
	name   string
	events int
	pid    int                       // the plugin's
	run    func(n int) time.Duration // from the first of n events to the last
}

// through is the path of n events of a plugin through a gate.
func through(b *testing.B, p *Plugin, a transport.Attempt) func(int) time.Duration {
	return func(n int) time.Duration {
		a.Query.Where = strconv.Itoa(n)
		to := newGated(b)
		if err := p.Open(context.Background(), a, to); err != nil {
			b.Fatal(err)
		}
		return to.took(n)
	}
}

// followed is the path of n events through a whole subscription: session, gate, and a consumer on a goroutine of its own.
func followed(b *testing.B, p *Plugin, endpoint string) func(int) time.Duration {
	return func(n int) time.Duration {
		var first time.Time
		got, all := 0, make(chan time.Duration, 1)
		s, err := subscription.Open(context.Background(), p, func(context.Context, *event.Event) error {
			if got++; got == 1 {
				first = time.Now()
			} else if got == n {
				all <- time.Since(first)
			}
			return nil
		}, subscription.WithEndpoint(endpoint), subscription.WithQuery(transport.Query{SourceID: "s", Where: strconv.Itoa(n)}))
		if err != nil {
			b.Fatal(err)
		}
		defer s.Wait()
		defer s.Close()
		select {
		case took := <-all:
			return took
		case <-time.After(patience):
			b.Fatalf("%d of %d events came: %v", got, n, s.State())
			return 0
		}
	}
}

// sseServer answers every request with the same pre-encoded events and then holds the connection open.
func sseServer(b *testing.B, n int) *httptest.Server {
	var body []byte
	for i := range n {
		id := benchIDs[i%len(benchIDs)][4:16]
		body = append(append(append(body, "id: "...), id...), "\ndata: "...)
		body = append(document(body, i), "\n\n"...)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Write(body)
	}))
	b.Cleanup(s.Close)
	return s
}

// Each path is measured pathRounds times, in turns. A measurement takes so many events that a start from sleep, and being put off
// the processor once, count for little; the SSE server holds all of its answer in memory, so it has fewer.
const (
	pathRounds = 5
	madeEvents = 1_000_000
	sentEvents = 300_000
)

// BenchmarkPluginPath measures the rate of events from a plugin process to a consumer, with mutual TLS, on several paths and on the
// yardstick: packed batches over a bare unix socket, decoded and gated as the others are. All are measured in turns, in one
// run, and the medians are reported: the machine varies, the ratio says whether the boundary wastes anything.
func BenchmarkPluginPath(b *testing.B) {
	start := func(c Command) *Plugin {
		p, _ := startT(b, c, standard, time.Now)
		return p
	}
	server := sseServer(b, sentEvents)
	sse, papers, burst, stock := start(mustSelf("sse")), start(mustSelf("papers")), start(mustSelf("burst")), start(rogueCommand("serves", "stock"))
	sender, bare := yardstick(b)
	paths := []path{
		{"yardstick", madeEvents, sender, bare},
		{"captured", madeEvents, burst.PID(), through(b, burst, transport.Attempt{Epoch: 1})},
		{"documents", madeEvents, papers.PID(), through(b, papers, transport.Attempt{Epoch: 1})},
		{"stock", madeEvents, stock.PID(), through(b, stock, transport.Attempt{Epoch: 1})},
		{"subscription", madeEvents, papers.PID(), followed(b, papers, "")},
		{"sse", sentEvents, sse.PID(), through(b, sse, transport.Attempt{Epoch: 1, Endpoint: server.URL, Resume: event.NoPosition, Query: transport.Query{SourceID: "s"}})},
		{"sse-subscription", sentEvents, sse.PID(), followed(b, sse, server.URL)},
	}
	only := os.Getenv("CONFORM_PATH") // one path alone, for a profile of it
	rates, ratios, costs := make([][]float64, len(paths)), make([][]float64, len(paths)), make([][]float64, len(paths))
	for range pathRounds {
		yardstick := 0.0
		for i, p := range paths {
			if only != "" && only != p.name {
				continue
			}
			before := processor(selfPID) + processor(p.pid)
			rate := float64(p.events) / p.run(p.events).Seconds()
			cost := processor(selfPID) + processor(p.pid) - before
			costs[i] = append(costs[i], float64(cost.Nanoseconds())/float64(p.events))
			if i == 0 {
				yardstick = rate
			}
			rates[i] = append(rates[i], rate)
			ratios[i] = append(ratios[i], rate/yardstick)
		}
	}
	for i, p := range paths {
		if only != "" && only != p.name {
			continue
		}
		slices.Sort(rates[i])
		slices.Sort(ratios[i])
		slices.Sort(costs[i])
		rate, ratio, last := rates[i][pathRounds/2], ratios[i][pathRounds/2], pathRounds-1
		b.Logf("%-17s %8.0f events/s (%.0f to %.0f), ratio %.2f (%.2f to %.2f), %4.0f ns of processor", p.name, rate, rates[i][0], rates[i][last],
			ratio, ratios[i][0], ratios[i][last], costs[i][pathRounds/2])
		if i < 2 {
			b.ReportMetric(rate, p.name+"/s")
		}
		if i == 1 {
			b.ReportMetric(ratio, "ratio")
		}
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkPluginLatency is the age of a single event when it reaches the consumer behind the gate, on an idle connection with mutual TLS.
func BenchmarkPluginLatency(b *testing.B) {
	p, _ := startT(b, mustSelf("ticks"), standard, time.Now)
	var ages []int64
	to := newGated(b)
	to.consume = func(ev *event.Event) {
		ages = append(ages, monotonic()-int64(binary.LittleEndian.Uint64(ev.Payload)))
	}
	b.ResetTimer()
	if err := p.Open(context.Background(), transport.Attempt{Epoch: 1, Query: transport.Query{Where: strconv.Itoa(b.N)}}, to); err != nil {
		b.Fatal(err)
	}
	slices.Sort(ages)
	b.ReportMetric(float64(ages[len(ages)/2])/1e3, "p50-µs")
	b.ReportMetric(float64(ages[len(ages)*99/100])/1e3, "p99-µs")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkStart is the time from exec to a described plugin, and its orderly end.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		p, err := Start(context.Background(), mustSelf("burst"))
		if err != nil {
			b.Fatal(err)
		}
		p.Close()
	}
}
