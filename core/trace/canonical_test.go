package trace

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// full is a record in which every member says something.
func full() Record {
	return Record{N: 1, T: 5, Actor: Session, Kind: SessionEnd, Epoch: 1, Ticket: 1, Type: "delta", Merge: true, Seq: 7, ID: "a", Cursor: "c",
		Watermark: "w", Timestamp: "t", DeltaToken: "d", Status: "s", Reason: "r", Detail: "x", Phase: "live", Persisted: true,
		Pending: 1, Accepted: 1, Duplicates: 1, Gaps: 1, Overflows: 1, Ms: 1, Args: map[string]string{"rows": "1"}}
}

// TestCanonicalKeepsAndDrops changes each member of a record: a kept one must make a difference, a dropped one none.
func TestCanonicalKeepsAndDrops(t *testing.T) {
	for _, lane := range Lanes {
		gone := map[string]bool{}
		for _, d := range drops {
			if d.why == "" {
				t.Errorf("%s is dropped without a reason", d.member)
			}
			if d.exact || !lane.Exact() {
				gone[d.member] = true
			}
		}
		base := Canonical([]Record{full()}, lane)
		typ := reflect.TypeFor[Record]()
		for i := range typ.NumField() {
			name := typ.Field(i).Name
			changed := full()
			switch f := reflect.ValueOf(&changed).Elem().Field(i); f.Kind() {
			case reflect.String:
				f.SetString(f.String() + "2")
			case reflect.Bool:
				f.SetBool(!f.Bool())
			case reflect.Int, reflect.Int64:
				f.SetInt(f.Int() + 1)
			case reflect.Uint32, reflect.Uint64:
				f.SetUint(f.Uint() + 1)
			case reflect.Map:
				f.Set(reflect.ValueOf(map[string]string{"rows": "2"}))
			default:
				t.Fatalf("no change known for member %s", name)
			}
			same := cmp.Equal(base, Canonical([]Record{changed}, lane))
			if same != gone[name] {
				t.Errorf("lane %s, member %s: difference %v, dropped %v", lane, name, !same, gone[name])
			}
		}
	}
}

func TestCanonicalDropsArguments(t *testing.T) {
	base := Canonical([]Record{full()}, Virtual)
	for name, why := range dropArgs {
		r := full()
		r.Args[name] = "1"
		if d := cmp.Diff(base, Canonical([]Record{r}, Virtual)); d != "" || why == "" {
			t.Errorf("%s (%s): %s", name, why, d)
		}
		if r.Args[name] != "1" {
			t.Errorf("%s was taken out of the caller's record", name)
		}
	}
}

func TestCanonicalDropsKindsOfWallTime(t *testing.T) {
	for _, d := range dropKinds {
		r := New(d.actor, d.kind)
		r.Status = d.status
		if got := Canonical([]Record{r}, Process); len(got) != 0 {
			t.Errorf("kept %v", got)
		}
		if got := Canonical([]Record{r}, Virtual); len(got) != 1 {
			t.Errorf("the virtual lane lost %s %s", d.actor, d.kind)
		}
	}
	r := New(Session, SessionSignal)
	r.Status = "open"
	if got := Canonical([]Record{r}, Process); len(got) != 1 {
		t.Error("another signal was lost")
	}
}

// TestCanonicalDropsWhoHangsUpFirst, but not how else a connection ended.
func TestCanonicalDropsWhoHangsUpFirst(t *testing.T) {
	end := func(how, why string) []Record {
		r := New(Server, ServerClosed)
		r.Epoch, r.Detail = 1, how
		if why != "" {
			r.Args = map[string]string{"why": why}
		}
		return []Record{r}
	}
	if !cmp.Equal(Canonical(end("eof", "cursor-expired"), Process), Canonical(end("gone", ""), Process)) {
		t.Error("who hangs up first makes a difference")
	}
	if cmp.Equal(Canonical(end("cut", ""), Process), Canonical(end("gone", ""), Process)) {
		t.Error("a cut makes none")
	}
	if cmp.Equal(Canonical(end("eof", ""), Virtual), Canonical(end("gone", ""), Virtual)) {
		t.Error("it is exact in virtual time")
	}
}

