package fleetwake

import "time"

// Limits of the machine and of the driver. A setting above its ceiling is refused, never clamped (D-13).
const (
	// DefaultMaxEventBytes and CeilingMaxEventBytes bound one line or frame. A server takes wakes of 256 KiB at most, and writing JSON
	// anew may make them longer; what is larger would not fit the plugin's wire either.
	DefaultMaxEventBytes = 512 << 10
	CeilingMaxEventBytes = 512 << 10

	// DefaultMaxPollBytes and CeilingMaxPollBytes bound everything that a poll's answers bring, heads apart. A digest is text for people.
	DefaultMaxPollBytes = 1 << 20
	CeilingMaxPollBytes = 16 << 20

	// DefaultPollTimeout and CeilingPollTimeout are how long the catch-up poll may take (D-51).
	DefaultPollTimeout = 15 * time.Second
	CeilingPollTimeout = 15 * time.Second

	// MaxNameBytes bounds a subscription id, an event id and an agent identity: they are kept, compared, and sent back in the poll.
	MaxNameBytes = 1024

	// MaxWatermarkDigits bounds the text of the mark that an attempt brings along: no safe integer has more digits.
	MaxWatermarkDigits = 16
)
