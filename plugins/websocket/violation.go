package websocket

// Violation is the stable name of something that a server must not send, by RFC 6455 and RFC 7692. The empty one is none.
type Violation string

// The violations. What is wrong with a frame's head is looked for in this order, and the first one counts.
const (
	ReservedBits             Violation = "reserved-bits"              // a reserved bit that no extension agreed gives a meaning
	UnknownOpcode            Violation = "unknown-opcode"             // 0x3 to 0x7, 0xB to 0xF
	FragmentedControl        Violation = "fragmented-control"         // a ping, pong or close without FIN
	ContinuationWithoutStart Violation = "continuation-without-start" // no message is open
	FragmentInterrupted      Violation = "fragment-interrupted"       // text or binary while a fragmented message is open
	MaskedFrame              Violation = "masked-frame"               // only clients mask
	ControlTooLong           Violation = "control-too-long"           // above 125 bytes
	ClosePayloadOneByte      Violation = "close-payload-one-byte"     // half a close code
	LengthHighBit            Violation = "length-high-bit"            // a 64-bit length of 2^63 or more
	NonMinimalLength         Violation = "non-minimal-length"         // a longer form than the length needs
	MessageTooLarge          Violation = "message-too-large"          // a limit of ours, not a rule of the standard's
	InvalidUTF8              Violation = "invalid-utf8"               // in a text message
	InvalidUTF8InReason      Violation = "invalid-utf8-in-close-reason"
	InvalidCloseCode         Violation = "invalid-close-code" // one that no close frame may hold
	BadDeflate               Violation = "bad-deflate"        // a compressed message that cannot be inflated
	DataAfterClose           Violation = "data-after-close"
)

// violations tells for each the close code that a client fails the connection with, and the clause that it breaks.
var violations = map[Violation]struct {
	code   uint16
	clause string
}{
	ReservedBits:             {CodeProtocolError, "RFC 6455 5.2"},
	UnknownOpcode:            {CodeProtocolError, "RFC 6455 5.2"},
	FragmentedControl:        {CodeProtocolError, "RFC 6455 5.5"},
	ContinuationWithoutStart: {CodeProtocolError, "RFC 6455 5.4"},
	FragmentInterrupted:      {CodeProtocolError, "RFC 6455 5.4"},
	MaskedFrame:              {CodeProtocolError, "RFC 6455 5.1"},
	ControlTooLong:           {CodeProtocolError, "RFC 6455 5.5"},
	ClosePayloadOneByte:      {CodeProtocolError, "RFC 6455 5.5.1"},
	LengthHighBit:            {CodeProtocolError, "RFC 6455 5.2"},
	NonMinimalLength:         {CodeProtocolError, "RFC 6455 5.2"},
	MessageTooLarge:          {CodeTooLarge, "RFC 6455 7.4.1"},
	InvalidUTF8:              {CodeInvalidData, "RFC 6455 8.1"},
	InvalidUTF8InReason:      {CodeInvalidData, "RFC 6455 8.1"},
	InvalidCloseCode:         {CodeProtocolError, "RFC 6455 7.4"},
	BadDeflate:               {CodeInvalidData, "RFC 7692 7.2.2"},
	DataAfterClose:           {CodeProtocolError, "RFC 6455 5.5.1"},
}

// Code is the close code to fail the connection with; 0 for a name that is none.
func (v Violation) Code() uint16 { return violations[v].code }

// Clause is what it breaks; empty for a name that is none.
func (v Violation) Clause() string { return violations[v].clause }
