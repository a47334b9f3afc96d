package event

import (
	"encoding/json"
	"errors"
	"strings"
)

// Kind, name and domain of the error object (facts 1.7, D-20).
const (
	ErrorKind   = "honua.sdk.error.v1"
	ErrorName   = "HonuaRealtimeResumeError"
	ErrorDomain = "realtime"
)

// maxReference is the longest operation or request id that an error shows.
const maxReference = 256

const redacted = "[REDACTED]"

// ResumeError is why a delivery, a load or a save did not happen, in the contract's words. Its JSON form holds no message
// and nothing of the cause but its name and class, so that it may be logged and sent.
type ResumeError struct {
	Reason      Reason
	OperationID string // optional; shown only if it looks like an id
	RequestID   string // optional; shown only if it looks like an id
	Message     string // for people, local: may name members and limits, never a value
	Cause       error  // local
}

// NewError makes a ResumeError. message may be empty and cause nil.
func NewError(r Reason, message string, cause error) *ResumeError {
	return &ResumeError{Reason: r, Message: message, Cause: cause}
}

// Error is the reason, then the message. The cause is left to errors.Unwrap: its text may hold what must not be shown.
func (e *ResumeError) Error() string {
	if e.Message == "" {
		return e.Reason.String()
	}
	return e.Reason.String() + ": " + e.Message
}

// Unwrap is the cause.
func (e *ResumeError) Unwrap() error { return e.Cause }

// Is finds errors of the same reason: errors.Is(err, &ResumeError{Reason: SequenceGap}).
func (e *ResumeError) Is(target error) bool {
	t, ok := target.(*ResumeError)
	return ok && t.Reason == e.Reason && t.Message == "" && t.Cause == nil
}

type errorJSON struct {
	Kind        string       `json:"kind"`
	Name        string       `json:"name"`
	Domain      string       `json:"domain"`
	Code        string       `json:"code"` // the class's code; the reason is in context
	Category    string       `json:"category"`
	Retryable   bool         `json:"retryable"`
	OperationID string       `json:"operationId,omitempty"`
	RequestID   string       `json:"requestId,omitempty"`
	Context     errorContext `json:"context"`
	Cause       *causeJSON   `json:"cause,omitempty"`
}

type errorContext struct {
	ReasonCode string `json:"reasonCode"`
}

type causeJSON struct {
	Name      string `json:"name"`
	Domain    string `json:"domain,omitempty"`
	Code      string `json:"code,omitempty"`
	Category  string `json:"category,omitempty"`
	Retryable *bool  `json:"retryable,omitempty"`
}

// MarshalJSON is the contract's JSON form (facts 1.7). A number that is no reason shows as invalid-event, classified
// terminal.
func (e *ResumeError) MarshalJSON() ([]byte, error) {
	c := e.Reason.Class()
	return json.Marshal(errorJSON{
		Kind: ErrorKind, Name: ErrorName, Domain: ErrorDomain,
		Code: c.Code, Category: c.Category, Retryable: c.Retryable,
		OperationID: reference(e.OperationID), RequestID: reference(e.RequestID),
		Context: errorContext{e.Reason.String()},
		Cause:   causeOf(e.Cause),
	})
}

func causeOf(err error) *causeJSON {
	if err == nil {
		return nil
	}
	var r *ResumeError
	if !errors.As(err, &r) {
		return &causeJSON{Name: "Error"}
	}
	c := r.Reason.Class()
	return &causeJSON{Name: ErrorName, Domain: ErrorDomain, Code: c.Code, Category: c.Category, Retryable: &c.Retryable}
}

// reference shows an id only if it looks like one: a letter or digit, then up to 255 of letters, digits and . _ : / -
func reference(id string) string {
	const first = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	switch {
	case id == "":
		return ""
	case len(id) > maxReference, strings.Trim(id[:1], first) != "", strings.Trim(id, first+"._:/-") != "":
		return redacted
	}
	return id
}
