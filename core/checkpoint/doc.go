// Package checkpoint holds what a resume hangs on: the context it is bound to, the accepted position, the stored record,
// and the one way to write each of them down. It judges whether a stored position may be resumed from, and answers with a
// reason of the contract. It is pure: no clock, no I/O. The formats are those of the contract and move between
// implementations byte for byte (D-20); what differs on purpose is listed in docs/deviations.md.
package checkpoint
