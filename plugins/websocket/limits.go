package websocket

import "time"

// Limits of the decoder and of the driver (D-37). A setting above its ceiling is refused, never clamped.
const (
	// DefaultMaxMessageBytes bounds a message, on the wire and inflated: 16 MiB holds a snapshot of tens of thousands of records.
	DefaultMaxMessageBytes = 16 << 20
	// CeilingMaxMessageBytes is the most that may be asked for. A message is held whole in memory by the decoder, on the
	// plugin's wire and by the gate, so the ceiling counts several times.
	CeilingMaxMessageBytes = 64 << 20

	// DefaultPingEvery is the time between pings, and CeilingPingEvery the longest (D-37).
	DefaultPingEvery = 15 * time.Second
	CeilingPingEvery = time.Hour
	// MaxUnanswered is how many pings in a row may stay unanswered before the connection is given up (D-37).
	MaxUnanswered = 2

	// MaxSubscribeBytes bounds the subscribe message, which travels as an option.
	MaxSubscribeBytes = 64 << 10
	// MaxCloseCodes bounds the table of close codes of one's own.
	MaxCloseCodes = 64
	// MaxSubprotocols bounds the list of subprotocols.
	MaxSubprotocols = 16

	// MaxFinalBlocks bounds the DEFLATE streams that one message may be made of: a compressor makes one, and each costs the
	// inflater a window of 32 KiB.
	MaxFinalBlocks = 256

	// keepBytes is how large a buffer may stay between messages. Larger ones go back to the collector, so that one big
	// snapshot does not cost a quiet stream its size for ever.
	keepBytes = 64 << 10
)

func shrink(b []byte) []byte {
	if cap(b) > keepBytes {
		return nil
	}
	return b[:0]
}
