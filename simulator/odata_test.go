package simulator

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/trace"
)

// odataReader is the simplest honest client: it follows the links and applies what they bring.
type odataReader struct {
	r       *rig
	rows    *Rows
	seq     event.Seq
	next    string // query of the link to follow; empty to begin again
	held    bool   // it has read a snapshot
	upserts []map[string]any
	deletes []map[string]any
}

// step asks once. It fails on a number that does not follow: without faults there is no gap and no repeat.
func (d *odataReader) step(t *rapid.T, asked Conn) {
	r := d.r
	if r.head[asked].Status != 200 {
		d.next = ""
		return
	}
	if _, over := r.closed[asked]; !over || r.body[asked].Len() == 0 {
		d.next = "" // a pause held it back, or it was cut: begin again
		return
	}
	p := r.page(asked)
	delta := strings.HasSuffix(p.text("@odata.context"), "/$delta")
	for _, e := range p.Value {
		id, removed := e["id"].(string)
		if removed = strings.HasSuffix(contextOf(e), "$deletedEntity"); removed {
			key := strings.TrimSuffix(strings.TrimPrefix(id, "incidents('"), "')")
			d.deletes = append(d.deletes, map[string]any{"id": key})
			continue
		}
		d.upserts = append(d.upserts, e)
	}
	if link := p.link("nextLink"); link != "" {
		_, query, _ := strings.Cut(link, "?")
		d.next = "?" + query
		return
	}
	seq := event.Seq(p.number("@conform.sequence"))
	doc := map[string]any{"type": "snapshot", "features": d.upserts}
	if delta {
		doc = map[string]any{"type": "delta", "upserts": d.upserts, "deletes": d.deletes}
	}
	changed := len(d.upserts)+len(d.deletes) > 0
	switch {
	case delta && changed && seq != d.seq+1, delta && !changed && seq != d.seq:
		t.Fatalf("sequence %d behind %d", seq, d.seq)
	case !delta || changed:
		text, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.rows.Apply(text); err != nil {
			t.Fatal(err)
		}
	}
	d.seq, d.held, d.upserts, d.deletes = seq, true, nil, nil
	_, query, _ := strings.Cut(p.link("deltaLink"), "?")
	d.next = "?" + query
}

func contextOf(e map[string]any) string {
	s, _ := e["@odata.context"].(string)
	return s
}

// ask follows the link, or begins again.
func (d *odataReader) ask() Conn {
	if d.next == "" {
		d.upserts, d.deletes = nil, nil
		return d.r.track()
	}
	return d.r.odata("GET", d.next, Header{})
}

