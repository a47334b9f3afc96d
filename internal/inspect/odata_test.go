package inspect

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/conform-dev/conform/plugins/odata"
)

var plainOData = ODataOptions{
	Key: "Id", Collection: "https://svc.example/odata/Vehicles", DeltaToken: "$deltatoken",
	MaxPageBytes: odata.DefaultMaxPageBytes, MaxRowBytes: odata.DefaultMaxRowBytes,
}

func odataWith(change func(*ODataOptions)) ODataOptions {
	o := plainOData
	change(&o)
	return o
}

var odataPages = []struct {
	name, in string
	o        ODataOptions
	out      string
	err      string // empty: none
}{
	{"P-OD-02: both reasons, both dialects, members in any order", `{"value":[{"Speed":25.0,"Id":"V2"},{"@odata.id":"Vehicles('V1')","@removed":{"reason":"changed"}},{"id":"V7","Id":7,"@odata.removed":{}}],"@deltaLink":"?$deltatoken=d%202"}`, plainOData,
		`{"entry":1,"offset":10,"kind":"upsert","key":"'V2'","id":"V2","feature":{"Speed":25.0,"Id":"V2"}}
{"entry":2,"offset":35,"kind":"removed","key":"'V1'","id":"V1","reason":"changed"}
{"entry":3,"offset":98,"kind":"removed","key":"7","id":7}
{"entries":3,"upserts":1,"removed":2,"bytes":172,"deltaLink":{"link":"?$deltatoken=d%202","verdict":"follow","token":"d%202"},"then":"delta-link"}
`, ""},
	{"P-OD-04: the 4.0 form", `{"@odata.context":"$metadata#Vehicles/$delta","value":[{"@odata.context":"#Vehicles/$deletedEntity","id":"Vehicles('V2')","reason":"deleted"}],"@odata.nextLink":"Vehicles?$skiptoken=1"}`, plainOData,
		`{"entry":1,"offset":55,"kind":"removed","key":"'V2'","id":"V2","reason":"deleted"}
{"entries":1,"upserts":0,"removed":1,"bytes":185,"context":"$metadata#Vehicles/$delta","nextLink":{"link":"Vehicles?$skiptoken=1","verdict":"follow"},"then":"next-link"}
`, ""},
	{"annotations are no part of a feature; a composite key", `{"value":[{"@odata.etag":"W/1","B":"x","A":1,"C@odata.type":"#Int64","C":12345678901234567890}]}`, odataWith(func(o *ODataOptions) { o.Key = "B,A" }),
		`{"entry":1,"offset":10,"kind":"upsert","key":"A=1,B='x'","id":"A=1,B='x'","feature":{"B":"x","A":1,"C":12345678901234567890}}
{"entries":1,"upserts":1,"removed":0,"bytes":96,"then":"no-delta-link"}
`, ""},
	{"a contract server's annotations", `{"@conform.streamEpoch":"v7","@conform.sequence":41,"@conform.headSequence":42,"@conform.eventId":"e41","@conform.type":"upsert","value":[]}`, plainOData,
		`{"entries":0,"upserts":0,"removed":0,"bytes":140,"then":"no-delta-link","streamEpoch":"v7","sequence":41,"headSequence":42,"eventId":"e41","type":"upsert"}
`, ""},
	{"both links", `{"value":[],"@nextLink":"?a","@deltaLink":"https://evil.test/"}`, plainOData,
		`{"entries":0,"upserts":0,"removed":0,"bytes":63,"nextLink":{"link":"?a","verdict":"follow"},"deltaLink":{"link":"https://evil.test/","verdict":"link-to-another-origin"},"then":"next-link","finding":"delta-link-beside-next-link"}
`, ""},
	{"a link that leads out", `{"value":[],"@deltaLink":"https://user:pw@svc.example/odata/Vehicles?x"}`, plainOData,
		`{"entries":0,"upserts":0,"removed":0,"bytes":72,"deltaLink":{"link":"https://user:pw@svc.example/odata/Vehicles?x","verdict":"link-with-userinfo"},"then":"delta-link"}
`, "deltaLink: link-with-userinfo: https://svc.example/odata/Vehicles"},
	{"no collection, no verdict", `{"value":[],"@deltaLink":"https://evil.test/"}`, odataWith(func(o *ODataOptions) { o.Collection = "" }),
		`{"entries":0,"upserts":0,"removed":0,"bytes":46,"deltaLink":{"link":"https://evil.test/"},"then":"delta-link"}
`, ""},
	{"P-OD-06: a relationship", `{"value":[{"Id":"V1"},{"@odata.context":"#Vehicles/$link","source":"a","relationship":"b","target":"c"}]}`, plainOData,
		`{"entry":1,"offset":10,"kind":"upsert","key":"'V1'","id":"V1","feature":{"Id":"V1"}}
{"entry":2,"offset":22,"kind":"flaw","flaw":"unsupported-relationship-entry"}
`, "unsupported-relationship-entry, entry 2, at byte 22"},
	{"no key", `{"value":[{"id":"V1"}]}`, plainOData, `{"entry":1,"offset":10,"kind":"flaw","flaw":"entry-without-key","member":"Id"}
`, "entry-without-key: Id, entry 1, at byte 10"},
	{"a row above its limit", `{"value":[{"Id":"V1"}]}`, odataWith(func(o *ODataOptions) { o.MaxRowBytes = 10 }), `{"entry":1,"offset":10,"kind":"flaw","flaw":"row-too-large","limit":10}
`, "row-too-large: limit 10, entry 1, at byte 10"},
	{"a page above its limit", `{"value":[{"Id":"V1"}]}`, odataWith(func(o *ODataOptions) { o.MaxPageBytes = 22 }), `{"entry":1,"offset":10,"kind":"upsert","key":"'V1'","id":"V1","feature":{"Id":"V1"}}
{"offset":22,"kind":"flaw","flaw":"page-too-large","limit":22}
`, "page-too-large: limit 22, at byte 22"},
	{"cut", `{"value":[{"Id":"V1"}`, plainOData, `{"entry":1,"offset":10,"kind":"upsert","key":"'V1'","id":"V1","feature":{"Id":"V1"}}
{"offset":21,"kind":"flaw","flaw":"page-cut"}
`, "page-cut, at byte 21"},
	{"no page", `[]`, plainOData, `{"offset":0,"kind":"flaw","flaw":"page-not-an-object"}
`, "page-not-an-object, at byte 0"},
	{"nothing", "", plainOData, `{"offset":0,"kind":"flaw","flaw":"page-cut"}
`, "page-cut, at byte 0"},
}

