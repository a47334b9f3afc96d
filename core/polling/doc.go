// Package polling drives a subscription whose transport keeps its own polling and recovery loop (D-45). It owns the gate, as
// core/session does for a transport that has no loop of its own, and does nothing that a loop does: it opens the transport once,
// and again only when the gate itself found something wrong and needs a snapshot. It is pure.
package polling
