package sse

import (
	"bytes"

	"github.com/conform-dev/conform/core/transport"
)

// take interprets one complete line (WHATWG HTML 9.2.6). inRead says that line lies inside the read and stays there until
// the read was consumed; otherwise it lies in a buffer that the next line overwrites. The answer is whether the line made b,
// which is written only then: most lines make none, and a Block is not small.
func (d *Decoder) take(line []byte, inRead bool, b *Block) bool {
	if len(line) == 0 {
		return d.dispatch(b)
	}
	if line[0] == ':' {
		b.Kind, b.At = CommentLine, d.lineAt
		return true
	}
	if d.block == 0 {
		d.blockAt = d.lineAt
	}
	d.block += len(line)
	if value, ok := field(line, "data"); ok {
		d.addData(value, inRead)
	} else if value, ok = field(line, "id"); ok {
		if bytes.IndexByte(value, 0) < 0 {
			d.next = appendRepaired(shrink(d.next), value)
			d.nextSet = true
		}
	} else if value, ok = field(line, "event"); ok {
		d.name = appendRepaired(shrink(d.name), value)
	} else if value, ok = field(line, "retry"); ok {
		if ms, ok := digits(value); ok {
			b.Kind, b.Retry, b.At = RetryLine, ms, d.lineAt
			return true
		}
	}
	if max(len(d.data), len(d.name), len(d.next)) > d.Max() { // repair makes three bytes of one
		d.tooLarge(b)
		return true
	}
	return false
}

// field is the value of a line if it is a field of that name: the name alone, or the name, a colon, a space that does not
// count, and the value. A name without a colon in it is the line's field exactly if the line begins so, and no search for
// the colon is needed.
func field(line []byte, name string) (value []byte, ok bool) {
	if len(line) < len(name) || string(line[:len(name)]) != name {
		return nil, false
	}
	value = line[len(name):]
	if len(value) == 0 {
		return nil, true
	}
	if value[0] != ':' {
		return nil, false
	}
	if value = value[1:]; len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	return value, true
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
func (d *Decoder) dispatch(b *Block) bool {
	if d.nextSet {
		d.id, d.next = d.next, d.id
		b.Kind, b.OwnID = IDBlock, true
	}
	if d.hasData {
		b.Kind, b.Event, b.Data = EventBlock, d.name, d.view
		if d.joined {
			b.Data = d.data
		}
	}
	b.ID, b.At = d.id, d.blockAt
	d.block, d.hasData, d.joined, d.nextSet, d.view = 0, false, false, false, nil
	d.name = shrink(d.name)
	return b.Kind != 0
}

// digits reads a value of decimal digits and nothing else, held at transport.MaxDelayMs.
func digits(value []byte) (ms int64, ok bool) {
	for _, c := range value {
		if c < '0' || c > '9' {
			return 0, false
		}
		ms = min(ms*10+int64(c-'0'), transport.MaxDelayMs)
	}
	return ms, len(value) > 0
}
