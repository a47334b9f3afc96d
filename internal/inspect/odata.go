package inspect

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/conform-dev/conform/plugins/odata"
)

// ODataOptions say how a page is read.
type ODataOptions struct {
	Key          string // key properties, joined by commas; odata.CheckKey accepts it
	Collection   string // the collection's URL, against which links are judged; empty: they are only shown
	DeltaToken   string // the query option of a delta link that holds its token
	MaxPageBytes int64  // 1 to odata.CeilingMaxPageBytes
	MaxRowBytes  int64  // 1 to odata.CeilingMaxRowBytes
}

// PageFlaw is the error of a page that a client must not take anything of. Nothing behind the flaw was read.
type PageFlaw struct{ *odata.Flaw }

// LinkRefused is the error of a page whose link a client must not follow.
type LinkRefused struct {
	Name string // nextLink or deltaLink
	Why  *odata.Refusal
}

// Error names the link and the reason.
func (e *LinkRefused) Error() string { return e.Name + ": " + e.Why.Error() }

// odataEntry is the line of one entry.
type odataEntry struct {
	Entry   int             `json:"entry"`
	Offset  int64           `json:"offset"`
	Kind    string          `json:"kind"`
	Key     string          `json:"key"`
	ID      json.RawMessage `json:"id"`
	Reason  string          `json:"reason,omitempty"`
	Feature json.RawMessage `json:"feature,omitempty"`
}

// odataFlaw is the line of what is wrong with a page.
type odataFlaw struct {
	Entry  int    `json:"entry,omitempty"`
	Offset int64  `json:"offset"`
	Kind   string `json:"kind"`
	Flaw   string `json:"flaw"`
	Limit  int64  `json:"limit,omitempty"`
	Member string `json:"member,omitempty"`
}

// odataLink is a link of the page. Verdict is follow, or why a client does not; it is left out without a collection.
type odataLink struct {
	Link    string `json:"link"`
	Verdict string `json:"verdict,omitempty"`
	Token   string `json:"token,omitempty"`
}

// odataEnd is the last line: what the page says beside its entries.
type odataEnd struct {
	Entries     int             `json:"entries"`
	Upserts     int             `json:"upserts"`
	Removed     int             `json:"removed"`
	Bytes       int64           `json:"bytes"`
	Context     string          `json:"context,omitempty"`
	NextLink    *odataLink      `json:"nextLink,omitempty"`
	DeltaLink   *odataLink      `json:"deltaLink,omitempty"`
	Then        string          `json:"then"` // next-link, delta-link, or no-delta-link
	Finding     string          `json:"finding,omitempty"`
	StreamEpoch string          `json:"streamEpoch,omitempty"`
	Sequence    json.RawMessage `json:"sequence,omitempty"`
	Head        json.RawMessage `json:"headSequence,omitempty"`
	EventID     json.RawMessage `json:"eventId,omitempty"`
	Cursor      json.RawMessage `json:"cursor,omitempty"`
	Watermark   json.RawMessage `json:"watermark,omitempty"`
	Timestamp   json.RawMessage `json:"timestamp,omitempty"`
	Type        json.RawMessage `json:"type,omitempty"`
}

// OData reads one page of a collection or of its changes, and writes one JSON line per entry as it is complete, then one with what the
// page says beside them. Whether a removed entry may stand there depends on the cycle, which one page does not show. It fails with
// *PageFlaw for a page that a client must refuse, after a line that says so and without the last one; with *LinkRefused, after the
// last line, for a link that leads out of the collection; and with the error of in or out.
func OData(in io.Reader, out io.Writer, o ODataOptions) error {
	o2, err := newODataReader(out, o)
	if err != nil {
		return err
	}
	cause := o2.read(in)
	if cause == nil {
		cause = o2.last()
	}
	var flaw *odata.Flaw
	if errors.As(cause, &flaw) {
		line := odataFlaw{Entry: flaw.Row, Offset: flaw.At, Kind: "flaw", Flaw: flaw.Word, Limit: flaw.Limit, Member: flaw.Name}
		if err := o2.out.Encode(line); err != nil {
			return err
		}
		cause = &PageFlaw{flaw}
	}
	if err := o2.buffer.Flush(); err != nil {
		return err
	}
	return cause
}

