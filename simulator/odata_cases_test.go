package simulator

import (
	"slices"
	"strings"
	"testing"
)

// odataCase is one field case of OData delta: what a service did that a client got wrong, made here by a schedule.
type odataCase struct {
	id, title string
	opt       Options
	faults    []Fault
	play      func(*testing.T, *rig)
}

func resume(name string, with map[string]string) Fault {
	return Fault{Name: name, At: At{Wire: OData, Request: "resume"}, With: with}
}

// ids are the keys of a page's rows, in their order; a row that is gone has a minus in front, and its reason behind it.
func (p odataPage) ids() string {
	var out []string
	for _, e := range p.Value {
		id, _ := e["id"].(string)
		removed, gone := e["@removed"].(map[string]any)
		if c, _ := e["@odata.context"].(string); strings.HasSuffix(c, "/$deletedEntity") {
			removed, gone = e, true
		}
		if gone {
			reason, _ := removed["reason"].(string)
			if id == "" {
				id, _ = e["@id"].(string)
			}
			id = "-" + id + " " + reason
		}
		out = append(out, strings.TrimSpace(id))
	}
	return strings.Join(out, ", ")
}

func (r *rig) wantPage(c Conn, ids, next, delta string) {
	r.t.Helper()
	p := r.page(c)
	if got := p.ids(); got != ids {
		r.t.Errorf("request %d brought %q, want %q", c, got, ids)
	}
	for _, l := range []struct{ name, want string }{{"nextLink", next}, {"deltaLink", delta}} {
		got := p.link(l.name)
		if (got == "") != (l.want == "") || !strings.Contains(got, l.want) {
			r.t.Errorf("request %d: %s %q, want %q", c, l.name, got, l.want)
		}
	}
}

// short asks with a delta token, in OData 4.01.
func (r *rig) short(token string) Conn {
	return r.odata("GET", "?$deltatoken="+token, Header{"Odata-Maxversion": {"4.01"}})
}

