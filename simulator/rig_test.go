package simulator

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/conform-dev/conform/core/trace"
)

// rig drives a simulator by hand: one clock, connections numbered from 1, everything that was put out kept.
type rig struct {
	t          testing.TB
	sim        *Simulator
	now        time.Duration
	conns      Conn
	hold       bool // do not report bytes as written
	body       map[Conn]*bytes.Buffer
	head       map[Conn]*Head
	closed     map[Conn]CloseKind
	pending    map[Conn]int
	records    []trace.Record
	log        strings.Builder // everything in order, for people
	credential string          // of the next request
	pages      map[Conn]bool   // of the OData wire: shown whole
	sockets    map[Conn][]byte // WebSockets, and the part of a frame that is not whole yet
}

const rigWall = 1785124800000 // 2026-07-27T04:00:00Z

func newRig(t testing.TB, opt Options) *rig {
	t.Helper()
	sim, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, sim: sim, body: map[Conn]*bytes.Buffer{}, head: map[Conn]*Head{}, closed: map[Conn]CloseKind{}, pending: map[Conn]int{}, pages: map[Conn]bool{}}
	r.drain()
	return r
}

func (r *rig) clock() Now { return Now{r.now, rigWall + r.now.Milliseconds()} }

func (r *rig) drain() {
	for {
		o, ok := r.sim.Take()
		if !ok {
			return
		}
		switch {
		case o.Record != nil:
			r.records = append(r.records, *o.Record)
			r.log.WriteString("  trace " + brief(*o.Record) + "\n")
		case o.Head != nil:
			r.head[o.Conn], r.body[o.Conn] = o.Head, &bytes.Buffer{}
			fmt.Fprintf(&r.log, "%d head %d%s\n", o.Conn, o.Head.Status, headers(o.Head.Header))
		case o.Close != nil:
			r.closed[o.Conn] = o.Close.Kind
			fmt.Fprintf(&r.log, "%d close %s\n", o.Conn, o.Close.Kind)
		default:
			r.body[o.Conn].Write(o.Bytes)
			owed := ""
			if o.Owed > 0 {
				owed = fmt.Sprintf(" and %d bytes never", o.Owed)
			}
			if !r.frames(o.Conn, o.Bytes) {
				text := show(o.Bytes)
				if r.pages[o.Conn] && len(o.Bytes) < 4000 {
					text = string(o.Bytes)
				}
				fmt.Fprintf(&r.log, "%d bytes %s%s\n", o.Conn, text, owed)
			}
			r.pending[o.Conn] += len(o.Bytes)
			if !r.hold {
				r.written(o.Conn)
			}
		}
	}
}

func (r *rig) written(c Conn) {
	n := r.pending[c]
	r.pending[c] = 0
	r.sim.Written(r.clock(), c, n)
	r.drain()
}

// get opens a connection; position goes into the Last-Event-ID header.
func (r *rig) get(target, position string) Conn {
	r.conns++
	h := Header{}
	if position != "" {
		h["Last-Event-Id"] = []string{position}
	}
	if r.credential != "" {
		h["Authorization"] = []string{r.credential}
	}
	r.sim.Request(r.clock(), r.conns, Request{Method: "GET", Target: target, Header: h})
	r.drain()
	return r.conns
}

// advance moves the clock, stopping at each deadline on the way.
func (r *rig) advance(d time.Duration) {
	end := r.now + d
	for {
		at, ok := r.sim.Deadline()
		if !ok || at > end {
			break
		}
		if at < r.now {
			r.t.Fatalf("deadline %v lies before now %v", at, r.now)
		}
		was := r.now
		r.now = at
		n := r.log.Len()
		r.sim.Wake(r.clock())
		r.drain()
		if next, ok := r.sim.Deadline(); ok && next == at && was == at && r.log.Len() == n {
			r.t.Fatalf("deadline %v comes back although nothing happened", at)
		}
	}
	r.now = end
	r.sim.Wake(r.clock())
	r.drain()
}

func (r *rig) publish(kind string, n int) {
	r.t.Helper()
	if _, err := r.sim.PublishAuto(r.clock(), kind, n); err != nil {
		r.t.Fatal(err)
	}
	r.drain()
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
	r.drain()
}

// events reads what connection c was sent.
func (r *rig) events(c Conn) []sseEvent { return readSSE(r.body[c].Bytes()) }

func headers(h Header) string {
	out := ""
	for _, name := range []string{"Content-Type", "Retry-After", "Location", "Allow", "Content-Encoding",
		"Odata-Version", "Preference-Applied", "Upgrade", "Connection", "Sec-Websocket-Accept", "Sec-Websocket-Protocol", "Sec-Websocket-Extensions", "Sec-Websocket-Version"} {
		if v, ok := h[name]; ok {
			out += fmt.Sprintf(" %s=%q", name, v[0])
		}
	}
	return out
}

// show makes bytes readable: one escape per line end.
func show(b []byte) string {
	s := string(b)
	if len(s) > 600 {
		s = fmt.Sprintf("%s...(%d bytes)", s[:200], len(s))
	}
	return strings.NewReplacer("\n", `\n`, "\r", `\r`, "\ufeff", `<BOM>`).Replace(s)
}

func brief(r trace.Record) string {
	out := fmt.Sprintf("t=%d %s", r.T, r.Kind)
	if r.Epoch != 0 {
		out += fmt.Sprintf(" #%d", r.Epoch)
	}
	for _, s := range []struct{ name, text string }{{"", r.Type}, {"status=", r.Status}, {"", r.Detail}, {"id=", r.ID}} {
		if s.text != "" {
			out += " " + s.name + s.text
		}
	}
	if r.Seq.Valid() {
		out += fmt.Sprintf(" seq=%d", r.Seq)
	}
	if why := r.Args["why"]; why != "" {
		out += " why=" + why
	}
	return out
}

// sseEvent is one block as a reader sees it.
type sseEvent struct{ id, event, data string }

// readSSE is a small reader of the standard's grammar, written for these tests alone.
func readSSE(b []byte) []sseEvent {
	text := strings.TrimPrefix(string(b), "\ufeff")
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	var out []sseEvent
	var e sseEvent
	var data []string
	for _, line := range strings.SplitAfter(text, "\n") {
		line, whole := strings.CutSuffix(line, "\n")
		if !whole {
			break
		}
		if line == "" {
			if data != nil {
				e.data = strings.Join(data, "\n")
				out = append(out, e)
			}
			e, data = sseEvent{}, nil
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "id":
			if !strings.Contains(value, "\x00") {
				e.id = value
			}
		case "event":
			e.event = value
		case "data":
			data = append(data, value)
		}
	}
	return out
}
