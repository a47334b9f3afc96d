package simulator

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/trace"
)

// asTB lets a rapid test stand where the rig wants a testing.TB.
func asTB(t *rapid.T) testing.TB { return rapidTB{t: t} }

type rapidTB struct {
	testing.TB
	t *rapid.T
}

func (r rapidTB) Helper()                   {}
func (r rapidTB) Fatal(a ...any)            { r.t.Fatal(a...) }
func (r rapidTB) Fatalf(f string, a ...any) { r.t.Fatalf(f, a...) }

// reader is the simplest honest client: it applies what it gets, and names its position when it comes back.
type reader struct {
	rows   *Rows
	seq    event.Seq
	cursor string
	read   int // events of the connection that were looked at
}

// take applies what connection c brought. It fails on a wrong number: without faults the stream has no gap and no repeat.
func (d *reader) take(t *rapid.T, got []sseEvent) {
	for _, e := range got[d.read:] {
		var doc struct {
			Type     string
			Sequence event.Seq
			Code     string
		}
		if err := json.Unmarshal([]byte(e.data), &doc); err != nil {
			t.Fatalf("%q: %v", e.data, err)
		}
		switch doc.Type {
		case "status":
		case "error":
			d.cursor = "" // expired or lost: start over
		case "snapshot":
			d.apply(t, e, doc.Sequence)
		default:
			if doc.Sequence != d.seq+1 {
				t.Fatalf("sequence %d behind %d", doc.Sequence, d.seq)
			}
			d.apply(t, e, doc.Sequence)
		}
	}
	d.read = len(got)
}

func (d *reader) apply(t *rapid.T, e sseEvent, seq event.Seq) {
	if err := d.rows.Apply([]byte(e.data)); err != nil {
		t.Fatalf("%s: %v", e.data, err)
	}
	d.seq, d.cursor = seq, e.id
}

// roamer is a client that applies what it gets and comes back with its position, on one of the two streams.
type roamer struct {
	reader
	t         *rapid.T
	r         *rig
	ws        bool
	c         Conn // 0: not connected
	restarted int
}

func newRoamer(t *rapid.T) *roamer {
	r := newRig(asTB(t), Options{Head: event.Seq(rapid.IntRange(0, 50).Draw(t, "head")), Rows: rapid.IntRange(-1, 9).Filter(func(n int) bool { return n != 0 }).Draw(t, "rows"),
		Retention: rapid.IntRange(1, 6).Draw(t, "retention"), QueueEvents: rapid.IntRange(1, 6).Draw(t, "queue"),
		Expiry: rapid.SampledFrom([]string{"frame", "gone", "rejected"}).Draw(t, "expiry")})
	return &roamer{reader: reader{rows: NewRows("incidents")}, t: t, r: r, ws: rapid.Bool().Draw(t, "websocket")}
}

// look applies what has come, and holds the rows to the feed's at that sequence.
func (d *roamer) look() {
	r, c := d.r, d.c
	if c == 0 {
		return
	}
	wire := SSE
	if d.ws {
		wire = WebSocket
		d.take(d.t, r.asEvents(c))
	} else {
		d.take(d.t, r.events(c))
	}
	if want, ok := r.sim.Digest(d.seq); d.cursor != "" && d.cursor == r.sim.CursorOn(wire, d.seq) && ok && want != d.rows.Digest() {
		d.t.Fatalf("other rows than the feed's at %d", d.seq)
	}
	if _, over := r.closed[c]; over {
		if r.head[c].Status == 410 {
			d.cursor = ""
		}
		d.c = 0
	}
}

func (d *roamer) connect() {
	switch {
	case d.c != 0:
		return
	case d.ws:
		d.c = d.r.dial("/ws?mode=snapshot-then-delta&cursor="+d.cursor, nil)
	default:
		d.c = d.r.get("/stream?mode=snapshot-then-delta", d.cursor)
	}
	d.read = 0
}

