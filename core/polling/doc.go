// Package polling drives a subscription whose transport keeps its own polling and recovery loop (D-45). It owns the gate, as
// core/session does for a transport that has no loop of its own, and does nothing that such a loop does: no back-off, no idle limit, no
// reconnect. It opens the transport once, and again only for what the transport cannot see: the gate found something wrong and needs a
// snapshot, the service is not the one that the position is of, a credential ran out, the transport's process died. It is pure.
package polling
