// Package odata is the client side of the OData delta wire (OData 4.0 and 4.01): a pure streaming page decoder, the pure machine of
// snapshot and delta cycles, and a thin driver over net/http. It declares freshness poll and claims no push.
//
// One Open is one chain of requests: a snapshot cycle or, with a delta token, a delta cycle, then a delta cycle after each poll interval,
// each from the link that the server gave last. The machine keeps its own recovery loop (D-45): a position that expired, a service that
// stays unreachable, a round that was torn all end in a fresh snapshot in the same chain, told as Recovering.
package odata
