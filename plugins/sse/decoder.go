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

	chunk  []byte // the read
	at     int    // index in chunk of what Next has not looked at yet
	nextLF int    // index in chunk of the next LF, len(chunk) if there is none; stale if below at
	nextCR int    // the same for CR
	base   int64  // offset in the stream of chunk[0]
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
func (d *Decoder) Feed(chunk []byte) {
	d.base = d.Offset()
	d.chunk, d.at, d.nextLF, d.nextCR = chunk, 0, -1, -1
}

// Lines counts the complete lines so far: each is a sign of life (D-36).
func (d *Decoder) Lines() uint64 { return d.lines }

// Offset is the number of bytes taken so far.
func (d *Decoder) Offset() int64 { return d.base + int64(d.at) }

// Unfinished is the number of bytes of a block or line whose end has not come. At the end of a stream they are dropped,
// and with them the block's id (WHATWG HTML 9.2.6).
func (d *Decoder) Unfinished() int64 {
	switch {
	case d.block > 0:
		return d.Offset() - d.blockAt
	case len(d.line) > 0:
		return d.Offset() - d.lineAt
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
func (d *Decoder) Next() (b Block, found bool) {
	if d.dead {
		return b, false
	}
	if !d.hasData && cap(d.data) > keepBytes {
		d.data = nil // was handed out by the last call
	}
	for d.at < len(d.chunk) {
		if d.bom < bomOver {
			d.skipBOM()
			continue
		}
		if d.afterC {
			d.afterC = false
			if d.chunk[d.at] == '\n' {
				d.at++
				continue
			}
		}
		end := d.lineEnd()
		line, inRead := d.chunk[d.at:end], len(d.line) == 0
		if inRead {
			d.lineAt = d.Offset()
		}
		if !d.fits(line) {
			d.tooLarge(&b)
			return b, true
		}
		if end == len(d.chunk) {
			d.line = append(d.line, line...)
			d.at = end
			break
		}
		d.afterC = d.chunk[end] == '\r'
		d.at = end + 1
		d.lines++
		if !inRead {
			d.line = append(d.line, line...)
			line = d.line
		}
		if found = d.take(line, inRead, &b); !inRead {
			d.line = shrink(d.line)
		}
		if found {
			return b, true
		}
	}
	d.keepView()
	return b, false
}

// skipBOM matches the byte order mark that may open a stream, across reads. Bytes that turn out to be none are the
// beginning of the first line.
func (d *Decoder) skipBOM() {
	if d.chunk[d.at] == bom[d.bom] {
		d.at++
		d.bom++
		return
	}
	d.line = append(d.line, bom[:d.bom]...)
	d.lineAt = 0
	d.bom = bomOver
}

// lineEnd finds the line end nearest in the read, len(chunk) if there is none. Both searches go over a read once: what they
// found is kept until it was passed.
func (d *Decoder) lineEnd() int {
	if d.nextLF < d.at {
		d.nextLF = d.index('\n')
	}
	if d.nextCR < d.at {
		d.nextCR = d.index('\r')
	}
	return min(d.nextLF, d.nextCR)
}

func (d *Decoder) index(c byte) int {
	if i := bytes.IndexByte(d.chunk[d.at:], c); i >= 0 {
		return d.at + i
	}
	return len(d.chunk)
}

// fits says whether a line that goes on with part stays within the limit, by itself and with its block. It holds for the
// part of a line that has come if it holds for the line, so the answer does not depend on where reads end.
func (d *Decoder) fits(part []byte) bool {
	n := len(d.line) + len(part)
	if n <= d.Max()-d.block {
		return true
	}
	comment := n > 0 && (len(d.line) > 0 && d.line[0] == ':' || len(d.line) == 0 && part[0] == ':')
	return comment && n <= d.Max()
}

// tooLarge ends the stream: b says so, and what was gathered is let go.
func (d *Decoder) tooLarge(b *Block) {
	*b = Block{Kind: TooLarge, At: d.lineAt}
	if d.block > 0 {
		b.At = d.blockAt
	}
	*d = Decoder{limit: d.limit, dead: true, base: d.Offset(), lines: d.lines, id: d.id}
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
