// Package sse is conform's transport for Server-Sent Events: a pure streaming decoder (decoder.go), a pure client for one
// connection (machine.go), and the driver that runs it over net/http (http.go).
package sse

import "bytes"

// Decoder takes the bytes of an event stream apart (WHATWG HTML 9.2.5 and 9.2.6, D-32). It is fed reads cut anywhere and
// gives the same blocks for every way of cutting. The limit counts the bytes of a block's lines, without line ends and
// comments. What a decoder holds is bounded by it: the unfinished line, what was gathered of the block, and the last event
// ID have at most the limit each. The zero Decoder has the default limit.
type Decoder struct {
	limit int

	rest   []byte // what Next has not looked at yet
	nextLF int    // index in rest of the next LF, len(rest) if there is none; stale if below zero
	nextCR int    // the same for CR
	read   int64  // offset in the stream of rest[0]
	lines  uint64
	bom    int  // bytes of a byte order mark matched so far; bomOver after the stream's first bytes
	afterC bool // the last line ended in CR: an LF that follows belongs to it
	dead   bool // a TooLarge was handed out

	line   []byte // a line cut by the end of a read
	lineAt int64  // offset of the line's first byte

	block   int   // bytes of the unfinished block's lines so far; 0 between blocks
	blockAt int64 // offset of its first byte
	name    []byte
	hasData bool
	view    []byte // its data while that is one line inside the read
	data    []byte // its data otherwise
	joined  bool   // data counts, not view
	next    []byte // the last event ID buffer
	nextSet bool   // the block has an id line
	id      []byte // the last event ID in force
}

const bom, bomOver = "\uFEFF", 3

// NewDecoder makes a decoder whose lines and events have at most limit bytes, 1 to CeilingMaxEventBytes; 0 means
// DefaultMaxEventBytes. Any other number is a programming mistake and panics: settings are checked before (Options).
func NewDecoder(limit int) *Decoder {
	if limit < 0 || limit > CeilingMaxEventBytes {
		panic("sse: decoder limit out of range")
	}
	return &Decoder{limit: limit}
}

// Feed hands over one read. The blocks in it are then taken with Next; chunk must stay unchanged until Next says false,
// and is not kept after that. What Next has not looked at of an earlier read is lost, so take everything first.
func (d *Decoder) Feed(chunk []byte) { d.rest, d.nextLF, d.nextCR = chunk, -1, -1 }

// Lines counts the complete lines so far: each is a sign of life (D-36).
func (d *Decoder) Lines() uint64 { return d.lines }

// Offset is the number of bytes taken so far.
func (d *Decoder) Offset() int64 { return d.read }

// Unfinished is the number of bytes of a block or line whose end has not come. At the end of a stream they are dropped,
// and with them the block's id (WHATWG HTML 9.2.6).
func (d *Decoder) Unfinished() int64 {
	switch {
	case d.block > 0:
		return d.read - d.blockAt
	case len(d.line) > 0:
		return d.read - d.lineAt
	}
	return 0
}

// LastID is the last event ID in force: what the WHATWG client would send on a reconnect. It is valid until the next call
// of Next.
func (d *Decoder) LastID() []byte { return d.id }

// Max is the limit in force.
func (d *Decoder) Max() int {
	if d.limit == 0 {
		return DefaultMaxEventBytes
	}
	return d.limit
}

// Next finds the next block in what was fed; false means that another read is needed.
func (d *Decoder) Next() (Block, bool) {
	if d.dead {
		return Block{}, false
	}
	if !d.hasData && cap(d.data) > keepBytes {
		d.data = nil // was handed out by the last call
	}
	for len(d.rest) > 0 {
		if d.bom < bomOver {
			d.skipBOM()
			continue
		}
		if d.afterC {
			d.afterC = false
			if d.rest[0] == '\n' {
				d.advance(1)
				continue
			}
		}
		end := d.lineEnd()
		if len(d.line) == 0 {
			d.lineAt = d.read
		}
		if !d.fits(end) {
			return d.tooLarge(), true
		}
		if end == len(d.rest) {
			d.line = append(d.line, d.rest...)
			d.advance(end)
			break
		}
		line, inRead := d.rest[:end], true
		if len(d.line) > 0 {
			d.line = append(d.line, line...)
			line, inRead = d.line, false
		}
		d.afterC = d.rest[end] == '\r'
		d.advance(end + 1)
		d.lines++
		b, found := d.take(line, inRead)
		d.line = shrink(d.line)
		if found {
			return b, true
		}
	}
	d.keepView()
	return Block{}, false
}

// skipBOM matches the byte order mark that may open a stream, across reads. Bytes that turn out to be none are the
// beginning of the first line.
func (d *Decoder) skipBOM() {
	if d.rest[0] == bom[d.bom] {
		d.advance(1)
		d.bom++
		return
	}
	d.line = append(d.line, bom[:d.bom]...)
	d.lineAt = 0
	d.bom = bomOver
}

// advance drops n bytes of the read.
func (d *Decoder) advance(n int) {
	d.rest = d.rest[n:]
	d.read += int64(n)
	d.nextLF -= n
	d.nextCR -= n
}

// lineEnd finds the line end nearest in the read, len(rest) if there is none. Both searches go over a read once: what
// they found is kept until it was passed.
func (d *Decoder) lineEnd() int {
	if d.nextLF < 0 {
		d.nextLF = index(d.rest, '\n')
	}
	if d.nextCR < 0 {
		d.nextCR = index(d.rest, '\r')
	}
	return min(d.nextLF, d.nextCR)
}

func index(b []byte, c byte) int {
	if i := bytes.IndexByte(b, c); i >= 0 {
		return i
	}
	return len(b)
}

// fits says whether a line with n bytes of the read stays within the limit, by itself and with its block. It holds for the
// part of a line that has come if it holds for the line, so the answer does not depend on where reads end.
func (d *Decoder) fits(n int) bool {
	n += len(d.line)
	first := byte('\n')
	if len(d.line) > 0 {
		first = d.line[0]
	} else if n > 0 {
		first = d.rest[0]
	}
	if first == ':' {
		return n <= d.Max()
	}
	return n <= d.Max()-d.block
}

func (d *Decoder) tooLarge() Block {
	at := d.lineAt
	if d.block > 0 {
		at = d.blockAt
	}
	*d = Decoder{limit: d.limit, dead: true, read: d.read, lines: d.lines, id: d.id}
	return Block{Kind: TooLarge, At: at}
}

// keepView copies what points into the read, before the read goes back to its owner.
func (d *Decoder) keepView() {
	if d.hasData && !d.joined {
		d.data = append(shrink(d.data), d.view...)
		d.joined = true
	}
	d.view = nil
}

func shrink(b []byte) []byte {
	if cap(b) > keepBytes {
		return nil
	}
	return b[:0]
}
