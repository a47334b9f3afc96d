package session

import "github.com/conform-dev/conform/core/gate"

// backlog counts the payload bytes that the gate holds. Tickets of a gate follow each other, so a ticket is an index.
type backlog struct {
	first gate.Ticket // of sizes[0]
	sizes []int       // settled ones are below zero
	head  int         // everything before it is settled
	bytes int
}

// slack is how many settled entries may stand at the front before they are cut off.
const slack = 1024

func (b *backlog) add(t gate.Ticket, size int) {
	if len(b.sizes) == 0 {
		b.first = t
	}
	b.sizes = append(b.sizes, size)
	b.bytes += size
}

// settle takes out what was resolved.
func (b *backlog) settle(done []gate.Delivery) {
	for _, d := range done {
		at := &b.sizes[d.Ticket-b.first]
		b.bytes -= *at
		*at = -1
	}
	for b.head < len(b.sizes) && b.sizes[b.head] < 0 {
		b.head++
	}
	switch {
	case b.head == len(b.sizes):
		b.sizes, b.head = b.sizes[:0], 0
	case b.head >= slack:
		b.first += gate.Ticket(b.head)
		b.sizes = b.sizes[:copy(b.sizes, b.sizes[b.head:])]
		b.head = 0
	}
}
