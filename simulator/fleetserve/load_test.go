package fleetserve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/simulator/fleet"
)

// loads are the forms of the load test, by the value of CONFORM_FLEET_LOAD: how long, in which window, and how often a client asks.
var loads = map[string]load{
	"":     {10 * time.Second, 3 * time.Second, 250 * time.Millisecond},
	"long": {30 * time.Second, 3 * time.Second, 250 * time.Millisecond},
	"real": {70 * time.Second, fleet.DefaultAttemptWindow, time.Second},
}

type load struct{ lasts, window, pause time.Duration }

const (
	loadClients = 500
	loadViewers = 10
	// loadMemory bounds what 64 streams and 500 clients, in the same process, may add to the heap: 64 full buffers are 16 MiB.
	loadMemory = 96 << 20
)

// entry is one line of the admission log.
type entry struct {
	at     int64
	epoch  uint32
	kind   trace.Kind
	key    string
	answer string // status and word; of an end how it came
}

// tally is what clients saw: answers by viewer.
type tally struct {
	mu   sync.Mutex
	seen map[string]map[string]int
}

func (t *tally) add(key, answer string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.seen[key] == nil {
		t.seen[key] = map[string]int{}
	}
	t.seen[key][answer]++
}

// TestLoad lets 500 clients of 10 viewers attempt as fast as their pause allows. Every admission is then replayed through a model of
// the limiter and the caps that shares nothing with the server, and what the clients counted has to be the same.
func TestLoad(t *testing.T) {
	form, known := loads[os.Getenv("CONFORM_FLEET_LOAD")]
	if !known {
		t.Fatalf("CONFORM_FLEET_LOAD is none of: long, real, or empty")
	}
	o := fleet.Options{AttemptWindow: form.window, Heartbeat: form.window / 3}
	for i := range loadViewers {
		o.Viewers = append(o.Viewers, fleet.Viewer{UserID: "u", Provider: "load", ProviderUserID: fmt.Sprint(i), Admission: []string{fmt.Sprintf("TOKEN-%d", i)}})
	}
	var log []entry
	s, err := Start(t.Context(), Options{Fleet: o, Observe: func(r trace.Record) {
		switch r.Kind {
		case trace.ServerRequest:
			log = append(log, entry{r.T, r.Epoch, r.Kind, r.Args["key"], r.Status + " " + r.Reason})
		case trace.ServerClosed:
			log = append(log, entry{r.T, r.Epoch, r.Kind, "", r.Detail})
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	clients := &tally{seen: map[string]map[string]int{}}
	began := heap()
	peak := run(t, s, form, clients)
	if err := s.WaitFor(t.Context(), func(st fleet.State) bool { return st.Streams == 0 }); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	after := heap() // the log is in it
	got := replay(t, log, form.window.Milliseconds())
	for key := range got.answers {
		if !maps.Equal(got.answers[key], clients.seen[key]) {
			t.Errorf("%s: the log says %v, its clients saw %v", key, got.answers[key], clients.seen[key])
		}
	}
	if len(clients.seen) != len(got.answers) || len(got.answers) != loadViewers {
		t.Errorf("%d viewers saw answers, %d are in the log", len(clients.seen), len(got.answers))
	}
	if got.most != fleet.DefaultStreams || got.mostOfOne != fleet.DefaultViewerStreams {
		t.Errorf("at most %d streams, %d of one viewer; want exactly %d and %d", got.most, got.mostOfOne, fleet.DefaultStreams, fleet.DefaultViewerStreams)
	}
	if want := int(form.lasts/form.window) * loadViewers / 2; got.full < want {
		t.Errorf("%d windows were full; the load is too small to show anything below %d", got.full, want)
	}
	if peak > began+loadMemory {
		t.Errorf("the heap grew by %d MiB", (peak-began)>>20)
	}
	t.Logf("%d clients, %v, window %v: %d attempts, %d admitted, %d refused by the window, %d by a cap; at most %d streams, %d of one viewer; %d full windows of exactly %d; "+
		"heap %d MiB before, %d MiB at most, %d MiB after", loadClients, form.lasts, form.window, got.attempts, got.admitted, got.limited, got.attempts-got.admitted-got.limited,
		got.most, got.mostOfOne, got.full, fleet.DefaultAttempts, began>>20, peak>>20, after>>20)
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// run lets the clients attempt until the time is over, and answers the largest heap. Attempts under way are finished, so that both
// sides count the same.
func run(t *testing.T, s *Server, form load, clients *tally) (peak uint64) {
	ctx, cancel := context.WithTimeout(t.Context(), form.lasts)
	defer cancel()
	transport := &http.Transport{MaxIdleConnsPerHost: loadClients, DisableCompression: true}
	defer transport.CloseIdleConnections()
	var wg sync.WaitGroup
	for i := range loadClients {
		wg.Go(func() {
			viewer := i % loadViewers
			timer := time.NewTimer(form.pause * time.Duration(i) / loadClients) // not all at once
			defer timer.Stop()
			for turn := 0; ; turn++ {
				select {
				case <-ctx.Done():
					return
				case <-timer.C:
				}
				if err := attempt(ctx, transport, s.URL(), viewer, time.Duration(1+(i+turn)%4)*form.window/4, clients); err != nil {
					t.Error(err)
					return
				}
				timer.Reset(form.pause)
			}
		})
	}
	for tick := time.NewTicker(100 * time.Millisecond); ctx.Err() == nil; {
		select {
		case <-tick.C:
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapAlloc)
		case <-ctx.Done():
			tick.Stop()
		}
	}
	wg.Wait()
	return peak
}

// attempt makes one connect, and holds a stream that it got for a while.
func attempt(ctx context.Context, transport http.RoundTripper, url string, viewer int, hold time.Duration, clients *tally) error {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", fmt.Sprintf("Bearer TOKEN-%d", viewer))
	res, err := transport.RoundTrip(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	key := fmt.Sprintf("provider:load:%d", viewer)
	if res.StatusCode == http.StatusOK {
		clients.add(key, "200 admitted")
		done, cancel := context.WithTimeout(ctx, hold)
		defer cancel()
		defer context.AfterFunc(done, func() { _ = res.Body.Close() })()
		_, err := io.Copy(io.Discard, res.Body)
		if done.Err() == nil {
			return fmt.Errorf("a stream was ended by the server: %w", errors.Join(err, io.EOF))
		}
		return nil
	}
	body, err := io.ReadAll(res.Body)
	_, word, _ := strings.Cut(string(body), `"error":"`)
	clients.add(key, fmt.Sprintf("%d %s", res.StatusCode, strings.TrimSuffix(word, `"}`)))
	return err
}

// found is what the replay of an admission log shows.
type found struct {
	answers                     map[string]map[string]int
	attempts, admitted, limited int
	most, mostOfOne             int
	full                        int // windows with an attempt beyond the 30th
}

// replay holds every line of the log against a model of its own: the window by the history of the key, the caps by who is open.
func replay(t *testing.T, log []entry, window int64) found {
	t.Helper()
	got := found{answers: map[string]map[string]int{}}
	open := map[uint32]string{}
	held := map[string]int{}
	history := map[string][]int64{} // attempts since the key's window began
	passed := map[string]int{}      // of that window, not refused by it
	for i, e := range log {
		if e.kind == trace.ServerClosed {
			held[open[e.epoch]]--
			delete(open, e.epoch)
			continue
		}
		past := history[e.key]
		if len(past) > 0 && e.at-past[0] >= window {
			past, passed[e.key] = nil, 0
		}
		history[e.key] = append(past, e.at)
		n := len(history[e.key])
		want := "200 admitted"
		switch {
		case n > 30:
			want = "429 fleet: too many stream attempts"
		case len(open) == 64:
			want = "429 fleet: stream cap reached (total)"
		case held[e.key] == 8:
			want = "429 fleet: stream cap reached (per viewer)"
		}
		if e.answer != want {
			t.Fatalf("line %d of the log, %s at %d ms, attempt %d of its window, %d open, %d its own: %s, the model says %s", i, e.key, e.at, n, len(open), held[e.key], e.answer, want)
		}
		if e.answer == "429 fleet: too many stream attempts" {
			got.limited++
			if n == 31 {
				if got.full++; passed[e.key] != 30 {
					t.Fatalf("line %d: %d passed the window of %s", i, passed[e.key], e.key)
				}
			}
		} else {
			passed[e.key]++
		}
		if e.answer == "200 admitted" {
			got.admitted++
			open[e.epoch] = e.key
			held[e.key]++
			got.most, got.mostOfOne = max(got.most, len(open)), max(got.mostOfOne, held[e.key])
		}
		got.attempts++
		if got.answers[e.key] == nil {
			got.answers[e.key] = map[string]int{}
		}
		got.answers[e.key][e.answer]++
	}
	if len(open) != 0 {
		t.Errorf("%d streams have no end in the log", len(open))
	}
	return got
}