// TestODataConverges: whatever is published, trimmed, restarted and paused, a client that follows the links has the feed's rows at every
// sequence that it reaches, and at the head in the end; while it reads pages the feed moves on.
func TestODataConverges(t *testing.T) {
	rounds, pages, dead := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		r := newRig(asTB(t), Options{Rows: rapid.IntRange(1, 9).Draw(t, "rows"), Retention: rapid.IntRange(1, 12).Draw(t, "retention"),
			ODataPageSize: rapid.IntRange(1, 4).Draw(t, "page"), ODataCycles: rapid.IntRange(1, 3).Draw(t, "cycles")})
		d := odataReader{r: r, rows: NewRows("incidents")}
		poll := func() {
			d.step(t, d.ask())
			if want, ok := r.sim.Digest(d.seq); ok && d.held && len(d.upserts)+len(d.deletes) == 0 && d.next != "" && want != d.rows.Digest() {
				t.Fatalf("other rows than the feed's at %d", d.seq)
			}
		}
		for range rapid.IntRange(20, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 12).Draw(t, "step") {
			case 0:
				r.must(r.sim.Trim(r.clock(), rapid.IntRange(0, 5).Draw(t, "keep")))
			case 1:
				_ = r.sim.Restart(r.clock(), Restart{Head: r.sim.feed.head - event.Seq(rapid.IntRange(0, 2).Draw(t, "back")), Epoch: rapid.Bool().Draw(t, "epoch")})
				r.drain()
				d.next = "" // a number below the head may be of another history
			case 2:
				r.sim.Pause(r.clock())
			case 3, 4:
				r.sim.Resume(r.clock())
				r.drain()
			case 5, 6:
				r.publish(rapid.SampledFrom([]string{AutoUpsert, AutoDelete, AutoDelta, AutoMixed}).Draw(t, "kind"), rapid.IntRange(1, 3).Draw(t, "n"))
			case 7:
				r.track() // somebody else, whose cycles take places
			default:
				poll()
			}
		}
		r.sim.Resume(r.clock())
		r.drain()
		for range 200 {
			if d.held && d.next != "" && len(d.upserts) == 0 && d.seq == r.sim.feed.head && strings.Contains(d.next, "deltatoken") {
				break
			}
			poll()
		}
		if d.seq != r.sim.feed.head || d.rows.Digest() != r.sim.feed.digestNow() {
			t.Fatalf("ended at %d of %d with other rows", d.seq, r.sim.feed.head)
		}
		st := r.sim.State().OData
		rounds, pages, dead = rounds+st.Rounds, pages+st.Pages, dead+st.Dead
		if st.Held > 3 {
			t.Fatalf("%d cycles are held", st.Held)
		}
	})
	if rounds < 10 || pages < 10 || dead < 10 {
		t.Errorf("the paths were not reached: %d rounds, %d pages, %d dead tokens", rounds, pages, dead)
	}
	t.Logf("%d rounds, %d pages, %d dead tokens", rounds, pages, dead)
}

// TestODataRetention: a token k changes behind the head goes on, one k+1 changes behind is dead, for every retention.
func TestODataRetention(t *testing.T) {
	for k := 1; k <= 5; k++ {
		r := newRig(t, Options{Rows: 1, Retention: k})
		r.publish(AutoUpsert, 8)
		for back := 0; back <= 8; back++ {
			want := 200
			if back > k {
				want = 410
			}
			if got := r.head[r.poll("t-7-"+strconv.Itoa(8-back))].Status; got != want {
				t.Errorf("retention %d, %d behind: %d, want %d", k, back, got, want)
			}
		}
	}
}

// TestODataBounds: pages, cycles and promises are bounded.
func TestODataBounds(t *testing.T) {
	r := newRig(t, Options{Rows: -1, ODataPageBytes: 1000})
	big := `{"text":"` + strings.Repeat("x", 900) + `"}`
	for i := range 5 {
		if _, err := r.sim.Publish(r.clock(), Upsert("r"+strconv.Itoa(i), big)); err != nil {
			t.Fatal(err)
		}
	}
	r.drain()
	if got := len(r.page(r.track()).Value); got != 1 {
		t.Errorf("%d rows of 1,000 bytes on a page of 1,000", got)
	}
	r = newRig(t, Options{Rows: MaxRows})
	c := r.track()
	if got := len(r.page(c).Value); got != DefaultODataPageSize {
		t.Errorf("%d rows on a page", got)
	}
	pages := 1
	for r.page(c).link("nextLink") != "" {
		c = r.follow(c)
		pages++
	}
	if pages != (MaxRows+DefaultODataPageSize-1)/DefaultODataPageSize {
		t.Errorf("%d pages", pages)
	}
	for range DefaultODataCycles + 5 {
		r.track()
	}
	if got := r.sim.State().OData.Held; got != DefaultODataCycles {
		t.Errorf("%d cycles are held", got)
	}
	r = newRig(t, Options{Rows: 1})
	r.must(r.sim.Add(r.clock(), Fault{Name: "duplicate", At: At{Wire: OData, Event: 1}, Times: Always}))
	for range MaxFaults + 5 {
		r.track()
	}
	if got := len(r.sim.odata().owed); got != MaxFaults {
		t.Errorf("%d rounds are owed", got)
	}
}

