package wire

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/conform-dev/conform/core/event"
	pb "github.com/conform-dev/conform/core/plugin/wire/transportv1"
	"github.com/conform-dev/conform/core/transport"
)

// documents are what a wire may give, good and bad.
var documents = rapid.Custom(func(t *rapid.T) transport.Document {
	d := transport.Document{Cursor: rapid.SampledFrom([]string{"", "c", "other"}).Draw(t, "cursor"), ID: rapid.SampledFrom([]string{"", "e", "x"}).Draw(t, "id")}
	d.JSON = []byte(rapid.SampledFrom([]string{
		``, `1`, `{}`, `{"type":"beep"}`, `{"type":"delta","sequence":7,"cursor":"c","eventId":"e"}`, `{"type":"delta","sequence":-1}`,
		`{"type":"snapshot","features":[],"replace":false,"sequence":9007199254740991,"watermark":"w","timestamp":"t","deltaToken":"d"}`,
		`{"type":"snapshot","features":{}}`, `{"type":"delete","id":3,"sequence":9007199254740992,"correlationId":"k","auditId":"a"}`,
		`{"type":"delta","cursor":"a","checkpoint":{"cursor":"b"}}`, `{"type":"upsert","feature":{},"proposalId":"p","operationInstanceId":"o"}`,
		`{"type":"delta","eventId":"` + strings.Repeat("x", event.MaxIDBytes+1) + `"}`, "{\"type\":\"\xff\"}",
	}).Draw(t, "json"))
	return d
})

// A document captured in the plugin and one captured in the host are the same event, and a sink that takes only documents comes
// to the same event, too.
func TestWhereADocumentIsCapturedDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := documents.Draw(rt, "document")
		var want event.Event
		d.Capture(&want)
		var there Item
		if err := there.Capture(d); err != nil {
			rt.Fatal(err)
		}
		if !there.Captured() {
			rt.Fatal("it would cross as a document")
		}
		for name, in := range map[string]*Item{"captured in the plugin": &there, "captured in the host": raw(d)} {
			got, _, err := decode(generated(t, in))
			if err != nil || len(got) != 1 {
				rt.Fatal(name, err)
			}
			bytesOf := cmp.Comparer(func(a, b []byte) bool { return string(a) == string(b) })
			var again event.Event
			got[0].Document().Capture(&again)
			if diff := cmp.Diff(want, again, bytesOf); diff != "" {
				rt.Fatalf("%s, as a document: %s", name, diff)
			}
			if diff := cmp.Diff(want, *got[0].Event(), bytesOf); diff != "" {
				rt.Fatalf("%s: %s", name, diff)
			}
		}
	})
}

func TestLongMembersCrossInTheDocument(t *testing.T) {
	long := strings.Repeat("x", MaxMember)
	for _, name := range []string{"cursor", "watermark", "timestamp", "deltaToken", "operationInstanceId", "correlationId", "auditId", "proposalId"} {
		for extra, captured := range []bool{true, false} {
			d := transport.Document{JSON: fmt.Appendf(nil, `{"type":"delta","sequence":1,%q:"%s"}`, name, long+"y"[:extra]), ID: "i"}
			var it Item
			if err := it.Capture(d); err != nil || it.Captured() != captured {
				t.Fatalf("%s of %d bytes: captured %v, %v", name, MaxMember+extra, it.Captured(), err)
			}
			got, _, err := decode(generated(t, &it))
			if err != nil {
				t.Fatal(err)
			}
			if ev := got[0].Event(); ev.Kind != event.Delta || ev.Pos.Seq != 1 || ev.ID != "i" {
				t.Errorf("%s of %d bytes: %v, %v", name, MaxMember+extra, ev.Kind, ev.Detail)
			}
		}
	}
}

