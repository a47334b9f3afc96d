package wire

import (
	"errors"
	"fmt"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// Part is a piece of a document that is too large for a batch, encoded.
type Part struct{ buf *[]byte }

// Cut takes the document out of an item that is too large for a batch: the item then announces it, and the document follows in
// parts.
func (it *Item) Cut() (document []byte) {
	document, it.ev.Payload = it.ev.Payload, nil
	it.size = len(document)
	return document
}

// NewPart copies the next piece of document, from offset on.
func NewPart(document []byte, offset int) (p *Part, next int) {
	data := document[offset:min(offset+MaxPart, len(document))]
	inner := 1 + protowire.SizeBytes(len(data))
	if offset > 0 {
		inner += 1 + protowire.SizeVarint(uint64(offset))
	}
	p = &Part{buf: pool.Get(inner + 1 + protowire.SizeVarint(uint64(inner)))}
	out := protowire.AppendVarint(append((*p.buf)[:0], tag(framePart, protowire.BytesType)), uint64(inner))
	if offset > 0 {
		out = protowire.AppendVarint(append(out, tag(partOffset, protowire.VarintType)), uint64(offset))
	}
	*p.buf = protowire.AppendBytes(append(out, tag(partData, protowire.BytesType)), data)
	return p, offset + len(data)
}

// Size is the number of bytes.
func (p *Part) Size() int { return len(*p.buf) }

func (p *Part) message() mem.BufferSlice { return mem.BufferSlice{mem.NewBuffer(p.buf, pool)} }

// pending is an event whose document is still arriving. It holds at most twice of what has arrived, and never more than the
// document's length.
type pending struct {
	on   bool
	item Item
	doc  []byte
}

var errUnfinished = errors.New("a document in parts is not complete, and something else came")

// begin waits for the parts of it.
func (p *pending) begin(it *Item) {
	*p = pending{on: true, item: *it, doc: make([]byte, 0, min(it.size, MaxPart))}
}

// add takes one encoded Part and gives the event when it was the last one.
func (p *pending) add(in []byte) (*Item, error) {
	offset, data, err := readPart(in)
	switch {
	case err != nil:
		return nil, err
	case !p.on:
		return nil, errors.New("a part belongs to no event")
	case offset != uint64(len(p.doc)):
		return nil, fmt.Errorf("part.offset is %d, %d bytes went before", offset, len(p.doc))
	case len(data) == 0 || len(data) > MaxPart:
		return nil, fmt.Errorf("part.data is %d bytes long, outside 1 to %d", len(data), MaxPart)
	case len(data) > p.item.size-len(p.doc):
		return nil, fmt.Errorf("part.data goes beyond the %d bytes of its document", p.item.size)
	}
	if need := len(p.doc) + len(data); need > cap(p.doc) {
		grown := make([]byte, len(p.doc), min(p.item.size, max(need, 2*cap(p.doc))))
		copy(grown, p.doc)
		p.doc = grown
	}
	p.doc = append(p.doc, data...)
	if len(p.doc) < p.item.size {
		return nil, nil
	}
	p.item.ev.Payload, p.item.size, p.on, p.doc = p.doc, 0, false, nil
	return &p.item, nil
}

func readPart(in []byte) (offset uint64, data []byte, err error) {
	for len(in) > 0 {
		num, typ, n := consumeTag(in)
		if n < 0 {
			return 0, nil, errDamaged
		}
		in = in[n:]
		switch {
		case num == partOffset && typ == protowire.VarintType:
			offset, n = protowire.ConsumeVarint(in)
		case num == partData && typ == protowire.BytesType:
			data, n = protowire.ConsumeBytes(in)
		default:
			n = protowire.ConsumeFieldValue(num, typ, in)
		}
		if n < 0 {
			return 0, nil, errDamaged
		}
		in = in[n:]
	}
	return offset, data, nil
}
