package simulator

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

// FuzzODataRequest: no request makes the server panic or leaves it without an answer, and every answer is a JSON document.
func FuzzODataRequest(f *testing.F) {
	for _, q := range []string{"", "$deltatoken=t-7-1", "$deltatoken=t-7-1~3", "$skiptoken=s-7-2-1-2", "$skiptoken=d-7-2-1-99999999999", "$skiptoken=s-7-2-1-3",
		"$deltatoken=fresh", "$filter=a eq 'b'", "deltatoken=x&$skiptoken=y", "%", "where=1&cursor=2"} {
		f.Add(q, "application/json", "4.01", "odata.track-changes")
	}
	f.Add("", "*/*;q=0.0, text/*", "NaN", "track-changes;a")
	f.Fuzz(func(t *testing.T, query, accept, version, prefer string) {
		if _, err := url.ParseRequestURI("/odata/incidents?" + query); err != nil {
			t.Skip("no target of a request; the first wire answers it")
		}
		r := newRig(t, Options{Rows: 5, ODataPageSize: 2})
		r.publish(AutoMixed, 3)
		r.track()
		c := r.odata("GET", "/odata/incidents?"+query, Header{"Accept": {accept}, "Odata-Maxversion": {version}, "Prefer": {prefer}})
		head, ok := r.head[c]
		if !ok || !has([]string{"200", "400", "404", "406", "410", "414", "431", "501"}, strconv.Itoa(head.Status)) || !json.Valid(r.body[c].Bytes()) {
			t.Fatalf("%+v %s", head, r.body[c])
		}
		if v := head.Header["Odata-Version"]; len(v) != 1 || v[0] != "4.0" && v[0] != "4.01" {
			t.Fatalf("version %q", v)
		}
	})
}

// FuzzODataToken: a token that is read back is the one text that there is for it.
func FuzzODataToken(f *testing.F) {
	for _, s := range []string{"t-7-41", "t-7-41~2", "t-07-1", "s-7-41-3-2", "d-7-0-1-0", "s-7-41-3", "t-7-41~", "t-7-41~0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if s, ok := parseSkip(text); ok && s.String() != text {
			t.Errorf("%q reads as %q", text, s)
		}
		if v, seq, ok := parseDelta(text); ok {
			base, form, _ := strings.Cut(text, "~")
			n, _ := strconv.ParseInt(form, 10, 64)
			if deltaToken(v, seq, n) != text || base != deltaToken(v, seq, 0) {
				t.Errorf("%q reads as %d, %d", text, v, seq)
			}
		}
	})
}