type odataReader struct {
	o       ODataOptions
	d       *odata.Decoder
	r       *odata.Reader
	within  *odata.Collection
	upserts int
	removed int
	id, row []byte
	buffer  *bufio.Writer
	out     *json.Encoder
}

func newODataReader(out io.Writer, o ODataOptions) (*odataReader, error) {
	for _, limit := range []struct {
		name     string
		is, most int64
	}{{"maxPageBytes", o.MaxPageBytes, odata.CeilingMaxPageBytes}, {"maxRowBytes", o.MaxRowBytes, odata.CeilingMaxRowBytes}} {
		if limit.is < 1 || limit.is > limit.most {
			return nil, fmt.Errorf("inspect: %s is %d, but must be between 1 and %d", limit.name, limit.is, limit.most)
		}
	}
	if !odata.CheckKey(o.Key) {
		return nil, fmt.Errorf("inspect: key must be 1 to %d different property names, joined by commas", odata.MaxKeyParts)
	}
	r := &odataReader{o: o, d: odata.NewDecoder(o.MaxPageBytes, o.MaxRowBytes), r: odata.NewReader(o.Key), buffer: bufio.NewWriter(out)}
	r.out = encoder(r.buffer)
	if o.Collection != "" {
		within, err := odata.NewCollection(o.Collection)
		if err != nil {
			return nil, err
		}
		r.within = &within
	}
	return r, nil
}

// read takes the page in. Lines are written out once per read, so that nothing waits for bytes to come.
func (r *odataReader) read(in io.Reader) error {
	buf := make([]byte, readBytes)
	for {
		n, err := in.Read(buf)
		r.d.Feed(buf[:n])
		for raw, at, ok := r.d.Next(); ok; raw, at, ok = r.d.Next() {
			if err := r.entry(raw, at); err != nil {
				return err
			}
		}
		if flaw := r.d.Flawed(); flaw != nil {
			return flaw
		}
		if err := r.buffer.Flush(); err != nil {
			return err
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *odataReader) entry(raw []byte, at int64) error {
	e, flaw := r.d.Read(r.r, raw, at)
	if flaw != nil {
		return flaw
	}
	r.id = e.Key.AppendID(r.id[:0])
	line := odataEntry{Entry: r.d.Rows(), Offset: at, Kind: e.Kind.String(), Key: e.Key.Text, ID: r.id, Reason: e.Reason}
	if e.Kind == odata.Upsert {
		r.upserts++
		r.row = e.AppendFeature(r.row[:0])
		line.Feature = r.row
	} else {
		r.removed++
	}
	return r.out.Encode(line)
}

// last writes the last line.
func (r *odataReader) last() error {
	p, err := r.d.Page()
	if err != nil {
		return err
	}
	end := odataEnd{
		Entries: p.Rows, Upserts: r.upserts, Removed: r.removed, Bytes: r.d.Offset(), Context: p.Context, Then: "no-delta-link",
		StreamEpoch: p.StreamEpoch, Sequence: p.Sequence, Head: p.Head, EventID: p.EventID, Cursor: p.Cursor, Watermark: p.Watermark, Timestamp: p.Timestamp, Type: p.Type,
	}
	var refused error
	if p.DeltaLink != "" {
		end.Then = "delta-link"
		end.DeltaLink, refused = r.link("deltaLink", p.Context, p.DeltaLink)
	}
	if p.NextLink != "" {
		if p.DeltaLink != "" {
			end.Finding = "delta-link-beside-next-link"
		}
		end.Then = "next-link"
		end.NextLink, refused = r.link("nextLink", p.Context, p.NextLink) // the one that is followed
	}
	if err := r.out.Encode(end); err != nil {
		return err
	}
	return refused
}

// link judges a link as if the page had come from the collection's own URL, and takes the token out of a delta link (D-22).
func (r *odataReader) link(name, context, link string) (*odataLink, error) {
	l := &odataLink{Link: link}
	if r.within == nil {
		return l, nil
	}
	to, refused := r.within.FollowFirst(context, link)
	if refused != nil {
		l.Verdict = refused.Why
		return l, &LinkRefused{name, refused}
	}
	l.Verdict = "follow"
	if name == "deltaLink" {
		l.Token, _ = r.within.Token(to, r.o.DeltaToken)
	}
	return l, nil
}
