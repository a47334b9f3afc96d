// Package fleet is the server side of the fleet-wake lane as a pure machine: admission, caps, the wake stream, signed intake and
// poll-digest. Its encoders and checks are its own, never the relay's.
package fleet
