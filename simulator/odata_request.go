package simulator

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/conform-dev/conform/core/event"
)

// query is what an OData request asks for beside its delta token.
type query struct {
	track   bool   // Prefer: track-changes, or a link that implies it
	skip    string // skip token
	dialect odataDialect
	origin  string // scheme and host as the client sees them; empty if the driver does not know

	cycle *cycle // found by the skip token
	start int    // place in it
	stale event.Seq
}

// The system query options that change the result. The server has none of them, and does not pretend to.
var queryOptions = []string{"apply", "compute", "count", "expand", "filter", "format", "id", "index", "levels", "orderby", "schemaversion",
	"search", "select", "skip", "top"}

// positions of other wires; overlooked, they would begin a snapshot without a word.
var foreignPositions = []string{"cursor", "sequence", "watermark", "timestamp", "deltaToken"}

// read reads a request for the collection.
func (o *odata) read(r Request) (request, *query, *refusal) {
	req := request{position: event.NoSeq, mode: "snapshot-then-delta", credential: first1(r.Header["Authorization"])}
	req.bearer = req.credential != ""
	q := &query{origin: r.Origin, dialect: o.sim.opt.odataDialect()}
	if len(r.Target) > MaxTarget {
		return req, q, refuse(414, "URI Too Long", "target: longer than the limit")
	}
	u, err := url.ParseRequestURI(r.Target)
	if err != nil {
		return req, q, refuse(400, "Bad Request", "target: no path and query")
	}
	if no := o.negotiate(q, r.Header); no != nil {
		return req, q, no
	}
	if u.Path != o.path {
		return req, q, refuse(404, "Not Found", "the collection is at "+o.path)
	}
	if r.Method != "GET" {
		return req, q, &refusal{405, "Method Not Allowed", "a collection is read with GET", map[string]string{"Allow": "GET"}}
	}
	if !acceptsJSON(r.Header["Accept"]) {
		return req, q, refuse(406, "Not Acceptable", "accept: the collection is application/json")
	}
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return req, q, refuse(400, "Bad Request", "query: not encoded as a form")
	}
	return req, q, o.readQuery(values, &req, q)
}

func (o *odata) readQuery(values url.Values, req *request, q *query) *refusal {
	var token string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		plain, system := strings.CutPrefix(name, "$")
		if len(values[name]) > 1 && (system || plain == "deltatoken" || plain == "skiptoken") {
			return refuse(400, "Bad Request", "query: a system option is given twice")
		}
		value := values.Get(name)
		switch {
		case (plain == "deltatoken" || plain == "skiptoken") && value == "":
			return refuse(400, "Bad Request", "query: an empty token")
		case plain == "deltatoken" && token == "":
			token = value
		case plain == "skiptoken" && q.skip == "":
			q.skip = value
		case plain == "deltatoken" || plain == "skiptoken":
			return refuse(400, "Bad Request", "query: a system option is given twice")
		case has(queryOptions, plain): // 4.01 lets clients leave the dollar away
			return refuse(501, "Not Implemented", "$"+plain+": the simulator has no query options, and does not pretend to")
		case system:
			return refuse(400, "Bad Request", "query: a system option that there is not")
		case name == "sourceId" && value != "" && value != o.sim.feed.source:
			return refuse(404, "Not Found", "sourceId: this feed is "+o.sim.feed.source)
		case name == "where" || name == "spatialFilter":
			return refuse(501, "Not Implemented", name+": the simulator does not filter, and does not pretend to")
		case has(foreignPositions, name):
			return refuse(400, "Bad Request", name+": the position of this wire is $deltatoken")
		}
	}
	switch {
	case len(token) > MaxPosition || len(q.skip) > MaxPosition:
		return refuse(431, "Request Header Fields Too Large", "token: longer than the limit")
	case token != "" && q.skip != "":
		return refuse(400, "Bad Request", "query: $deltatoken and $skiptoken exclude each other")
	case token == freshToken:
		q.track = true
	case token != "":
		req.raw = token
		if v, seq, ok := parseDelta(token); ok {
			req.version, req.position, req.known = v, seq, true
		}
	}
	return nil
}

// negotiate settles the version of the protocol, and whether changes are to be tracked.
func (o *odata) negotiate(q *query, h Header) *refusal {
	for _, name := range []string{"Odata-Version", "OData-Version"} {
		if v := first1(h[name]); v != "" && v != "4.0" && v != "4.01" {
			return refuse(400, "Bad Request", "OData-Version: must be 4.0 or 4.01")
		}
	}
	most := first1(h["Odata-Maxversion"], h["OData-MaxVersion"])
	if most != "" {
		v, err := strconv.ParseFloat(most, 64)
		if err != nil || !(v >= 4) || len(most) > 8 {
			return refuse(400, "Bad Request", "OData-MaxVersion: must be 4.0 or higher")
		}
		switch {
		case v < 4.01:
			q.dialect.short = false
		case o.sim.opt.ODataVersion == "negotiate":
			q.dialect.short = true
		}
	}
	for _, list := range h["Prefer"] {
		for _, p := range strings.Split(list, ",") {
			p, _, _ = strings.Cut(p, ";")
			p = strings.ToLower(strings.TrimSpace(p))
			q.track = q.track || p == "odata.track-changes" || p == "track-changes"
		}
	}
	return nil
}

// acceptsJSON says whether a client that sent these Accept headers takes JSON.
func acceptsJSON(lists []string) bool {
	any := false
	for _, list := range lists {
		for _, item := range strings.Split(list, ",") {
			media, params, _ := strings.Cut(item, ";")
			media = strings.ToLower(strings.TrimSpace(media))
			if media == "" {
				continue
			}
			any = true
			if has([]string{"application/json", "application/*", "*/*"}, media) && !zeroWeight(params) {
				return true
			}
		}
	}
	return !any
}

func zeroWeight(params string) bool {
	for _, p := range strings.Split(params, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(p), "=")
		if w, err := strconv.ParseFloat(value, 64); strings.EqualFold(name, "q") && err == nil && w == 0 {
			return true
		}
	}
	return false
}
