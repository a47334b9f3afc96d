// Package fleetwake is the relay side of the fleet-wake lane: push for latency, poll for truth. The pure machine of one wake stream,
// the catch-up poll through a seam, the credential chain, and a thin driver over net/http.
package fleetwake
