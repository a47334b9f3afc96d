// Package fleetwake is the relay side of the fleet-wake lane: push for latency, poll for truth. It is the pure machine of one wake
// stream (machine.go), what its frames and the answer of its catch-up poll hold (state.go, envelope.go, answer.go), and the driver
// that runs it over net/http (http*.go). docs/fleet-wake.md states the bytes.
package fleetwake