var odataCases = []odataCase{
	{"P-OD-01", "two pages, then a change and a removal", Options{ODataPageSize: 1}, nil, func(t *testing.T, r *rig) {
		c := r.track()
		r.wantPage(c, "1", "$skiptoken=s-7-0-1-1", "")
		r.wantPage(r.follow(c), "2", "", "$deltatoken=t-7-0")
		r.change(Change{Upserts: []Row{{ID: "2", Feature: []byte(`{}`)}}, Deletes: []string{"1"}})
		c = r.short("t-7-0")
		r.wantPage(c, "2", "$skiptoken=d-7-1-2-1", "")
		r.wantPage(r.follow(c), "-incidents('1') deleted", "", "$deltatoken=t-7-1")
	}},
	{"P-OD-02", "removed because it left the filter", Options{}, nil, func(t *testing.T, r *rig) {
		r.change(Change{Deletes: []string{"2"}, Reason: "changed"})
		r.wantPage(r.short("t-7-0"), "-2 changed", "", "$deltatoken=t-7-1")
	}},
	{"P-OD-03", "removed is an empty object, with the key alone", Options{}, []Fault{resume("removed-form", map[string]string{"by": "key", "reason": "none"})}, func(t *testing.T, r *rig) {
		r.change(Change{Deletes: []string{"2"}})
		c := r.short("t-7-0")
		r.wantPage(c, "-2", "", "$deltatoken=t-7-1")
		r.wantText(c, `"value":[{"@removed":{},"id":"2"}]`)
	}},
	{"P-OD-04", "the tombstone of 4.0", Options{}, nil, func(t *testing.T, r *rig) {
		r.change(Change{Deletes: []string{"2"}})
		r.wantText(r.poll("t-7-0"), `"value":[{"@odata.context":"#incidents/$deletedEntity","id":"incidents('2')","reason":"deleted"}]`)
	}},
	{"P-OD-05", "removed is not the first member", Options{}, []Fault{resume("any-order", map[string]string{"of": "entries"})}, func(t *testing.T, r *rig) {
		r.change(Change{Deletes: []string{"2"}})
		r.wantText(r.short("t-7-0"), `"value":[{"id":"2","sourceId":"incidents","feature":{"state":"gone"},"@id":"incidents('2')","@removed":{"reason":"deleted"}}]`)
	}},
	{"P-OD-06", "relationship entries", Options{}, []Fault{resume("relationship-entry", nil), resume("relationship-entry", map[string]string{"as": "link"})}, func(t *testing.T, r *rig) {
		r.change(Upsert("1", "{}"))
		c := r.poll("t-7-0")
		for _, kind := range []string{"deletedLink", "link"} {
			r.wantText(c, `{"@odata.context":"#incidents/$`+kind+`","source":"incidents('1')","relationship":"related","target":"incidents('2')"}`)
		}
	}},
	{"P-OD-07", "empty pages with a next link", Options{}, []Fault{{Name: "empty-pages"}}, func(t *testing.T, r *rig) {
		c := r.track()
		for _, want := range []string{"", "", "1, 2"} {
			r.wantPage(c, want, "$skiptoken=s-7-0-1-", "")
			c = r.follow(c)
		}
		r.wantPage(c, "", "", "$deltatoken=t-7-0")
	}},
	{"P-OD-08", "the same entity twice in one round, over pages", Options{}, []Fault{resume("twice-in-round", map[string]string{"pages": "true"})}, func(t *testing.T, r *rig) {
		r.change(Upsert("1", `{"now":1}`))
		c := r.poll("t-7-0")
		r.wantText(c, `"id":"1","sourceId":"incidents","version":1,"updatedAt":"2026-07-27T04:00:00.000Z","feature":{"state":"former"}`)
		r.wantText(r.follow(c), `"feature":{"now":1}}],"@odata.deltaLink"`)
	}},
	{"P-OD-09", "changed, removed and back in one round", Options{}, []Fault{resume("back-and-forth", nil)}, func(t *testing.T, r *rig) {
		r.change(Change{Upserts: []Row{{ID: "1", Feature: []byte(`{}`)}}, Deletes: []string{"2"}})
		r.wantPage(r.short("t-7-0"), "1, -1 changed, 1, 2, -2 deleted", "", "$deltatoken=t-7-1")
	}},
	{"P-OD-10", "a tombstone for something never seen", Options{}, []Fault{resume("unknown-tombstone", map[string]string{"alone": "true"})}, func(t *testing.T, r *rig) {
		r.change(Upsert("1", "{}"))
		c := r.short("t-7-0")
		r.wantPage(c, "-nobody deleted", "", "$deltatoken=t-7-1")
		r.wantText(c, `"@conform.type":"delta"`) // it is not the upsert that was published
	}},
	{"P-OD-11", "410 with a Location in the collection, which fails", Options{}, []Fault{resume("location-on-410", nil), {Name: "status", At: At{Connection: 2}, With: map[string]string{"code": "500"}}},
		func(t *testing.T, r *rig) {
			r.wantStatus(r.poll("t-7-0"), 410, "Location", "/odata/incidents?$deltatoken=fresh")
			r.wantStatus(r.odata("GET", "?$deltatoken=fresh", Header{}), 500, "", "")
			r.wantPage(r.track(), "1, 2", "", "$deltatoken=t-7-0")
		}},
	{"P-OD-12", "410 with a Location elsewhere", Options{}, []Fault{resume("foreign-link", map[string]string{"link": "location"})}, func(t *testing.T, r *rig) {
		r.wantStatus(r.poll("t-7-0"), 410, "Location", "https://elsewhere.example/odata/incidents?$deltatoken=fresh")
		r.wantPage(r.track(), "1, 2", "", "$deltatoken=t-7-0")
	}},
	{"P-OD-13", "410 in the middle of paging", Options{ODataPageSize: 1}, []Fault{{Name: "expired-in-paging"}}, func(t *testing.T, r *rig) {
		c := r.track()
		r.wantStatus(r.follow(c), 410, "", "")
		r.wantPage(r.follow(r.track()), "2", "", "$deltatoken=t-7-0")
	}},
	{"P-OD-14", "410 for ever", Options{}, []Fault{{Name: "cursor-expired", Times: Always, At: At{Wire: OData}}}, func(t *testing.T, r *rig) {
		for range 5 {
			r.wantStatus(r.poll("t-7-0"), 410, "", "")
			r.wantPage(r.track(), "1, 2", "", "$deltatoken=t-7-0")
		}
	}},
	{"P-OD-15", "what was deleted in the lost time", Options{Retention: 1}, nil, func(t *testing.T, r *rig) {
		r.change(Delete("1"))
		r.change(Upsert("2", "{}"))
		r.wantStatus(r.poll("t-7-0"), 410, "", "")
		r.wantPage(r.track(), "2", "", "$deltatoken=t-7-2")
	}},
	{"P-OD-16", "which links may be followed", Options{}, nil, func(t *testing.T, r *rig) {
		links := func(fault string, forms []string) {
			for _, as := range forms {
				r.must(r.sim.Add(r.clock(), resume(fault, map[string]string{"as": as})))
				if got, want := r.page(r.poll("t-7-0")).link("deltaLink"), odataLinks[as]+"?$deltatoken=t-7-0"; got != want {
					t.Errorf("%s: %s, want %s", as, got, want)
				}
			}
		}
		links("link-form", linkFormFault.Params[0].Values)
		links("foreign-link", foreignLinks)
	}},
	{"P-OD-17", "a last page without any link", Options{}, []Fault{{Name: "no-links"}}, func(t *testing.T, r *rig) {
		r.wantPage(r.track(), "1, 2", "", "")
	}},
	{"P-OD-18", "expiry told by another status", Options{}, []Fault{resume("expired-as", map[string]string{"code": "0xEXPIRED"})}, func(t *testing.T, r *rig) {
		c := r.poll("t-7-0")
		r.wantStatus(c, 400, "", "")
		r.wantText(c, `{"error":{"code":"0xEXPIRED",`)
	}},
	{"P-OD-19", "429 with Retry-After", Options{}, []Fault{resume("status", map[string]string{"code": "429", "retryAfter": "20"})}, func(t *testing.T, r *rig) {
		r.wantStatus(r.poll("t-7-0"), 429, "Retry-After", "20")
		r.wantPage(r.poll("t-7-0"), "", "", "$deltatoken=t-7-0")
	}},
}

