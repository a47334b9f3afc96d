package transport

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/conform-dev/conform/core/event"
)

// Query is what a subscription asks for (facts 1.2). Positions are not part of it: they come from the gate alone (facts
// 5.6 rule 2).
type Query struct {
	SourceID      string // required
	LayerID       string
	RequestID     string
	Mode          string // snapshot, snapshot-then-delta, delta; empty leaves it to the server
	Where         string
	Fields        []string
	SpatialFilter string // JSON
	Metadata      string // JSON
}

// ErrNoSource is returned by Query.Check for a query without a source id: facts 5.3 sends it always.
var ErrNoSource = errors.New("query: sourceId is required")

// Check says whether q can be asked: it names a source, and its mode is one of the three, or none. What the other members
// say is the server's business.
func (q Query) Check() error {
	if q.SourceID == "" {
		return ErrNoSource
	}
	switch q.Mode {
	case "", "snapshot", "snapshot-then-delta", "delta":
	default:
		return fmt.Errorf("query: mode %s is none of snapshot, snapshot-then-delta, delta", quote(q.Mode))
	}
	return nil
}

// Param is one query parameter, not escaped yet.
type Param struct{ Name, Value string }

// The parameters that name a position. A position is the gate's alone, so an endpoint's own query never brings one along.
const (
	CursorParam     = "cursor"
	WatermarkParam  = "watermark"
	TimestampParam  = "timestamp"
	DeltaTokenParam = "deltaToken"
	SequenceParam   = "sequence"
)

// Params is the default encoding of q and of the position to resume from, in the order of facts 5.3. Empty members are
// left out; sequence 0 is sent, NoSeq is not. A transport that names fewer positions on its wire passes at with the
// others taken out.
func (q Query) Params(at event.Position) []Param {
	sequence := ""
	if at.Seq.Valid() {
		sequence = strconv.FormatInt(int64(at.Seq), 10)
	}
	all := [...]Param{
		{"sourceId", q.SourceID},
		{"layerId", q.LayerID},
		{"requestId", q.RequestID},
		{"mode", q.Mode},
		{"where", q.Where},
		{"fields", strings.Join(q.Fields, ",")},
		{CursorParam, at.Cursor},
		{WatermarkParam, at.Watermark},
		{TimestampParam, at.Timestamp},
		{DeltaTokenParam, at.DeltaToken},
		{SequenceParam, sequence},
		{"spatialFilter", q.SpatialFilter},
		{"metadata", q.Metadata},
	}
	params := make([]Param, 0, len(all))
	for _, p := range all {
		if p.Value != "" || p.Name == "sourceId" {
			params = append(params, p)
		}
	}
	return params
}

// Encode writes q and the position in the form of a URL's query, without the question mark.
func (q Query) Encode(at event.Position) string { return EncodeParams(q.Params(at)) }

// EncodeParams escapes params as a form does (a space is a plus sign) and joins them in their order.
func EncodeParams(params []Param) string {
	var b strings.Builder
	for i, p := range params {
		if i > 0 {
			b.WriteByte('&')
		}
		b.WriteString(url.QueryEscape(p.Name))
		b.WriteByte('=')
		b.WriteString(url.QueryEscape(p.Value))
	}
	return b.String()
}

// MergeQuery lays params over the raw query of an endpoint. What the endpoint brought along stays as it was written and
// comes first, except parameters that params name, the five that name a position, and those in drop (a position's other
// names): these are dropped.
func MergeQuery(raw string, params []Param, drop ...string) string {
	replaced := map[string]bool{CursorParam: true, WatermarkParam: true, TimestampParam: true, DeltaTokenParam: true, SequenceParam: true}
	for _, p := range params {
		replaced[p.Name] = true
	}
	for _, name := range drop {
		replaced[name] = true
	}
	var kept []string
	for part := range strings.SplitSeq(raw, "&") {
		name, _, _ := strings.Cut(part, "=")
		if plain, err := url.QueryUnescape(name); err == nil {
			name = plain
		}
		if part != "" && !replaced[name] {
			kept = append(kept, part)
		}
	}
	if own := EncodeParams(params); own != "" {
		kept = append(kept, own)
	}
	return strings.Join(kept, "&")
}
