package odata

import "net/url"

// Read judges an entry that Next gave with at, as a Reader does, and against the entries of the page before it: they are all of one entity
// set. The flaw names the entry and its place.
func (d *Decoder) Read(r *Reader, raw []byte, at int64) (Entry, *Flaw) {
	e, flaw := r.Read(raw)
	if flaw == nil && e.Set != "" {
		flaw = d.sets(e.Set)
	}
	if flaw != nil {
		flaw.Row, flaw.At = d.Rows(), at
	}
	return e, flaw
}

// FollowFirst is Follow for a page that came from the collection's own URL.
func (c Collection) FollowFirst(context, link string) (*url.URL, *Refusal) {
	return c.Follow(c.at, context, link)
}