// What a hostile plugin may try with captured members: each is refused before a gate sees it, by name, and never quoted.
func TestCapturedEventsAreChecked(t *testing.T) {
	const canary = "canary"
	long := strings.Repeat("x", MaxMember+1)
	doc := []byte("{}")
	for want, in := range map[string]*pb.Event{
		"event.kind 5 is unknown":                                    {Kind: 5, Document: doc},
		"event.kind -1 is unknown":                                   {Kind: -1, Document: doc},
		"event.merge is set on a delta":                              {Kind: pb.Event_DELTA, Document: doc, Merge: true},
		"event.sequence -1 is outside":                               {Kind: pb.Event_DELTA, Document: doc, Sequence: proto.Int64(-1)},
		"event.sequence 9007199254740992":                            {Kind: pb.Event_DELTA, Document: doc, Sequence: proto.Int64(int64(event.MaxSeq) + 1)},
		"event.id is 4097 bytes long":                                {Kind: pb.Event_DELTA, Document: doc, Id: long[:event.MaxIDBytes+1]},
		"event.cursor is longer":                                     {Kind: pb.Event_DELTA, Document: doc, Cursor: long},
		"event.watermark is longer":                                  {Kind: pb.Event_DELTA, Document: doc, Watermark: long},
		"event.timestamp is longer":                                  {Kind: pb.Event_DELTA, Document: doc, Timestamp: long},
		"event.delta_token is longer":                                {Kind: pb.Event_DELTA, Document: doc, DeltaToken: long},
		"event.correlation is longer":                                {Kind: pb.Event_DELTA, Document: doc, Correlation: &pb.Correlation{Audit: long}},
		"event.document is missing: a delta":                         {Kind: pb.Event_DELTA},
		"event.kind and event.defect are both set":                   {Kind: pb.Event_DELTA, Document: doc, Defect: &pb.Defect{Reason: "invalid-event"}},
		"event.defect.reason is missing":                             {Kind: pb.Event_DELTA, Document: doc, Defect: &pb.Defect{}},
		"event.defect.reason is none of the contract's reasons (6 b": {Document: doc, Defect: &pb.Defect{Reason: canary}},
		`event.defect.reason "cursor-expired" is none that capture`:  {Document: doc, Defect: &pb.Defect{Reason: "cursor-expired"}},
		"event.defect.hole does not go with checkpoint-conflict":     {Document: doc, Defect: &pb.Defect{Reason: "checkpoint-conflict", Hole: true}},
		"event.defect.detail is 1025 bytes long":                     {Document: doc, Defect: &pb.Defect{Reason: "invalid-event", Detail: long[:MaxDetail+1]}},
		"event.kind is missing: there are captured members":          {Document: doc, Defect: &pb.Defect{Reason: "invalid-event"}, Sequence: proto.Int64(1)},
		"event.kind is missing: there are":                           {Document: doc, Watermark: canary},
		"event.cursor or event.id is longer than 523264 bytes":       {Document: doc, Id: strings.Repeat("x", MaxFraming+1)},
		"event.document and event.document_bytes are both set":       {Document: doc, DocumentBytes: 2},
		"event.document_bytes is 16777217, outside 0 to 16777216":    {DocumentBytes: DefaultDocument + 1},
		"event.document_bytes is 2147483647, outside":                {DocumentBytes: -1},
	} {
		got, _, err := decode(encoded(t, batchOf(in)))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), canary) || len(got) != 0 {
			t.Errorf("got %v and %d events, want %q", err, len(got), want)
		}
	}
	many := make([]*pb.Event, MaxBatchEvents+1)
	for i := range many {
		many[i] = &pb.Event{Document: doc}
	}
	if got, _, err := decode(encoded(t, batchOf(many...))); err == nil || !strings.Contains(err.Error(), "more than 64 events") || len(got) != MaxBatchEvents {
		t.Errorf("a batch of %d: %v", len(many), err)
	}
}

func TestTheSenderChecksWhatTheHostWould(t *testing.T) {
	good := event.Event{Kind: event.Delta, Pos: event.Position{Seq: 1}, Payload: []byte("{}")}
	for want, spoil := range map[string]func(*event.Event){
		"":                                     func(*event.Event) {},
		"event.kind 7 is unknown":              func(e *event.Event) { e.Kind = 7 },
		"event.sequence -5":                    func(e *event.Event) { e.Pos.Seq = -5 },
		"event.defect.reason \"\" is none":     func(e *event.Event) { *e = event.Event{Pos: event.NoPosition} },
		"both set":                             func(e *event.Event) { e.Fault = event.InvalidEvent },
		"a text of an event is not UTF-8":      func(e *event.Event) { e.Pos.Cursor = "\xff" },
		"document is 67108865 bytes long, the": func(e *event.Event) { e.Payload = make([]byte, MaxDocument+1) },
	} {
		ev := good
		spoil(&ev)
		var it Item
		err := it.SetEvent(&ev)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("event: got %v, want %q", err, want)
		}
	}
	for want, d := range map[string]transport.Document{
		"":                                   {JSON: []byte("x"), Cursor: "c"},
		"document is 67108865 bytes long":    {JSON: make([]byte, MaxDocument+1)},
		"cursor is not UTF-8":                {Cursor: "\xff"},
		"id is 600000 bytes long, the limit": {ID: strings.Repeat("x", 600_000)},
	} {
		var it Item
		err := it.Capture(d)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("document: got %v, want %q", err, want)
		}
	}
}

// One buffer and one string per batch: what else a decoded batch costs is nothing.
func TestABatchCostsOneBufferAndOneString(t *testing.T) {
	var items []*Item
	for i := range MaxBatchEvents {
		it := benchItem(i)
		items = append(items, &it)
	}
	in := generated(t, items...)
	var f Frame
	if got := testing.AllocsPerRun(50, func() {
		if _, err := f.count(in); err != nil {
			t.Fatal(err)
		}
	}); got > 3 { // and the slice that the test wraps the message in
		t.Errorf("a batch costs %v allocations", got)
	}
}

// Texts stay what they were when the frame is used again.
func TestTextsOutliveTheirFrame(t *testing.T) {
	var f Frame
	first, _, err := f.take(generated(t, raw(transport.Document{JSON: []byte("1"), Cursor: "cursor", ID: "id"})))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, _, err := f.take(generated(t, raw(transport.Document{JSON: []byte("2"), Cursor: "rosruc", ID: "di"}))); err != nil {
			t.Fatal(err)
		}
	}
	if d := first[0].Document(); string(d.JSON) != "1" || d.Cursor != "cursor" || d.ID != "id" {
		t.Errorf("became %+v", d)
	}
}
