package odata

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/host"
	"github.com/conform-dev/conform/core/plugin"
	"github.com/conform-dev/conform/core/subscription"
	"github.com/conform-dev/conform/core/transport"
)

const (
	snapshotRows = 50_000
	rowBytes     = 300
	heapLimit    = 64 << 20
)

// TestMain makes the test binary its own plugin.
func TestMain(m *testing.M) {
	if plugin.ServeArgs(os.Args[1:], map[string]func() transport.Transport{"odata": func() transport.Transport { return weighed{New()} }}) {
		return
	}
	os.Exit(m.Run())
}

// peak is the largest heap that a process had while it was looked at: spans in use, garbage in them included.
type peak struct {
	stop, done chan struct{}
	most       uint64
}

func watchHeap() *peak {
	p := &peak{stop: make(chan struct{}), done: make(chan struct{})}
	samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"}}
	go func() {
		defer close(p.done)
		tick := time.NewTicker(200 * time.Microsecond)
		defer tick.Stop()
		for {
			metrics.Read(samples)
			p.most = max(p.most, samples[0].Value.Uint64()+samples[1].Value.Uint64())
			select {
			case <-tick.C:
			case <-p.stop:
				return
			}
		}
	}()
	return p
}

func (p *peak) end() uint64 {
	close(p.stop)
	<-p.done
	return p.most
}

// weighed says in the report of a poll how large the heap of its process was.
type weighed struct{ transport.Transport }

const peakWord = "peak-heap "

func (w weighed) Open(ctx context.Context, a transport.Attempt, to transport.Sink) error {
	p := watchHeap()
	defer func() {
		if p != nil {
			p.end()
		}
	}()
	return w.Transport.Open(ctx, a, weighing{to, func() uint64 {
		most := p.end()
		p = nil
		return most
	}})
}

type weighing struct {
	transport.Sink
	end func() uint64
}

func (w weighing) Signal(s transport.Signal) error {
	if s.Kind == transport.Polled {
		s.Detail = fmt.Sprint(peakWord, w.end())
	}
	return w.Sink.Signal(s)
}

// bigService is a collection of snapshotRows rows of rowBytes, in pages of per rows. It makes them up as it writes, so that its memory, which
// is the host's in these tests, does not count.
func bigService(t testing.TB, per int) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from, _ := strconv.Atoi(r.URL.Query().Get("from"))
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"value":[`)
		var row []byte
		for n := from; n < min(from+per, snapshotRows); n++ {
			if row = row[:0]; n > from {
				row = append(row, ',')
			}
			begin := len(row)
			row = fmt.Appendf(row, `{"Id":"vehicle-%06d","Note":"`, n)
			row = append(row, strings.Repeat("x", rowBytes-(len(row)-begin)-2)...)
			w.Write(append(row, `"}`...))
		}
		if next := from + per; next < snapshotRows {
			fmt.Fprintf(w, `],"@odata.nextLink":"?from=%d"}`, next)
			return
		}
		io.WriteString(w, `],"@odata.deltaLink":"?$deltatoken=d1"}`)
	}))
	t.Cleanup(s.Close)
	return s
}

// weigh takes a snapshot of bigService through a plugin process and says how large both heaps were. Through a subscription the gate and a
// consumer have it too.
func weigh(t testing.TB, per int, subscribed bool) (inPlugin, inHost uint64) {
	service := bigService(t, per)
	command, err := host.Self("odata")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*guard)
	defer cancel()
	p, err := host.Start(ctx, command)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	a := attemptAt(service.URL+"/odata/Vehicles", "foreign=1", "pollIntervalMs=86400000")
	debug.FreeOSMemory()
	heap := watchHeap()
	c := &counting{stop: cancel}
	if subscribed {
		sub, err := subscription.Open(ctx, listening{p, c}, func(_ context.Context, ev *event.Event) error { return c.Event(ev) },
			subscription.WithEndpoint(a.Endpoint), subscription.WithQuery(a.Query), subscription.WithTransportOptions(a.Options))
		if err != nil {
			t.Fatal(err)
		}
		sub.Wait()
	} else if err := p.Open(ctx, a, c); err != context.Canceled {
		t.Fatal(err)
	}
	if inHost = heap.end(); c.bytes < snapshotRows*rowBytes || c.inPlugin == 0 {
		t.Fatalf("%d bytes came, plugin %d", c.bytes, c.inPlugin)
	}
	return c.inPlugin, inHost
}

// counting takes the snapshot, and is done when it has that and the report of its poll: a subscription's consumer may be the later one.
type counting struct {
	mu       sync.Mutex
	bytes    int
	inPlugin uint64
	stop     func()
}

func (c *counting) took(bytes int, inPlugin uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes, c.inPlugin = max(c.bytes, bytes), max(c.inPlugin, inPlugin)
	if c.bytes > 0 && c.inPlugin > 0 {
		c.stop()
	}
}

func (c *counting) Document(transport.Document) error {
	return fmt.Errorf("a document, and events were asked for")
}

func (c *counting) Event(ev *event.Event) error {
	c.took(len(ev.Payload), 0)
	return nil
}

func (c *counting) Signal(s transport.Signal) error {
	if text, ok := strings.CutPrefix(s.Detail, peakWord); ok {
		n, _ := strconv.ParseUint(text, 10, 64)
		c.took(0, n)
	}
	return nil
}

// listening lets c hear the signals of a subscription's transport.
type listening struct {
	*host.Plugin
	c *counting
}

func (l listening) Open(ctx context.Context, a transport.Attempt, to transport.Sink) error {
	return l.Plugin.Open(ctx, a, heard{to.(transport.EventSink), l.c})
}

type heard struct {
	transport.EventSink
	c *counting
}

func (h heard) Signal(s transport.Signal) error {
	if strings.HasPrefix(s.Detail, peakWord) {
		defer h.c.Signal(s)
		s.Detail = ""
	}
	return h.EventSink.Signal(s)
}

// A snapshot of 50,000 rows of 300 bytes stays under 64 MiB of heap in the plugin and in the host, on one page or on many.
func TestBigSnapshotHeap(t *testing.T) {
	if raceOn {
		t.Skip("the race detector's own memory would be measured")
	}
	for _, c := range []struct {
		per        int
		subscribed bool
	}{{snapshotRows, false}, {1000, false}, {1000, true}} {
		inPlugin, inHost := weigh(t, c.per, c.subscribed)
		t.Logf("pages of %d rows, subscription %v: heap of the plugin %.1f MiB, of the host %.1f MiB", c.per, c.subscribed, float64(inPlugin)/(1<<20), float64(inHost)/(1<<20))
		if inPlugin >= heapLimit || inHost >= heapLimit {
			t.Errorf("the limit is %d MiB", heapLimit>>20)
		}
	}
}

// BenchmarkBigSnapshot prints both heaps, and as a ratio to the rows themselves: how often they are there at one time.
func BenchmarkBigSnapshot(b *testing.B) {
	var inPlugin, inHost uint64
	for b.Loop() {
		p, h := weigh(b, 1000, false)
		inPlugin, inHost = max(inPlugin, p), max(inHost, h)
	}
	b.ReportMetric(float64(inPlugin)/(1<<20), "MiB-plugin")
	b.ReportMetric(float64(inHost)/(1<<20), "MiB-host")
	b.ReportMetric(float64(inPlugin)/(snapshotRows*rowBytes), "x-rows-plugin")
	b.ReportMetric(float64(inHost)/(snapshotRows*rowBytes), "x-rows-host")
}
