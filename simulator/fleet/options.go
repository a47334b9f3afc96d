package fleet

import (
	"fmt"
	"strings"
	"time"
)

// Dialects of the stream's lines.
const (
	Reference = "reference" // line ends are LF, and one space follows the colon: all that the reference's parser takes (D-50)
	CRLF      = "crlf"      // line ends are CRLF, as the standard allows
)

// When the service's own subscription is armed.
const (
	ArmAtBoot = "boot"  // at the start, and after each restart
	ArmLater  = "later" // when Arm is called: what a relay sees that connects first
)

// Viewer is one row of the table that turns a credential into an identity. Its credentials are secrets: nothing prints them.
type Viewer struct {
	ProviderUsername string // makes the canonical login, @login
	Username         string // the same where there is no provider user name
	UserID           string // empty: the token proves possession and nothing else, and is refused
	Provider         string // with ProviderUserID the key of a viewer whose login nobody proved
	ProviderUserID   string

	Admission    []string // bearers of class 1, for the fleet surface; Revoke takes the first
	Plane        []string // bearers of class 3, for the plane's tool and the poll
	Subscription string   // id that the plane gives its first subscription; empty: WAKE_SUB: and a number
}

// Options says what is simulated. Zero values mean the defaults.
type Options struct {
	Viewers []Viewer // who is known; at most MaxViewers
	Service string   // canonical login (@login) whose plane bearer the server itself holds; empty: none
	// SelfBase is where the plane sends its wakes; empty: undeclared, and nothing can be armed.
	SelfBase string
	Arming   string // ArmAtBoot, ArmLater
	// Seed makes the signing keys: a driver that faces others draws it. The same seed makes the same keys.
	Seed [32]byte

	Hosts   []string // names that a request may be for, without a port; localhost, 127.0.0.1 and [::1]
	Origins []string // origins whose pages may ask; none

	Attempts      int           // DefaultAttempts
	AttemptWindow time.Duration // DefaultAttemptWindow, whole milliseconds
	ViewerStreams int           // DefaultViewerStreams
	Streams       int           // DefaultStreams
	WakeRequests  int           // DefaultWakeRequests
	WakeWindow    time.Duration // DefaultWakeWindow, whole milliseconds
	WakeBody      int           // DefaultWakeBody
	Buffer        int           // DefaultBuffer
	Heartbeat     time.Duration // DefaultHeartbeat
	Retry         time.Duration // DefaultRetry, whole milliseconds
	LogEntries    int           // DefaultLogEntries
	LogID         int64         // the plane's log goes on from here; 0

	RetryAfter bool   // a 429 says when to come again; off, as the reference is
	Dialect    string // Reference, CRLF
}

func (o Options) withDefaults() (Options, error) {
	var err error
	count := func(name string, p *int, def, most int) {
		if *p == 0 {
			*p = def
		}
		if err == nil && (*p < 1 || *p > most) {
			err = fmt.Errorf("%s: %d is not in 1 to %d", name, *p, most)
		}
	}
	span := func(name string, p *time.Duration, def, most time.Duration) {
		if *p == 0 {
			*p = def
		}
		if err == nil && (*p < time.Millisecond || *p > most || *p%time.Millisecond != 0) {
			err = fmt.Errorf("%s: %v is not in 1ms to %v, in whole milliseconds", name, *p, most)
		}
	}
	word := func(name string, p *string, known ...string) {
		if *p == "" {
			*p = known[0]
		}
		for _, k := range known {
			if *p == k {
				return
			}
		}
		if err == nil {
			err = fmt.Errorf("%s: %q is none of %s", name, *p, strings.Join(known, ", "))
		}
	}
	count("attempts", &o.Attempts, DefaultAttempts, MaxAttempts)
	span("attemptWindow", &o.AttemptWindow, DefaultAttemptWindow, MaxWindow)
	count("viewerStreams", &o.ViewerStreams, DefaultViewerStreams, MaxStreams)
	count("streams", &o.Streams, DefaultStreams, MaxStreams)
	count("wakeRequests", &o.WakeRequests, DefaultWakeRequests, MaxWakeRequests)
	span("wakeWindow", &o.WakeWindow, DefaultWakeWindow, MaxWindow)
	count("wakeBody", &o.WakeBody, DefaultWakeBody, MaxWakeBody)
	count("buffer", &o.Buffer, DefaultBuffer, MaxBuffer)
	span("heartbeat", &o.Heartbeat, DefaultHeartbeat, MaxHeartbeat)
	span("retry", &o.Retry, DefaultRetry, MaxRetry)
	count("logEntries", &o.LogEntries, DefaultLogEntries, MaxLogEntries)
	word("dialect", &o.Dialect, Reference, CRLF)
	word("arming", &o.Arming, ArmAtBoot, ArmLater)
	if o.Hosts == nil {
		o.Hosts = []string{"localhost", "127.0.0.1", "[::1]"}
	}
	switch {
	case err != nil:
		return o, err
	case o.LogID < 0 || o.LogID > MaxLogID-MaxLogEntries:
		return o, fmt.Errorf("logId: %d is not in 0 to %d", o.LogID, int64(MaxLogID-MaxLogEntries))
	case len(o.Viewers) > MaxViewers:
		return o, fmt.Errorf("viewers: %d is more than %d", len(o.Viewers), MaxViewers)
	case len(o.SelfBase) > MaxText:
		return o, fmt.Errorf("selfBase: longer than %d bytes", MaxText)
	}
	return o, nil
}
