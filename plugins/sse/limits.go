package sse

// Limits of the decoder and of the driver (D-32). A setting above its ceiling is refused, never clamped.
const (
	// DefaultMaxEventBytes bounds a line and an event alike: 16 MiB holds a snapshot of tens of thousands of records.
	DefaultMaxEventBytes = 16 << 20
	// CeilingMaxEventBytes is the most that may be asked for. An event is held whole in memory by the decoder, on the
	// plugin's wire and by the gate, so the ceiling counts several times.
	CeilingMaxEventBytes = 64 << 20

	// keepBytes is how large a buffer may stay between events. Larger ones go back to the collector, so that one big
	// snapshot does not cost a quiet stream its size for ever.
	keepBytes = 64 << 10
)