// step is one thing that happens to the feed, the server or the connection.
func (d *roamer) step() {
	t, r := d.t, d.r
	switch rapid.IntRange(0, 20).Draw(t, "step") {
	case 0:
		r.must(r.sim.Trim(r.clock(), rapid.IntRange(0, 5).Draw(t, "keep")))
	case 1:
		if rapid.IntRange(0, 3).Draw(t, "really") == 0 { // a restart takes the position away, and resumes are what this is about
			d.restart()
		}
	case 2:
		r.sim.Pause(r.clock())
	case 3:
		r.sim.Resume(r.clock())
		r.drain()
	case 4, 8, 9, 10:
		if d.c != 0 {
			d.look()
			r.sim.Gone(r.clock(), d.c)
			r.drain()
			d.c = 0
		}
	case 5:
		if r.hold = !r.hold; !r.hold {
			d.catchUp()
		}
	case 6, 7, 11, 12, 13:
		d.connect()
	default:
		r.publish(rapid.SampledFrom([]string{AutoUpsert, AutoDelete, AutoDelta, AutoMixed}).Draw(t, "kind"), rapid.IntRange(1, 6).Draw(t, "n"))
	}
	d.look()
}

func (d *roamer) restart() {
	r := d.r
	if r.sim.Restart(r.clock(), Restart{Head: r.sim.feed.head - event.Seq(rapid.IntRange(0, 3).Draw(d.t, "back")), Epoch: rapid.Bool().Draw(d.t, "epoch")}) == nil {
		d.restarted++
	}
	r.drain()
	d.look()
	d.cursor = "" // what a client must do that holds an epoch or a number above the head; the honest server would tell it
}

// catchUp lets every connection write what was held.
func (d *roamer) catchUp() {
	for k := Conn(1); k <= d.r.conns; k++ {
		d.r.written(k)
	}
}

// settle ends every disturbance, and holds the client to the head.
func (d *roamer) settle() {
	r := d.r
	r.hold = false
	d.catchUp()
	r.sim.Resume(r.clock())
	r.drain()
	for range 3 { // expired, snapshot, caught up
		d.look()
		d.connect()
	}
	d.look()
	if d.seq != r.sim.feed.head || d.rows.Digest() != r.sim.feed.digestNow() {
		d.t.Fatalf("ended at %d of %d with other rows", d.seq, r.sim.feed.head)
	}
}

// TestConverges: whatever is published, trimmed, restarted, paused and cut, a client that applies what it gets and comes back with
// its position has the feed's rows at every sequence it reaches, and at the head in the end.
func TestConverges(t *testing.T) {
	restarted, answers := 0, map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		d := newRoamer(t)
		for range rapid.IntRange(20, 80).Draw(t, "steps") {
			d.step()
		}
		d.settle()
		restarted += d.restarted
		for _, rec := range d.r.records {
			if rec.Kind == trace.ServerRequest {
				answers[rec.Detail]++
			}
		}
	})
	if answers["resumed"] < 10 || answers["expired"] < 10 || restarted < 10 {
		t.Errorf("the paths were not reached: %v, %d restarts", answers, restarted)
	}
	t.Logf("%v, %d restarts", answers, restarted)
}

