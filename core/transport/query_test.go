package transport

import (
	"errors"
	"testing"

	"github.com/conform-dev/conform/core/event"
)

// Facts 5.3: the order, what is left out, and that sequence 0 is sent.
func TestQueryEncode(t *testing.T) {
	full := Query{SourceID: "incidents", LayerID: "2", RequestID: "r1", Mode: "delta", Where: "a='x y'&b", Fields: []string{"id", "na,me"},
		SpatialFilter: `{"x":1}`, Metadata: `{}`}
	at := event.Position{Seq: 41, Cursor: "c", Watermark: "w", Timestamp: "t", DeltaToken: "d"}
	for _, c := range []struct {
		name string
		q    Query
		at   event.Position
		want string
	}{
		{"everything", full, at, "sourceId=incidents&layerId=2&requestId=r1&mode=delta&where=a%3D%27x+y%27%26b&fields=id%2Cna%2Cme" +
			"&cursor=c&watermark=w&timestamp=t&deltaToken=d&sequence=41&spatialFilter=%7B%22x%22%3A1%7D&metadata=%7B%7D"},
		{"no position", full, event.NoPosition, "sourceId=incidents&layerId=2&requestId=r1&mode=delta&where=a%3D%27x+y%27%26b&fields=id%2Cna%2Cme" +
			"&spatialFilter=%7B%22x%22%3A1%7D&metadata=%7B%7D"},
		{"source alone", Query{SourceID: "s"}, event.NoPosition, "sourceId=s"},
		{"sequence 0 is a position", Query{SourceID: "s"}, event.Position{Seq: 0}, "sourceId=s&sequence=0"},
		{"the largest sequence", Query{SourceID: "s"}, event.Position{Seq: event.MaxSeq}, "sourceId=s&sequence=9007199254740991"},
		{"an unsafe sequence is none", Query{SourceID: "s"}, event.Position{Seq: event.MaxSeq + 1}, "sourceId=s"},
		{"not ASCII", Query{SourceID: "é"}, event.NoPosition, "sourceId=%C3%A9"},
		{"the source is always sent", Query{}, event.NoPosition, "sourceId="},
	} {
		if got := c.q.Encode(c.at); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestQueryCheck(t *testing.T) {
	if err := (Query{}).Check(); !errors.Is(err, ErrNoSource) {
		t.Errorf("no source: %v", err)
	}
	for _, mode := range []string{"", "snapshot", "snapshot-then-delta", "delta"} {
		if err := (Query{SourceID: "s", Mode: mode}).Check(); err != nil {
			t.Errorf("mode %q: %v", mode, err)
		}
	}
	err := (Query{SourceID: "s", Mode: "all\n"}).Check()
	if err == nil || err.Error() != `query: mode "all\n" is none of snapshot, snapshot-then-delta, delta` {
		t.Errorf("got %v", err)
	}
}

func TestMergeQuery(t *testing.T) {
	params := []Param{{"sourceId", "a b"}, {"since", "c"}}
	for raw, want := range map[string]string{
		"":                           "sourceId=a+b&since=c",
		"key=%20x&flag&&=":           "key=%20x&flag&=&sourceId=a+b&since=c",
		"sourceId=evil&since=0&k=1":  "k=1&sourceId=a+b&since=c",
		"source%49d=evil&k=1":        "k=1&sourceId=a+b&since=c", // the same name, escaped
		"cursor=1&watermark=2&k=3":   "k=3&sourceId=a+b&since=c",
		"sequence=1&deltaToken=2":    "sourceId=a+b&since=c",
		"timestamp=1&old=2&older=3":  "older=3&sourceId=a+b&since=c",
		"bad%zz=1&k=%zz":             "bad%zz=1&k=%zz&sourceId=a+b&since=c",
		"cursor&cursor=&Cursor=kept": "Cursor=kept&sourceId=a+b&since=c",
	} {
		if got := MergeQuery(raw, params, "old"); got != want {
			t.Errorf("%q:\ngot  %s\nwant %s", raw, got, want)
		}
	}
	if got := MergeQuery("a=1", nil); got != "a=1" {
		t.Errorf("nothing to merge: %s", got)
	}
}