// TestODataOptions: each setting has a ceiling; above it is an error that names setting, value and bound (D-13).
func TestODataOptions(t *testing.T) {
	for _, c := range []struct {
		opt  Options
		want string
	}{
		{Options{ODataPageSize: MaxODataPageSize + 1}, "odataPageSize: 16385 is not in 1 to 16384"},
		{Options{ODataPageBytes: MaxODataPageBytes + 1}, "odataPageBytes: 67108865 is not in 1 to 67108864"},
		{Options{ODataCycles: MaxODataCycles + 1}, "odataCycles: 257 is not in 1 to 256"},
		{Options{ODataVersion: "3.0"}, `odataVersion: "3.0" is none of negotiate, 4.0, 4.01`},
		{Options{ODataRemoved: "x"}, `odataRemoved: "x" is none of context, annotation`},
		{Options{ODataRejected: "x"}, `odataRejected: "x" is none of gone, bad-request`},
		{Options{ODataLocation: "x"}, `odataLocation: "x" is none of none, fresh`},
		{Options{ODataAnnotations: "x"}, `odataAnnotations: "x" is none of all, none`},
		{Options{ODataPath: "/"}, `odataPath: "/" does not end with a name of letters, digits, dots, dashes and underscores`},
	} {
		if _, err := New(c.opt); err == nil || err.Error() != c.want {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
	if _, err := New(Options{ODataPageSize: MaxODataPageSize, ODataPageBytes: MaxODataPageBytes, ODataCycles: MaxODataCycles}); err != nil {
		t.Errorf("at the ceilings: %v", err)
	}
}

// TestODataRefusesFaults: what makes no sense on this wire is refused with a reason, in a schedule and in Go.
func TestODataRefusesFaults(t *testing.T) {
	for _, c := range []struct{ fault, want string }{
		{"{fault: conflict, at: {wire: odata}}", "a page carries no nested checkpoint"},
		{"{fault: no-position, at: {wire: odata}}", "no-links is its like"},
		{"{fault: merge-snapshot, at: {wire: odata}}", "always replaces"},
		{"{fault: gap-notice, at: {wire: odata}}", "no control frames"},
		{"{fault: insert, at: {wire: odata}}", "no blocks"},
		{"{fault: resumed-false, at: {wire: odata}}", "no connected frame"},
		{"{fault: dialect, at: {wire: odata}}", "about lines"},
		{"{fault: masked-frame, at: {wire: odata}}", "frames of WebSocket"},
		{"{fault: duplicate, at: {wire: odata, ms: 5}}", "connection of its own"},
		{"{fault: gap, at: {wire: odata, event: 2}}", "one event at most"},
		{"{fault: no-links, at: {wire: sse}}", "must be odata"},
	} {
		_, err := ParseSchedule([]byte("faults: [" + c.fault + "]"))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.fault, err, c.want)
		}
	}
	for name, why := range notOnOData {
		_, err := New(Options{Schedule: Schedule{[]Fault{{Name: name, At: At{Wire: OData}}}}})
		if err == nil || !strings.Contains(err.Error(), "the fault "+name+" does not go with odata: "+why) {
			t.Errorf("%s made in Go: %v", name, err)
		}
	}
	for _, s := range Faults() {
		if len(s.wires()) > 0 && !has(s.wires(), OData) && s.whyNot(OData) == "" {
			t.Errorf("%s is refused without a reason", s.Name)
		}
	}
}

// TestODataOlderThanPage: faults that wait for an age or for a second event of a connection never strike a page.
func TestODataOlderThanPage(t *testing.T) {
	r := newRig(t, Options{Rows: 1, Schedule: Schedule{[]Fault{{Name: "cut", At: At{After: 1}}, {Name: "duplicate", At: At{Event: 2}}}}})
	for range 3 {
		r.track()
		r.poll("t-7-0")
	}
	if got := r.sim.State().Struck; len(got) != 0 {
		t.Errorf("struck: %v", got)
	}
}

