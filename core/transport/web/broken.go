package web

import "github.com/conform-dev/conform/core/transport"

// Broken is the end of a connection in a fixed word, for the detail of a signal. Drivers give it to End: an error of the
// network may hold an address, a URL or what a server wrote.
type Broken string

func (b Broken) Error() string { return string(b) }

// AbnormalEnd stands for every error that is no Broken.
const AbnormalEnd Broken = "abnormal-end"

// Futile is the end of a connection that no further try can make: what was found has to be changed by somebody first. Drivers give
// it to End; it is Refused for Cause, with Word as the detail (WHATWG HTML 9.2.2: a client need not reconnect when it knows
// that to be futile).
type Futile struct {
	Cause transport.Cause
	Word  string // fixed, as in Broken
}

func (f Futile) Error() string { return f.Word }
