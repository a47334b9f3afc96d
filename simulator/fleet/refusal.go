package fleet

import (
	"strconv"

	"github.com/conform-dev/conform/simulator"
)

const jsonType = "application/json; charset=utf-8"

// refusal is an answer that is no stream.
type refusal struct {
	status  int
	body    string
	word    string // for the record: what it is, without anything that the client sent
	header  simulator.Header
	early   bool // before origins count: no page may read it
	counted bool // toward the attempts of its key
	key     string
}

// The words of W refusals (fleet facts 1.4).
const (
	originRefused   = "fleet: origin not admitted"
	identityMissing = "fleet: authenticated provider identity required"
	tooManyAttempts = "fleet: too many stream attempts"
	noSubject       = "fleet: viewer identity carries no stable subject"
	capTotal        = "fleet: stream cap reached (total)"
	capViewer       = "fleet: stream cap reached (per viewer)"
	disposed        = "fleet: stream registry disposed"
	rejected        = "fleet: stream rejected at handshake"
	noRoute         = "fleet: route not found"
)

// wired is a refusal in the wire's own envelope.
func wired(status int, text string) *refusal {
	word := text
	if r := []rune(text); len(r) > MaxRefusalText {
		text = string(r[:MaxRefusalText])
	}
	return &refusal{status: status, word: word, body: `{"ok":false,"state":"refused","protocol":{"capabilities":` +
		`["method-schema-v1","closed-response-states-v1"],"version":1},"error":` + quoted(text) + `}`}
}

// unauthorized is a refusal by the check of bearers, which has a shape of its own.
func unauthorized(description string) *refusal {
	return &refusal{status: 401, word: description, body: `{"error":"invalid_token","error_description":` + quoted(description) + `}`,
		header: simulator.Header{"Www-Authenticate": {`Bearer error="invalid_token", error_description="` + description + `"`}}}
}

// misdirected is a refusal by the check of hosts.
func misdirected(message, word string) *refusal {
	return &refusal{status: 403, word: word, early: true,
		body: `{"jsonrpc":"2.0","error":{"code":-32000,"message":` + quoted(message) + `},"id":null}`}
}

// plain is a refusal with one word.
func plain(status int, word string) *refusal {
	return &refusal{status: status, word: word, body: `{"error":` + quoted(word) + `}`}
}

// counting marks r as one of those that use up the budget of key.
func (r *refusal) counting(key string) *refusal {
	r.counted, r.key = true, key
	return r
}

// after says when to come again, where the switch is on.
func (s *Server) after(r *refusal, ms int64) *refusal {
	if s.opt.RetryAfter {
		if r.header == nil {
			r.header = simulator.Header{}
		}
		r.header["Retry-After"] = []string{strconv.FormatInt(max((ms+999)/1000, 1), 10)}
	}
	return r
}