// TestODataReason: why a row is gone is told as it was published, and a change without deletes has no reason.
func TestODataReason(t *testing.T) {
	r := newRig(t, Options{Rows: 2})
	for _, c := range []Change{{Kind: event.Delete, Deletes: []string{"1"}, Reason: "changed"}, {Kind: event.Delete, Deletes: []string{"2"}, Reason: "deleted"}} {
		if _, err := r.sim.Publish(r.clock(), c); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []string{"changed", "deleted"} {
		if got := r.page(r.poll("t-7-" + strconv.Itoa(i))).Value[0]["reason"]; got != want {
			t.Errorf("reason %v, want %s", got, want)
		}
	}
	for _, c := range []Change{{Kind: event.Delete, Deletes: []string{"1"}, Reason: "gone"},
		{Kind: event.Upsert, Upserts: []Row{{ID: "1", Feature: []byte("{}")}}, Reason: "changed"}} {
		if err := c.Check(); err == nil || err.Error() != "reason: the reason of a delete is deleted or changed" {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestODataWitness: every event that was read to the end stands in the trace once for each time that its last page went out, with the
// digest of the token that this page gave out.
func TestODataWitness(t *testing.T) {
	r := newRig(t, Options{Rows: 3, ODataPageSize: 2})
	c := r.track()
	r.publish(AutoDelta, 1)
	for range 4 { // the rest of the snapshot, a round of two pages, nothing
		c = r.follow(c)
	}
	var got []string
	for _, rec := range r.records {
		if rec.Kind == trace.ServerSent {
			got = append(got, rec.Type+" "+strconv.Itoa(int(rec.Seq))+" "+rec.ID)
			if want := trace.Digest("deltaToken", r.sim.CursorOn(OData, rec.Seq)); rec.DeltaToken != want || rec.Cursor != "" || rec.Args["wire"] != OData {
				t.Errorf("record %+v", rec)
			}
		}
		if rec.Kind == trace.ServerRequest && rec.Seq.Valid() && rec.DeltaToken != trace.Digest("deltaToken", r.sim.CursorOn(OData, rec.Seq)) {
			t.Errorf("record %+v", rec)
		}
	}
	if want := "snapshot 0 s-7-0, delta 1 e-7-1"; strings.Join(got, ", ") != want {
		t.Errorf("sent %s, want %s", strings.Join(got, ", "), want)
	}
}

// TestODataState: the state tells what the collection was asked for, and nothing before it was.
func TestODataState(t *testing.T) {
	r := newRig(t, Options{Rows: 3, ODataPageSize: 2, Retention: 1})
	if r.sim.State().OData != nil {
		t.Error("a state before the first request")
	}
	c := r.follow(r.track())
	r.publish(AutoUpsert, 1)
	r.follow(r.follow(c))
	r.poll("t-6-0")
	if got, want := *r.sim.State().OData, (ODataState{Requests: 5, Pages: 4, Snapshots: 1, Rounds: 1, Unchanged: 1, Dead: 1, Held: 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	r.hold = true
	r.track()
	st := r.sim.State().Connections
	if len(st) != 1 || st[0].Wire != OData || st[0].Waiting == 0 || st[0].Sent != 1 || st[0].Events != 1 {
		t.Errorf("connections %+v", st)
	}
}

// TestODataSecrets: nothing that the server prints or records shows a credential or a token that a client sent.
func TestODataSecrets(t *testing.T) {
	const canary = "canary-4711"
	r := newRig(t, Options{Rows: 1, Accepts: []string{"Bearer " + canary}})
	r.credential = "Bearer " + canary
	for _, target := range []string{"", "?$deltatoken=" + canary, "?$skiptoken=" + canary, "?$filter=" + canary, "?x=" + canary, "?where=" + canary} {
		r.odata("GET", target, Header{"Odata-Maxversion": {"4.0"}})
	}
	r.odata("GET", "", Header{"Odata-Version": {canary}, "Accept": {canary}})
	state, _ := json.Marshal(r.sim.State())
	if strings.Contains(r.log.String()+string(state), canary) {
		t.Error("a secret shows")
	}
	for _, rec := range r.records {
		if text, _ := json.Marshal(rec); strings.Contains(string(text), canary) {
			t.Errorf("a secret in %s", text)
		}
	}
}
