package transport

// Descriptor says what a transport can do and how (D-42). A claimed capability is tested; an unclaimed one is refused
// before a subscription opens (D-62).
type Descriptor struct {
	Name      string // of the plugin, for reports
	Version   string
	Wire      string // sse, websocket, odata, fleetwake, or a name of the author's
	Freshness Freshness
	Order     Order
	Baseline  Baseline
	Resume    []Mode // empty: every reconnect needs a snapshot
	Vouch     Vouch
	// Heartbeats and Watermarks say whether the wire emits them.
	Heartbeats bool
	Watermarks bool
	Options    []Option
	Takes      []Take // what of an attempt it can make use of beside what every transport must
}

// Freshness is how news arrives: push or poll.
type Freshness string

// Order is who numbers the events.
type Order string

// Baseline is what a stream starts from.
type Baseline string

// Mode is a way to name the position from which a stream goes on.
type Mode string

// Vouch is how a server confirms a resume (D-41).
type Vouch string

// The vocabulary.
const (
	Push Freshness = "push"
	Poll Freshness = "poll"

	ServerSequence Order = "server-sequence"
	RequestChain   Order = "request-chain"
	NoOrder        Order = "none"

	BaselineSnapshot Baseline = "snapshot"
	BaselinePosition Baseline = "position"
	NoBaseline       Baseline = "none"

	ByCursor     Mode = "cursor"
	ByWatermark  Mode = "watermark"
	ByTimestamp  Mode = "timestamp"
	BySequence   Mode = "sequence"
	ByDeltaToken Mode = "delta-token"

	VouchFrame    Vouch = "frame"
	VouchImplicit Vouch = "implicit"
	NoVouch       Vouch = "none"
)

// Option is one setting of a transport: text, an integer with a ceiling, or one of a list.
type Option struct {
	Name    string
	Doc     string
	Default string
	Ceiling int64    // for integers: largest accepted value, 0 for other kinds; above it is an error, never clamped (D-13)
	Values  []string // for enumerations
}
