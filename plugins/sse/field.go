package sse

import "bytes"

// take interprets one complete line (WHATWG HTML 9.2.6). inRead says that line lies inside the read and stays there until
// the read was consumed; otherwise it lies in a buffer that the next line overwrites.
func (d *Decoder) take(line []byte, inRead bool) (Block, bool) {
	if len(line) == 0 {
		return d.dispatch()
	}
	colon := bytes.IndexByte(line, ':')
	if colon == 0 {
		return Block{Kind: CommentLine, At: d.lineAt}, true
	}
	if d.block == 0 {
		d.blockAt = d.lineAt
	}
	d.block += len(line)
	field, value := line, []byte(nil)
	if colon > 0 {
		field, value = line[:colon], line[colon+1:]
		if len(value) > 0 && value[0] == ' ' {
			value = value[1:]
		}
	}
	switch string(field) {
	case "data":
		d.addData(value, inRead)
	case "event":
		d.name = appendRepaired(shrink(d.name), value)
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			d.next = appendRepaired(shrink(d.next), value)
			d.nextSet = true
		}
	case "retry":
		if ms, ok := digits(value); ok {
			return Block{Kind: RetryLine, Retry: ms, At: d.lineAt}, true
		}
	}
	if max(len(d.data), len(d.name), len(d.next)) > d.Max() { // repair makes three bytes of one
		return d.tooLarge(), true
	}
	return Block{}, false
}

// addData gathers one data line. The usual event has one, valid, inside one read: it is not copied.
func (d *Decoder) addData(value []byte, inRead bool) {
	if !d.hasData {
		d.hasData = true
		if inRead && valid(value) {
			d.view = value
			return
		}
		d.data = appendRepaired(shrink(d.data), value)
		d.joined = true
		return
	}
	d.keepView()
	d.data = append(d.data, '\n')
	d.data = appendRepaired(d.data, value)
}

// dispatch ends a block. What it found is valid until the next line is taken.
func (d *Decoder) dispatch() (Block, bool) {
	b := Block{At: d.blockAt, OwnID: d.nextSet}
	if d.nextSet {
		d.id = append(shrink(d.id), d.next...)
		b.Kind = IDBlock
	}
	if d.hasData {
		b.Kind, b.Event, b.Data = EventBlock, d.name, d.view
		if d.joined {
			b.Data = d.data
		}
	}
	b.ID = d.id
	d.block, d.hasData, d.joined, d.nextSet, d.view = 0, false, false, false, nil
	d.name = shrink(d.name)
	return b, b.Kind != 0
}

// digits reads a value of decimal digits and nothing else, held at maxRetryMs.
func digits(value []byte) (ms int64, ok bool) {
	for _, c := range value {
		if c < '0' || c > '9' {
			return 0, false
		}
		ms = min(ms*10+int64(c-'0'), maxRetryMs)
	}
	return ms, len(value) > 0
}