// TestNeverStuck: any schedule and any inputs: no panic, no endless loop, a deadline never in the past, every closed connection
// stays closed, and the same inputs give the same bytes and records.
func TestNeverStuck(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type input struct{ kind, a, b int }
		faults := rapid.SliceOfN(rapid.Custom(anyFault), 0, 6).Draw(t, "faults")
		inputs := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) input {
			return input{rapid.IntRange(0, 17).Draw(t, "kind"), rapid.IntRange(0, 20).Draw(t, "a"), rapid.IntRange(0, 5).Draw(t, "b")}
		}), 1, 30).Draw(t, "inputs")
		subscribe := rapid.SampledFrom([]string{"none", "first"}).Draw(t, "subscribe")
		run := func() string {
			r := newRig(asTB(t), Options{Retention: 5, QueueEvents: 4, QueueBytes: 3000, Heartbeat: 3 * time.Second, Stall: 20 * time.Second,
				Connections: 4, Deflate: "takeover", Subscribe: subscribe, ODataPageSize: 2, ODataCycles: 2, Schedule: Schedule{faults}})
			h := sha256.New()
			for _, in := range inputs {
				switch in.kind {
				case 0, 1, 2:
					r.publish([]string{AutoUpsert, AutoDelete, AutoDelta, AutoMixed}[in.a%4], in.b+1)
				case 3, 4:
					position := ""
					if in.a%2 == 0 {
						position = cursor(SSE, 7+in.a%4/3, event.Seq(in.b))
					}
					r.get("/stream", position)
				case 10, 11:
					target := "/ws"
					if in.a%2 == 0 {
						target += "?cursor=" + cursor(WebSocket, 7+in.a%4/3, event.Seq(in.b))
					}
					r.dial(target, map[string]string{"Sec-Websocket-Extensions": []string{"", "permessage-deflate"}[in.b%2]})
				case 12, 13:
					said := [][]byte{clientBytes(0x89, []byte("p")), clientBytes(0x8a, nil), clientBytes(0x88, closePayload(1000, "")), clientBytes(0x81, []byte("hello")),
						clientBytes(0x80, nil), {0x81, 0x01, 'x'}, {0x89}, {0x80}}
					r.say(Conn(in.b+1), said[in.a%len(said)])
				case 14:
					r.track()
				case 15:
					r.poll(deltaToken(7+in.a%4/3, event.Seq(in.b), int64(in.a%2)))
				case 16, 17:
					r.odata("GET", r.named(Conn(in.a%3)), Header{"Odata-Maxversion": {[]string{"4.0", "4.01"}[in.b%2]}})
				case 5:
					r.advance(time.Duration(in.a) * time.Second)
				case 6:
					r.hold = !r.hold
					for c := Conn(1); c <= r.conns && !r.hold; c++ {
						r.written(c)
					}
				case 7:
					r.sim.Gone(r.clock(), Conn(in.b))
				case 8:
					_ = r.sim.Restart(r.clock(), Restart{Head: event.NoSeq, Epoch: in.a%2 == 0})
				case 9:
					if r.sim.Pause(r.clock()); in.a%2 == 0 {
						r.sim.Resume(r.clock())
					}
				}
				r.drain()
			}
			fmt.Fprint(h, r.log.String())
			for c := Conn(1); c <= r.conns; c++ {
				if b := r.body[c]; b != nil {
					h.Write(b.Bytes())
				}
			}
			closed := map[uint32]int{}
			for _, rec := range r.records {
				if rec.Kind == trace.ServerClosed {
					closed[rec.Epoch]++
				} else if closed[rec.Epoch] > 0 && rec.Epoch > 0 {
					t.Fatalf("connection %d spoke after its end: %+v", rec.Epoch, rec)
				}
				if closed[rec.Epoch] > 1 {
					t.Fatalf("connection %d ended twice", rec.Epoch)
				}
			}
			return hex.EncodeToString(h.Sum(nil))
		}
		if a, b := run(), run(); a != b {
			t.Fatal("the same inputs gave something else")
		}
	})
}

// anyFault draws a valid entry of a schedule.
func anyFault(t *rapid.T) Fault {
	spec := registry[rapid.IntRange(0, len(registry)-1).Draw(t, "fault")]
	f := Fault{Name: spec.Name, With: map[string]string{}, Times: rapid.SampledFrom([]int{0, 1, 3, Always}).Draw(t, "times")}
	for _, trigger := range spec.At {
		if rapid.IntRange(0, 2).Draw(t, trigger) != 0 {
			continue
		}
		n := rapid.IntRange(1, 12).Draw(t, "n")
		switch trigger {
		case "connection":
			f.At.Connection = n
		case "request":
			f.At.Request = []string{"resume", "snapshot"}[n%2]
		case "sequence":
			f.At.Sequence = event.Seq(n)
		case "event":
			f.At.Event = n
		case "byte":
			f.At = At{Byte: int64(n * 50)} // stands alone
		case "ms":
			if f.At.Byte == 0 {
				f.At.After = time.Duration(n) * time.Second
			}
		}
	}
	if wires := spec.wires(); len(wires) > 0 && rapid.IntRange(0, 3).Draw(t, "aimed") == 0 {
		f.At.Wire = rapid.SampledFrom(wires).Draw(t, "wire")
	}
	if f.At.Byte != 0 {
		f.At.Sequence, f.At.Event, f.At.After = 0, 0, 0
	}
	if f.At.Wire == OData {
		f.At.Event, f.At.After = min(f.At.Event, 1), 0
	}
	for _, p := range spec.Params {
		if spec.Name != "oversize" && rapid.Bool().Draw(t, p.Name) {
			continue // the default; that of oversize is 16 MiB
		}
		switch {
		case p.Kind == "integer":
			f.With[p.Name] = fmt.Sprint(rapid.Int64Range(p.Min, min(p.Max, p.Min+3000)).Draw(t, "value"))
		case p.Kind == "boolean":
			f.With[p.Name] = "true"
		case len(p.Values) > 0:
			f.With[p.Name] = rapid.SampledFrom(p.Values).Draw(t, "value")
		}
	}
	return f
}