// odataLinks are the links of the two faults, without a query, to a client that calls odataOrigin.
var odataLinks = map[string]string{
	"absolute": "http://svc.example/odata/incidents", "upper": "HTTP://SVC.EXAMPLE/odata/incidents",
	"default-port": "http://svc.example:80/odata/incidents", "relative": "incidents", "query": "",
	"origin": "https://elsewhere.example/odata/incidents", "network": "//elsewhere.example/odata/incidents", "path": "/odata/secrets",
	"longer-path": "/odata/incidentsarchive", "dot-path": "/odata/incidents/../secrets", "case": "/odata/Incidents",
	"scheme": "https://svc.example/odata/incidents", "port": "http://svc.example:8/odata/incidents",
	"userinfo": "http://user:pw@svc.example/odata/incidents", "host-suffix": "http://svc.example.elsewhere.example/odata/incidents",
	"host-behind-at": "http://svc.example@elsewhere.example/odata/incidents",
}

// TestODataCases plays the field cases, each on a feed of two rows.
func TestODataCases(t *testing.T) {
	var seen []string
	for _, c := range odataCases {
		t.Run(c.id, func(t *testing.T) {
			c.opt.Rows, c.opt.Schedule = 2, Schedule{c.faults}
			r := newRig(t, c.opt)
			c.play(t, r)
			if left := r.sim.State().Faults; len(left) > 0 && left[0].Times != Always {
				t.Errorf("%s (%s): %+v did not strike", c.id, c.title, left)
			}
		})
		seen = append(seen, c.id)
	}
	if !slices.IsSorted(seen) || len(slices.Compact(seen)) != 19 {
		t.Errorf("the cases are %v", seen)
	}
}

// TestODataOrigins: links that are made of the origin that the client called keep its scheme, host and port, and wait until it is known.
func TestODataOrigins(t *testing.T) {
	for _, c := range []struct{ origin, as, want string }{
		{"https://svc.example", "default-port", "https://svc.example:443/odata/incidents"},
		{"https://svc.example:8443", "default-port", "https://svc.example:8443/odata/incidents"},
		{"http://[::1]:80", "host-suffix", "http://[::1].elsewhere.example/odata/incidents"},
		{"http://[::1]", "port", "http://[::1]:8/odata/incidents"},
		{"http://h:8", "port", "http://h:9/odata/incidents"},
		{"https://h", "scheme", "http://h/odata/incidents"},
		{"", "absolute", "/odata/incidents"},
		{"", "userinfo", "/odata/incidents"},
	} {
		fault := "foreign-link"
		if has(linkFormFault.Params[0].Values, c.as) {
			fault = "link-form"
		}
		r := newRig(t, Options{Schedule: Schedule{[]Fault{{Name: fault, With: map[string]string{"as": c.as}}}}})
		r.conns++
		r.sim.Request(r.clock(), r.conns, Request{Method: "GET", Target: "/odata/incidents?$deltatoken=t-7-0", Origin: c.origin})
		r.drain()
		if got := r.page(r.conns).link("deltaLink"); got != c.want+"?$deltatoken=t-7-0" {
			t.Errorf("%s, %s: %s, want %s", c.origin, c.as, got, c.want)
		}
		if struck := len(r.sim.State().Struck) == 1; struck != (c.origin != "") {
			t.Errorf("%s, %s: struck %v", c.origin, c.as, struck)
		}
	}
}
