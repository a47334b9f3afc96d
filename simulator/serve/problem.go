package serve

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/conform-dev/conform/simulator/strict"
)

// refusal is what the control API says when it does not do what it was asked.
type refusal struct {
	status int
	detail string
	member string // of the body, where one is to blame
	line   int    // of the body, from 1
	column int
	allow  string // 405
}

func (r refusal) Error() string { return r.detail }

// refusalOf turns an error into a refusal: a fault in the body is 400 with its place, anything else is a wish that cannot be met
// as things stand, 409.
func refusalOf(err error) refusal {
	var r refusal
	var place *strict.Error
	switch {
	case errors.As(err, &r):
		return r
	case errors.As(err, &place):
		return refusal{status: http.StatusBadRequest, detail: place.Detail, member: place.Member, line: place.Line, column: place.Column}
	case errors.Is(err, ErrClosed):
		return refusal{status: http.StatusServiceUnavailable, detail: err.Error()}
	}
	return refusal{status: http.StatusConflict, detail: err.Error()}
}

// problem writes r as problem details (RFC 9457). The type is about:blank: the status says what kind of problem it is.
func problem(w http.ResponseWriter, r refusal) {
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	if r.allow != "" {
		h.Set("Allow", r.allow)
	}
	w.WriteHeader(r.status)
	_ = json.NewEncoder(w).Encode(struct {
		Type   string `json:"type"`
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail"`
		Member string `json:"member,omitempty"`
		Line   int    `json:"line,omitempty"`
		Column int    `json:"column,omitempty"`
	}{"about:blank", http.StatusText(r.status), r.status, r.detail, r.member, r.line, r.column})
}
