package probe

import (
	"context"
	"net/http"
	"slices"
	"time"
)

// People that scenarios of a fleet-wake server speak of. A server team gives a credential for each that it has; rows that need one that
// is missing are not claimed.
const (
	Viewer   = "the viewer"      // armed: the server holds a wake route for it
	Other    = "another viewer"  // has an identity of its own
	Stranger = "a stranger"      // admitted, and has no stable subject
	Holder   = "a mere holder"   // its token proves possession and nothing else
	Visitor  = "visitor"         // with a number behind it: enough of them to fill the server
	Nobody   = "an unknown face" // its token is nobody's
)

// Person is who the examiner can speak for. The functions answer secrets; each is asked every time, since a restart may change them.
type Person struct {
	Login        string                 // @login, the identity of its wakes
	Subscription string                 // its wake subscription
	Admission    func() (string, error) // class-1 bearer
	Plane        func() (string, error) // class-3 bearer; nil: none
	Key          func() (string, error) // signing key of its subscription; nil: not known
}

// Limits are what the server declares. What is zero is not known, and what rests on it is not examined.
type Limits struct {
	Attempts      int
	AttemptWindow time.Duration
	ViewerStreams int
	Streams       int
	WakeRequests  int
	WakeWindow    time.Duration
	WakeBody      int // bytes
	Heartbeat     time.Duration
	History       int // changes that can be resumed from
}

// Target is a server to examine. It belongs to one scenario, or, where the server is somebody's own, to one after the other.
type Target struct {
	Wire     string
	Client   *http.Client                      // how a server of somebody's own is reached; nil: plainly
	Headers  func() (map[string]string, error) // sent with every request; nil: none
	Base     string                            // origin of its URLs, without a path
	Events   string                            // path of the stream
	Wake     string                            // path of the signed intake
	Poll     string                            // path of the poll over HTTP; empty: none
	Tool     string                            // path of the plane's tool; empty: none
	People   map[string]Person
	Limits   Limits
	Feed     *Feed    // of a server that is no fleet-wake one
	Trims    bool     // it has the hook Trim
	Can      []string // what can be examined: the words that rows require
	Secrets  func() []string
	Do       func(ctx context.Context, verb Verb, whom string, n int) error // the server's hooks
	Close    func() error
	Canaries map[string]string // planted secrets, by a name that begins with canary

	budgets map[string]*budget // by what they are for
	serial  int                // changes published
}

// Verb is what a hook makes the server do.
type Verb string

// The verbs.
const (
	Publish  Verb = "publish"  // n messages for whom, n changes of a feed
	Trim     Verb = "trim"     // all but the last n changes
	Restart  Verb = "restart"  // the process, its streams and its windows
	ShutDown Verb = "shutdown" // has begun: no stream is taken any more
	Lose     Verb = "lose"     // the next accepted wake inside the server
	Arm      Verb = "arm"      // whom
	Disarm   Verb = "disarm"   // whom
)

// Able says whether everything that a row requires is there.
func (t *Target) Able(requires []string) bool { return Missing(t.Can, requires) == "" }

// Missing is the first of requires that is not in can; empty if none is.
func Missing(can, requires []string) string {
	for _, r := range requires {
		if !slices.Contains(can, r) {
			return r
		}
	}
	return ""
}

// Capabilities are the words that rows of a fleet-wake server may require. What a row needs beside a URL and the viewer's credential
// stands there; a subject that does not name it is not held to the row.
var Capabilities = []string{
	"viewer",         // the bearer of the viewer
	"another-viewer", // a second identity
	"stranger",       // a credential without a stable subject
	"holder",         // a credential without an identity
	"visitors",       // enough people to fill the server
	"limits",         // the caps are declared
	"heartbeat",      // its interval is declared
	"plane",          // the viewer's class-3 credential
	"other-plane",    // another viewer's
	"signing",        // the viewer's signing key, login and subscription
	"other-signing",  // another viewer's signing key
	"poll", "tool",   // where to poll
	"publish", "restart", "shutdown", "lose", "arm", // hooks
}