func TestCanonicalDropsPorts(t *testing.T) {
	for in, want := range map[string]string{
		"dial tcp 127.0.0.1:43211: connection refused":  "dial tcp 127.0.0.1:port: connection refused",
		"read tcp [::1]:1->[::1]:65535: reset":          "read tcp [::1]:port->[::1]:port: reset",
		"localhost:8080 127.0.0.1:":                     "localhost:port 127.0.0.1:",
		"status 127":                                    "status 127",
		"read tcp 127.0.0.1:1->127.0.0.1:2, localhost:": "read tcp 127.0.0.1:port->127.0.0.1:port, localhost:",
	} {
		if got := dropPorts(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

// TestCanonicalIgnoresInterleaving: what two actors do beside each other has no order in wall time, and has one in
// virtual time only within an actor.
func TestCanonicalIgnoresInterleaving(t *testing.T) {
	rec := func(a Actor, k Kind, seq int64, epoch uint32) Record {
		r := New(a, k)
		r.Seq, r.Epoch = 0, epoch
		r.Ms = seq
		return r
	}
	a := []Record{rec(Gate, GateEnqueue, 1, 0), rec(Gate, GateApply, 1, 0), rec(Gate, GateEnqueue, 2, 0), rec(Server, ServerSent, 1, 1), rec(Server, ServerPublish, 2, 0), rec(Server, ServerSent, 2, 2)}
	b := []Record{a[3], a[5], a[0], a[2], a[1], a[4]}
	if d := cmp.Diff(Canonical(a, Process), Canonical(b, Process)); d != "" {
		t.Error(d)
	}
	if cmp.Equal(Canonical(a, Virtual), Canonical(b, Virtual)) {
		t.Error("the virtual lane lost the order within the gate")
	}
	swapped := []Record{a[2], a[1], a[0], a[3], a[4], a[5]}
	if cmp.Equal(Canonical(a, Process), Canonical(swapped, Process)) {
		t.Error("the order of two inputs was lost")
	}
	for i, r := range Canonical(a, Process) {
		if r.N != i+1 {
			t.Errorf("record %d has number %d", i+1, r.N)
		}
	}
}

// TestCanonicalKeepsTheLastState of each gate: what is shown between depends on the batches.
func TestCanonicalKeepsTheLastState(t *testing.T) {
	state := func(duplicates uint64) Record {
		r := New(Gate, GateState)
		r.Duplicates, r.Phase = duplicates, "live"
		return r
	}
	start, delivery := New(Gate, GateStart), New(Gate, GateDelivery)
	together := []Record{start, state(1), delivery, delivery, start, state(1)}
	apart := []Record{start, state(0), delivery, state(1), delivery, start, state(0), state(1)}
	if d := cmp.Diff(Canonical(together, Process), Canonical(apart, Process)); d != "" {
		t.Error(d)
	}
	apart[3].Duplicates = 2
	if cmp.Equal(Canonical(together, Process), Canonical(apart, Process)) {
		t.Error("the counts of the first gate were lost")
	}
	if got := len(Canonical(apart, Virtual)); got != len(apart) {
		t.Errorf("%d of %d records in the virtual lane", got, len(apart))
	}
}

// TestCanonicalOrdersDeliveries of one gate by ticket: which of them waited in the queue depends on the batches. The outcome of
// each ticket, and whose gate it was, do not.
func TestCanonicalOrdersDeliveries(t *testing.T) {
	delivery := func(ticket uint64, status string) Record {
		r := New(Gate, GateDelivery)
		r.Ticket, r.Status = ticket, status
		return r
	}
	start := New(Gate, GateStart)
	a := []Record{start, delivery(1, "error"), delivery(2, "error"), start, delivery(1, "applied")}
	b := []Record{start, delivery(2, "error"), delivery(1, "error"), start, delivery(1, "applied")}
	if d := cmp.Diff(Canonical(a, Process), Canonical(b, Process)); d != "" {
		t.Error(d)
	}
	if cmp.Equal(Canonical(a, Virtual), Canonical(b, Virtual)) {
		t.Error("the virtual lane lost the order")
	}
	b[1], b[4] = b[4], b[1]
	if cmp.Equal(Canonical(a, Process), Canonical(b, Process)) {
		t.Error("the deliveries of two gates were mixed")
	}
}

func TestDigest(t *testing.T) {
	if got := Digest("cursor", "cursor-x"); got != "07c2f3c0c65f326a" {
		t.Errorf("digest of cursor-x is %q", got)
	}
	if Digest("cursor", "") != "" {
		t.Error("absence has a digest")
	}
	if Digest("watermark", "cursor-x") == Digest("cursor", "cursor-x") {
		t.Error("two fields share a digest")
	}
}