// The lines do not depend on where reads end.
func TestODataLines(t *testing.T) {
	for _, c := range odataPages {
		for how, in := range map[string]io.Reader{"whole": strings.NewReader(c.in), "bytewise": iotest.OneByteReader(strings.NewReader(c.in))} {
			var out bytes.Buffer
			err := OData(in, &out, c.o)
			if out.String() != c.out || (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
				t.Errorf("%s, %s: %v\n%s", c.name, how, err, out.String())
			}
		}
	}
}

func TestODataErrorsSayWhatFailed(t *testing.T) {
	var flaw *PageFlaw
	if err := OData(strings.NewReader("{}"), io.Discard, plainOData); !errors.As(err, &flaw) || flaw.Word != odata.FlawNoValue {
		t.Error(err)
	}
	var link *LinkRefused
	if err := OData(strings.NewReader(`{"value":[],"@nextLink":"/x"}`), io.Discard, plainOData); !errors.As(err, &link) || link.Name != "nextLink" || link.Why.Why != odata.LinkPath {
		t.Error(err)
	}
}

func TestODataOptionsAreNamed(t *testing.T) {
	for want, o := range map[string]ODataOptions{
		"maxPageBytes is 0":                      odataWith(func(o *ODataOptions) { o.MaxPageBytes = 0 }),
		"maxPageBytes is 1073741825":             odataWith(func(o *ODataOptions) { o.MaxPageBytes = odata.CeilingMaxPageBytes + 1 }),
		"maxRowBytes is 16777217":                odataWith(func(o *ODataOptions) { o.MaxRowBytes = odata.CeilingMaxRowBytes + 1 }),
		"key must be 1 to 16 different property": odataWith(func(o *ODataOptions) { o.Key = "A,A" }),
		"endpoint":                               odataWith(func(o *ODataOptions) { o.Collection = "Vehicles" }),
	} {
		if err := OData(strings.NewReader(""), io.Discard, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}

// An entry is told when it is complete, what breaks is passed on, and what was complete before stays.
func TestODataBroken(t *testing.T) {
	broken := errors.New("broken")
	var out bytes.Buffer
	err := OData(io.MultiReader(strings.NewReader(`{"value":[{"Id":1},{`), iotest.ErrReader(broken)), &out, plainOData)
	if !errors.Is(err, broken) || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("%v\n%s", err, out.String())
	}
	if err := OData(strings.NewReader(`{"value":[]}`), full{}, plainOData); !errors.Is(err, errFull) {
		t.Error(err)
	}
}

// FuzzOData: no input panics, the lines do not depend on where reads end, and the last line counts the others.
func FuzzOData(f *testing.F) {
	for _, c := range odataPages {
		f.Add(c.in)
	}
	f.Fuzz(func(t *testing.T, in string) {
		var out, again bytes.Buffer
		o := odataWith(func(o *ODataOptions) { o.MaxPageBytes, o.MaxRowBytes = 1000, 200 })
		err, err2 := OData(strings.NewReader(in), &out, o), OData(iotest.OneByteReader(strings.NewReader(in)), &again, o)
		if out.String() != again.String() || (err == nil) != (err2 == nil) {
			t.Fatalf("whole %v\n%s\nbytewise %v\n%s", err, out.String(), err2, again.String())
		}
		if err == nil && !strings.Contains(out.String(), `"then":`) {
			t.Fatal(out.String())
		}
	})
}
