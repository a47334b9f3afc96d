package websocket

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/transport"
)

// What a server that closes asks of everybody at once must not be done by everybody at once (D-37, 1012 to 1014). The session's own
// jitter is a part of its back-off, which is short at first.
const (
	restartSpread = 5 * time.Second  // 1012: from 0
	longFloor     = 15 * time.Second // 1013, 1014 and a code declared as `wait`: from here
	longSpread    = 15 * time.Second // to here on top
)

// Action is what a close code of one's own (3000 to 4999) means, by the option closeCodes (D-37).
type Action string

// The actions.
const (
	ActionReconnect    Action = "reconnect"    // resume with back-off
	ActionWait         Action = "wait"         // the same after a long, spread wait
	ActionExpired      Action = "expired"      // the position is dead (D-31)
	ActionResnapshot   Action = "resnapshot"   // the stream cannot be resumed
	ActionUnauthorized Action = "unauthorized" // like status 401: one more try if the credential source has a new one
	ActionComplete     Action = "complete"     // the server is done, like 1000
	ActionRefuse       Action = "refuse"       // never called again; what every code means that is not listed
)

var actions = []string{string(ActionReconnect), string(ActionWait), string(ActionExpired), string(ActionResnapshot), string(ActionUnauthorized), string(ActionComplete), string(ActionRefuse)}

// closeTable is the option closeCodes.
type closeTable map[uint16]Action

// parseCloseCodes reads CODE=ACTION,CODE=ACTION.
func parseCloseCodes(text string) (closeTable, bool) {
	table := closeTable{}
	if text == "" {
		return table, true
	}
	parts := strings.Split(text, ",")
	if len(parts) > MaxCloseCodes {
		return nil, false
	}
	for _, part := range parts {
		code, action, _ := strings.Cut(strings.Trim(part, " "), "=")
		n, err := strconv.ParseUint(code, 10, 16)
		known := false
		for _, a := range actions {
			known = known || a == action
		}
		if err != nil || n < 3000 || n > 4999 || !known || table[uint16(n)] != "" {
			return nil, false
		}
		table[uint16(n)] = Action(action)
	}
	return table, true
}

// meaning is what a close code that was received means (D-37). The reason that came with it is the server's own text and shown to
// nobody.
func meaning(code uint16, table closeTable, c *chance) transport.Signal {
	s := transport.Signal{Kind: transport.Ended, Cause: transport.ConnectionLost, Detail: fmt.Sprintf("closed with %d", code)}
	switch code {
	case CodeNormal:
		s.Cause = transport.ServerStop
	case CodeGoingAway, CodeInternalError:
	case CodeNone:
		s.Detail = "closed without a code"
	case CodeServiceRestart:
		s.RetryAfter = c.upTo(restartSpread)
	case CodeTryAgainLater, CodeBadGateway:
		s.Cause, s.RetryAfter = transport.Throttled, longFloor+c.upTo(longSpread)
	case CodePolicy:
		s.Kind, s.Cause = transport.Refused, transport.Unauthorized
	case CodeTooLarge:
		s.Kind, s.Cause, s.Reason, s.Detail = transport.Gap, transport.CauseNone, event.TransportGap, "message-too-large: the server closed with 1009"
	default:
		if code < 3000 {
			s.Kind, s.Cause = transport.Refused, transport.ProtocolError
			break
		}
		declared(table[code], &s, c)
	}
	return s
}

func declared(a Action, s *transport.Signal, c *chance) {
	switch a {
	case ActionReconnect:
	case ActionWait:
		s.Cause, s.RetryAfter = transport.Throttled, longFloor+c.upTo(longSpread)
	case ActionExpired:
		s.Kind, s.Cause, s.Reason = transport.Expired, transport.CauseNone, event.CursorExpired
	case ActionResnapshot:
		s.Kind, s.Cause, s.Reason = transport.Gap, transport.CauseNone, event.ResumeUnsupported
	case ActionUnauthorized:
		s.Kind, s.Cause, s.Status = transport.Refused, transport.Unauthorized, 401
	case ActionComplete:
		s.Cause = transport.ServerStop
	default:
		s.Kind, s.Cause = transport.Refused, transport.Rejected
	}
}
