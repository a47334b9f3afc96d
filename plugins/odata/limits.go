package odata

import (
	"time"

	"github.com/conform-dev/conform/core/transport/web"
)

// Limits that are settings: a default, and a ceiling above which a setting is refused, never clamped (D-13).
const (
	// DefaultPollInterval is the time between the end of a cycle and the next poll, and CeilingPollInterval the longest.
	DefaultPollInterval = 5 * time.Second
	CeilingPollInterval = 24 * time.Hour
	// DefaultMaxPages bounds the pages of one cycle.
	DefaultMaxPages = 500
	CeilingMaxPages = 100_000
	// DefaultMaxRows bounds the entries of one cycle, over all of its pages.
	DefaultMaxRows = 50_000
	CeilingMaxRows = 5_000_000
	// DefaultMaxPageBytes bounds the body of one answer. A page is never held whole, so the ceiling bounds time, not memory.
	DefaultMaxPageBytes = 32 << 20
	CeilingMaxPageBytes = 1 << 30
	// DefaultMaxRowBytes bounds one member of a page: an entry, which is held whole until it ends, or an annotation.
	DefaultMaxRowBytes = 1 << 20
	CeilingMaxRowBytes = 16 << 20
	// DefaultMaxEventBytes bounds the document that a round becomes, superseded rows of the round included. The ceiling is the host's.
	DefaultMaxEventBytes = 32 << 20
	CeilingMaxEventBytes = 64 << 20
	// DefaultMaxResnapshots bounds the snapshot cycles in a row that were needed to recover, without a delta cycle that succeeded in
	// between (D-39).
	DefaultMaxResnapshots = 3
	CeilingMaxResnapshots = 1000
)

// Limits that are no settings.
const (
	// MaxRedirects is how many redirects one request follows (D-33).
	MaxRedirects = web.MaxRedirects
	// MaxDepth is how deep an entry may nest; geometry needs about six levels, and the contract's own limit is 512 with the document around.
	MaxDepth = 256
	// MaxKeyBytes bounds the key of a row, and MaxKeyParts the properties that it is made of.
	MaxKeyBytes = 4096
	MaxKeyParts = 16
	// MaxLinkBytes bounds a link. It holds a position, and servers refuse requests whose head is much larger.
	MaxLinkBytes = web.MaxPositionBytes
	// MaxAnnotationBytes bounds an annotation that the contract reads: a sequence, an id, a position.
	MaxAnnotationBytes = web.MaxPositionBytes
	// MaxRefusalBytes bounds what is read of a refusal's body, to find the error code that expiredCode declares.
	MaxRefusalBytes = 64 << 10
	// MaxSameLink is how often the same link is asked again after a failure before the round is given up (D-39).
	MaxSameLink = 5
	// MaxWait is where a server's Retry-After is held (D-34).
	MaxWait = 10 * time.Minute
	// MaxSilence ends a request whose answer does not come, or does not go on (D-36).
	MaxSilence = 2 * time.Minute

	baseWait = 250 * time.Millisecond // D-34
	capWait  = 30 * time.Second

	// keepBytes is how large a buffer may stay between rounds, so that one big snapshot does not cost a quiet service its size for ever.
	keepBytes = 64 << 10
)
