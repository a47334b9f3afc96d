package simulator

import "slices"

// What the faults of the OData wire share.

// rounder is a fault in the pages of a snapshot or a round, which it changes before the first of them is written. Without a trigger for an
// event it may strike a round without a change too.
type rounder interface{ round(*cycle) bool }

// pages makes a fault of a function.
type pages func(*cycle) bool

func (p pages) round(c *cycle) bool { return p(c) }

// The triggers of a fault in pages.
var (
	onOData  = []string{OData}
	notOData = []string{SSE, WebSocket}
	onRound  = []string{"connection", "request", "sequence", "event"}
)

// insert puts items at a place.
func (c *cycle) insert(at int, items ...item) { c.items = slices.Insert(c.items, at, items...) }

// first finds the first item for which is holds; -1 if there is none.
func (c *cycle) first(is func(item) bool) int { return slices.IndexFunc(c.items, is) }

func isRow(i item) bool  { return i.row != nil }
func isGone(i item) bool { return i.gone != "" }

// further makes sure that there is a page behind the first one.
func (c *cycle) further() {
	if c.first(func(i item) bool { return i.end }) < 0 {
		c.insert(len(c.items), item{end: true})
	}
}
