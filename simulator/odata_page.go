package simulator

import (
	"slices"
	"strconv"
	"strings"
)

// odataDialect is how names are written: those of OData 4.0, or the short ones of 4.01.
type odataDialect struct {
	short   bool
	removed string // in 4.0: context ($deletedEntity) or annotation (@odata.removed)
}

// control is the name of a control annotation.
func (d odataDialect) control(name string) string {
	if d.short {
		return "@" + name
	}
	return "@odata." + name
}

func (d odataDialect) version() string {
	if d.short {
		return "4.01"
	}
	return "4.0"
}

func (d odataDialect) mediaType() string {
	if d.short {
		return "application/json;metadata=minimal"
	}
	return "application/json;odata.metadata=minimal"
}

func (d odataDialect) preference() string {
	if d.short {
		return "track-changes"
	}
	return "odata.track-changes"
}

// members are the members of a JSON object, each written whole, in their order.
type members [][]byte

func (m *members) add(name string, value []byte) {
	*m = append(*m, append(append(appendString(nil, name), ':'), value...))
}

func (m *members) text(name, value string) { m.add(name, appendString(nil, value)) }

func (m *members) number(name string, value int64) { m.add(name, strconv.AppendInt(nil, value, 10)) }

// object writes them, the last one first if reversed.
func (m members) object(b []byte, reversed bool) []byte {
	if reversed {
		slices.Reverse(m)
	}
	b = append(b, '{')
	for i, one := range m {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, one...)
	}
	return append(b, '}')
}

// page writes the page of c that begins at a place; more says that another one follows. A page ends with so many entries, with so many
// bytes of them (one entry goes beyond the limit), or where a fault wants it to.
func (o *odata) page(a *answer, c *cycle, start int) (body []byte, more bool) {
	if c.data != nil {
		return c.data, false
	}
	d := a.odata.dialect
	value, n, next := []byte{'['}, 0, start
	for next < len(c.items) {
		it := &c.items[next]
		if it.end {
			next, more = next+1, true
			break
		}
		if n == o.sim.opt.ODataPageSize || int64(len(value)) > o.sim.opt.ODataPageBytes {
			more = true
			break
		}
		if n > 0 {
			value = append(value, ',')
		}
		value = o.appendItem(value, c, it, d)
		n, next = n+1, next+1
	}
	value = append(value, ']')
	if more {
		o.cycles.keep(c)
	}
	var m members
	context := "$metadata#" + o.set
	if c.delta {
		context += "/$delta"
	}
	m.text(d.control("context"), context)
	o.annotate(&m, a, c, start, more)
	m.add("value", value)
	if more {
		m.text(d.control("nextLink"), o.link(c, "next", start, "$skiptoken="+c.skip(next).String()))
	}
	if c.track && !c.noLinks && (!more || c.both && start == 0) {
		m.text(d.control("deltaLink"), o.link(c, "delta", start, "$deltatoken="+queryValue(c.token())))
	}
	return m.object(nil, c.reversed.page), more
}

// annotate says what the contract wants to know of a page beside OData: where it stands, and in which stream epoch.
func (o *odata) annotate(m *members, a *answer, c *cycle, start int, more bool) {
	f := o.sim.feed
	if o.sim.opt.ODataAnnotations == "none" {
		return
	}
	seq, epoch, id := c.seq, epochName(f.source, c.version), c.id
	if start > 0 {
		switch c.disagree {
		case "sequence":
			seq++
		case "streamEpoch":
			epoch = epochName(f.source, c.version+1)
		case "eventId":
			id += "-other"
		}
	}
	if a.connected {
		m.text("@conform.streamEpoch", epoch)
		m.number("@conform.headSequence", int64(a.head))
	}
	if !c.bare {
		m.number("@conform.sequence", int64(seq))
	}
	if id != "" {
		m.text("@conform.eventId", id)
	}
	if c.delta && c.event {
		m.text("@conform.type", c.one().String())
	}
	m.text("@conform.timestamp", timestamp(c.at))
	if f.watermark != "" {
		m.text("@conform.watermark", f.watermark+strconv.FormatInt(int64(c.to), 10))
	}
	if c.pad > 0 && !more {
		m.text("@conform.padding", strings.Repeat(".", c.pad))
	}
}

// appendItem writes one entry. A row is the document that it is on every wire (docs/wire.md).
func (o *odata) appendItem(b []byte, c *cycle, it *item, d odataDialect) []byte {
	switch {
	case it.raw != nil:
		return append(b, it.raw...)
	case it.row != nil:
		return o.sim.feed.appendPatch(b, it.row)
	}
	return o.appendRemoved(b, c, it, d)
}

// removedForm is how entries that are gone are written; the zero value is the form of the dialect.
type removedForm struct {
	as     string // context, annotation; empty for the dialect's
	by     string // id, key, both
	reason string // deleted, changed; none leaves it out; empty for the true one
}

func (o *odata) appendRemoved(b []byte, c *cycle, it *item, d odataDialect) []byte {
	form := c.removed
	if form.as == "" {
		form.as = "annotation"
		if !d.short {
			form.as = d.removed
		}
	}
	if form.by == "" {
		form.by = "both"
	}
	reason := it.reason
	switch form.reason {
	case "":
	case "none":
		reason = ""
	default:
		reason = form.reason
	}
	var m members
	if form.as == "context" {
		m.text(d.control("context"), "#"+o.set+"/$deletedEntity")
		m.text("id", o.entityID(it.gone))
		if reason != "" {
			m.text("reason", reason)
		}
		return m.object(b, c.reversed.entries)
	}
	var inner members
	if reason != "" {
		inner.text("reason", reason)
	}
	m.add(d.control("removed"), inner.object(nil, false))
	if form.by != "key" {
		m.text(d.control("id"), o.entityID(it.gone))
	}
	if c.reversed.entries { // members that say what the row was: nobody may take them for a change
		m.add("feature", []byte(`{"state":"gone"}`))
		m.text("sourceId", o.sim.feed.source)
	}
	if form.by != "id" {
		m.text("id", it.gone)
	}
	return m.object(b, c.reversed.entries)
}

// entityID is the id of a row's entity, relative to the service: the key as an OData literal, as a URL has it.
func (o *odata) entityID(key string) string {
	const hexDigits = "0123456789ABCDEF"
	b := append([]byte(o.set), "('"...)
	for i := 0; i < len(key); i++ {
		switch c := key[i]; {
		case c == '\'':
			b = append(b, "''"...)
		case plain(key[i:i+1]) || strings.IndexByte("~!$&()*+,;=:@", c) >= 0:
			b = append(b, c)
		default:
			b = append(b, '%', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return string(append(b, "')"...))
}
