package event

import "encoding/json"

// The fixed members of the error object (facts 1.7, D-20).
const (
	ErrorKind   = "honua.sdk.error.v1"
	ErrorName   = "HonuaRealtimeResumeError"
	ErrorDomain = "realtime"
)

// ResumeError is the contract's error object (facts 1.7). Message and Cause are for the local program only: the JSON form
// never holds a message, a body or what a cause carries.
type ResumeError struct {
	Reason      Reason
	Message     string
	OperationID string // replaced by [REDACTED] in the JSON form unless it looks like an id
	RequestID   string // likewise
	Cause       error
}

// Error is the local message.
func (e *ResumeError) Error() string {
	text := ErrorDomain + ": " + e.code()
	if e.Message != "" {
		text += ": " + e.Message
	}
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	return text
}

// Unwrap is the local cause.
func (e *ResumeError) Unwrap() error { return e.Cause }

// Class is the error's SDK code, category and whether trying again can help.
func (e *ResumeError) Class() Class { return e.Reason.Class() }

// code is the reason's word; what is no reason at all is reported as invalid-event (facts 1.6).
func (e *ResumeError) code() string {
	if e.Reason == None {
		return InvalidEvent.String()
	}
	return e.Reason.String()
}

type errorCause struct {
	Name      string `json:"name"`
	Domain    string `json:"domain,omitempty"`
	Code      string `json:"code,omitempty"`
	Category  string `json:"category,omitempty"`
	Retryable *bool  `json:"retryable,omitempty"`
}

type errorContext struct {
	ReasonCode string `json:"reasonCode"`
}

type errorForm struct {
	Kind        string       `json:"kind"`
	Name        string       `json:"name"`
	Domain      string       `json:"domain"`
	Code        string       `json:"code"`
	Category    string       `json:"category"`
	Retryable   bool         `json:"retryable"`
	OperationID string       `json:"operationId,omitempty"`
	RequestID   string       `json:"requestId,omitempty"`
	Context     errorContext `json:"context"`
	Cause       *errorCause  `json:"cause,omitempty"`
}

// MarshalJSON is the form that may leave the process. Of a cause only its class is told, and only if it is a ResumeError.
func (e *ResumeError) MarshalJSON() ([]byte, error) {
	c := e.Class()
	form := errorForm{
		Kind: ErrorKind, Name: ErrorName, Domain: ErrorDomain,
		Code: c.Code, Category: c.Category, Retryable: c.Retryable,
		OperationID: identifier(e.OperationID), RequestID: identifier(e.RequestID),
		Context: errorContext{e.code()},
	}
	switch cause := e.Cause.(type) {
	case nil:
	case *ResumeError:
		of := cause.Class()
		form.Cause = &errorCause{ErrorName, ErrorDomain, of.Code, of.Category, &of.Retryable}
	default:
		form.Cause = &errorCause{Name: "Error"}
	}
	return json.Marshal(form)
}

// maxIdentifier is the longest operation or request id that is told, in bytes (facts 1.7).
const maxIdentifier = 256

// identifier is id if it can be told, [REDACTED] if not.
func identifier(id string) string {
	for i := range len(id) {
		c := id[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
		mark := c == '.' || c == '_' || c == ':' || c == '/' || c == '-'
		if i >= maxIdentifier || !letter && (i == 0 || !mark) {
			return "[REDACTED]"
		}
	}
	return id
}
