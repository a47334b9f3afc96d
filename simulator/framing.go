package simulator

// framing is how one message is framed on the WebSocket wire; the zero value is one whole text frame.
type framing struct{}
