package transport

// Query is what a subscription asks for (facts 1.2). Positions are not part of it: they come from the gate alone (facts
// 5.6 rule 2).
type Query struct {
	SourceID      string // required
	LayerID       string
	RequestID     string
	Mode          string // snapshot, snapshot-then-delta, delta; empty leaves it to the server
	Where         string
	Fields        []string
	SpatialFilter string // JSON
	Metadata      string // JSON
}
