package checkpoint

import "github.com/conform-dev/conform/core/event"

// Kind and version of a resume context's JSON form (facts 1.3, D-20).
const (
	ContextKind    = "honua.realtime-resume-context"
	ContextVersion = 1
)

// Context is the subscription that a position belongs to. A position of another context is never resumed from. The five
// members are opaque; none may be empty.
type Context struct {
	SourceID         string // where the events come from
	QueryFingerprint string // the accepted query or plan (PlanFingerprint)
	SourceVersion    string // the numbering epoch of the source
	SchemaVersion    string
	// AuthorizationScopeFingerprint names what the reader may see. It is a digest made by the application, never a
	// credential; a store keeps only a digest of it.
	AuthorizationScopeFingerprint string
}

// Trim takes the white space off both ends of every member, as ECMAScript understands white space. Contexts are compared
// trimmed on both sides (D-20).
func (c Context) Trim() Context {
	for _, m := range c.members() {
		*m.value = trim(*m.value)
	}
	return c
}

// Validate gives c trimmed. It fails with invalid-checkpoint when a member is then empty, longer than MaxText or not
// Unicode text; the error names the member, never its value.
func (c Context) Validate() (Context, error) {
	for _, m := range c.members() {
		if *m.value = trim(*m.value); *m.value == "" {
			return c, fail(event.InvalidCheckpoint, "context."+m.name+" is empty")
		}
		if what := flawOf(*m.value, wellFormed, MaxText); what != "" {
			return c, fail(event.InvalidCheckpoint, "context."+m.name+what)
		}
	}
	return c, nil
}

type contextMember struct {
	name    string
	value   *string
	changed event.Reason // what a difference means
}

// members lists the five in the order in which they are compared (facts 3.1).
func (c *Context) members() [5]contextMember {
	return [5]contextMember{
		{"sourceId", &c.SourceID, event.SourceChanged},
		{"queryFingerprint", &c.QueryFingerprint, event.QueryChanged},
		{"sourceVersion", &c.SourceVersion, event.SourceVersionChanged},
		{"schemaVersion", &c.SchemaVersion, event.SchemaVersionChanged},
		{"authorizationScopeFingerprint", &c.AuthorizationScopeFingerprint, event.AuthorizationScopeChanged},
	}
}

func (c Context) value() members {
	out := members{{"kind", ContextKind}, {"version", int64(ContextVersion)}}
	for _, m := range c.members() {
		out = append(out, member{m.name, *m.value})
	}
	return out
}
