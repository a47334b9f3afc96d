package sse

// Block is one thing that the decoder found. Its slices are valid until the next call of Next or Feed.
type Block struct {
	Kind  BlockKind
	Event []byte // EventBlock: the event's name; empty means "message"
	Data  []byte // EventBlock: the data lines, joined by LF
	ID    []byte // EventBlock, IDBlock: the last event ID in force from here on
	OwnID bool   // EventBlock, IDBlock: the block had an id line of its own
	Retry int64  // RetryLine: milliseconds
	At    int64  // offset in the stream of the first byte of the block or line
}

// BlockKind is the kind of a block.
type BlockKind uint8

// The kinds.
const (
	EventBlock  BlockKind = iota + 1 // a block with data: an event (WHATWG HTML 9.2.6, dispatch)
	IDBlock                          // a block with an id and no data: no event, but the last event ID moved
	CommentLine                      // a line that begins with a colon
	RetryLine                        // a valid retry field; it counts at once, whatever becomes of its block
	TooLarge                         // a line or event above the limit: nothing follows, and nothing of it is delivered
)
