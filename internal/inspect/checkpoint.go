package inspect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/event"
)

// Stored is what a checkpoint or a record is compared with. The zero Stored compares with nothing.
type Stored struct {
	Context *checkpoint.Context // nil: not compared
	Now     *int64              // unix milliseconds; nil: no age
	MaxAge  int64               // milliseconds; a record that is older is expired
}

// What a document is.
const (
	isCheckpoint = "checkpoint"
	isRecord     = "record"
	isUnknown    = "unknown"
)

// The verdicts beside the contract's reasons: there was nothing to compare with, and two that only a store gives.
const (
	verdictValid   = "valid"
	verdictFormat  = "unsupported-format"
	verdictExpired = "checkpoint-expired"
)

// stored is the answer to one document. Nothing in it is a text of the document that the screen refuses.
type stored struct {
	Line      int               `json:"line"` // in which the document begins
	Document  string            `json:"document"`
	Verdict   string            `json:"verdict"`
	Error     string            `json:"error,omitempty"` // what is wrong, by the path of the member
	Detail    string            `json:"detail,omitempty"`
	Differs   []string          `json:"differs,omitempty"` // members of the context
	AgeMs     *int64            `json:"ageMs,omitempty"`
	Screen    *screened         `json:"screen,omitempty"` // what a save would say
	Digests   *digests          `json:"digests,omitempty"`
	Withheld  map[string]string `json:"withheld,omitempty"` // a form that is not shown, and the member because of which
	Canonical json.RawMessage   `json:"canonical,omitempty"`
	Redacted  json.RawMessage   `json:"redacted,omitempty"`
}

// digests are those of facts 3.6, and one over the canonical form.
type digests struct {
	Canonical  string `json:"canonical"`
	Key        string `json:"key,omitempty"`
	Scope      string `json:"authorizationScope"`
	Cursor     string `json:"cursor,omitempty"`
	Watermark  string `json:"watermark,omitempty"`
	DeltaToken string `json:"deltaToken,omitempty"`
}

// Checkpoint judges each checkpoint or stored record on in as a load would, and writes one JSON line for each: the verdict,
// what is wrong, the digests, and the canonical and the redacted form. A form in which the screen refuses a text is withheld.
// An input without a document is one empty document. It fails with *LineError for a document above checkpoint.MaxDocument,
// and with the error of in or out.
func Checkpoint(in io.Reader, out io.Writer, with Stored) error {
	docs := newDocuments(in, checkpoint.MaxDocument)
	lineOut := encoder(out)
	for n := 0; ; n++ {
		doc, line, err := docs.next()
		switch {
		case err == io.EOF && n > 0:
			return nil
		case err == io.EOF:
			doc, line = nil, 1
		case err != nil:
			return err
		}
		a := with.judge(doc)
		a.Line = line
		if err := lineOut.Encode(a); err != nil {
			return err
		}
	}
}

// ReadContext reads the context to compare with: the five members, kind and version as in a gate's context.
func ReadContext(doc []byte) (checkpoint.Context, error) {
	doc = bytes.TrimSpace(doc)
	f := checkJSON(doc)
	var ctx checkpoint.Context
	if f == nil {
		ctx, f = readContext(&member{name: "context", raw: doc})
	}
	if f != nil {
		return ctx, fmt.Errorf("byte %d: %s", f.at+1, f.what)
	}
	return ctx, nil
}

func (with Stored) judge(doc []byte) *stored {
	switch what := kindOf(doc); what {
	case isRecord:
		return with.record(doc)
	case isUnknown:
		if _, err := checkpoint.Canonical(doc); err != nil {
			return broken(what, "invalid-checkpoint", message(err))
		}
		return broken(what, "invalid-checkpoint", "neither a checkpoint, which has kind, nor a record, which has format")
	}
	return with.checkpoint(doc)
}

func broken(what, verdict, why string) *stored {
	return &stored{Document: what, Verdict: verdict, Error: why}
}

// kindOf goes by the members that only one of the two has.
func kindOf(doc []byte) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(doc, &members) != nil {
		return isUnknown
	}
	for _, of := range []struct {
		what  string
		names []string
	}{
		{isCheckpoint, []string{"kind", "context", "recentEventIds"}},
		{isRecord, []string{"format", "key", "observedAt", "authorizationScopeDigest"}},
	} {
		for _, name := range of.names {
			if _, ok := members[name]; ok {
				return of.what
			}
		}
	}
	return isUnknown
}

func (with Stored) checkpoint(doc []byte) *stored {
	c, err := checkpoint.Decode(doc)
	if err != nil {
		return broken(isCheckpoint, "invalid-checkpoint", message(err))
	}
	a := &stored{Document: isCheckpoint, Verdict: verdictValid}
	rec, err := checkpoint.NewRecord(&c, 0)
	switch {
	case with.Context != nil:
		a.compared(checkpoint.Evaluate(*with.Context, &c))
		a.differ(*with.Context, c.Context.Trim(), true)
	case err != nil: // nothing to compare with: it has to be one that could be stored
		a.Verdict, a.Error = "invalid-checkpoint", message(err)
	}
	a.age(with.Now, c.SavedAt)
	if err == nil {
		a.Screen = screenedAs(screenOf(&rec))
	}
	a.Digests = &digests{Key: rec.Key, Scope: checkpoint.ScopeDigest(c.Context.Trim().AuthorizationScopeFingerprint)}

	shown := []named{
		{"context.sourceId", c.Context.SourceID}, {"context.queryFingerprint", c.Context.QueryFingerprint},
		{"context.sourceVersion", c.Context.SourceVersion}, {"context.schemaVersion", c.Context.SchemaVersion},
		{"context.authorizationScopeFingerprint", c.Context.AuthorizationScopeFingerprint}, {"resume.timestamp", c.Resume.Timestamp},
	}
	hidden := positionTexts(c.Resume)
	for i, id := range c.RecentIDs {
		hidden = append(hidden, named{fmt.Sprintf("recentEventIds[%d]", i), id})
	}
	a.forms(c.Resume, shown, hidden, c.JSON, c.RedactedJSON)
	return a
}

func (with Stored) record(doc []byte) *stored {
	rec, err := checkpoint.DecodeRecord(doc)
	switch {
	case errors.Is(err, checkpoint.ErrFormat):
		return broken(isRecord, verdictFormat, "format is not "+checkpoint.RecordFormat)
	case err != nil:
		return broken(isRecord, "invalid-checkpoint", message(err))
	}
	a := &stored{Document: isRecord, Verdict: verdictValid}
	with.open(a, &rec)
	a.age(with.Now, rec.SavedAt)
	a.Screen = screenedAs(screenOf(&rec))
	a.Digests = &digests{Key: rec.Key, Scope: rec.AuthorizationScopeDigest}
	if own, err := rec.OwnKey(); err == nil {
		a.Digests.Key = own
	}
	shown := []named{
		{"key", rec.Key}, {"sourceId", rec.SourceID}, {"queryFingerprint", rec.QueryFingerprint}, {"sourceVersion", rec.SourceVersion},
		{"schemaVersion", rec.SchemaVersion}, {"authorizationScopeDigest", rec.AuthorizationScopeDigest}, {"resume.timestamp", rec.Resume.Timestamp},
	}
	a.forms(rec.Resume, shown, positionTexts(rec.Resume), rec.JSON, rec.Redact().JSON)
	return a
}

// open judges a record in the order of a load: authorization scope, age, the rest of the context, key (facts 4.4).
func (with Stored) open(a *stored, rec *checkpoint.Record) {
	reason := event.Compatible
	if with.Context != nil {
		_, reason = rec.Open(*with.Context)
		a.compared(reason)
		a.differ(*with.Context, checkpoint.Context{
			SourceID: rec.SourceID, QueryFingerprint: rec.QueryFingerprint, SourceVersion: rec.SourceVersion, SchemaVersion: rec.SchemaVersion,
		}.Trim(), false)
		if rec.AuthorizationScopeDigest != checkpoint.ScopeDigest(with.Context.AuthorizationScopeFingerprint) {
			a.Differs = append(a.Differs, "authorizationScopeDigest")
		}
	}
	if reason == event.AuthorizationScopeChanged {
		return
	}
	if with.Now != nil {
		if detail, why := rec.Age(*with.Now, with.MaxAge); detail != "" {
			a.Verdict, a.Detail, a.Error = verdictExpired, detail, why
			return
		}
	}
	if own, err := rec.OwnKey(); reason == event.Compatible && (err != nil || own != rec.Key) {
		a.Verdict, a.Error = "invalid-checkpoint", "key is not the one of this source, query and authorization scope"
	}
}

func (a *stored) compared(reason event.Reason) { a.Verdict = reason.String() }

// differ names the members that are not those of want.
func (a *stored) differ(want, have checkpoint.Context, scope bool) {
	for _, m := range []struct {
		name string
		same bool
	}{
		{"sourceId", want.SourceID == have.SourceID},
		{"queryFingerprint", want.QueryFingerprint == have.QueryFingerprint},
		{"sourceVersion", want.SourceVersion == have.SourceVersion},
		{"schemaVersion", want.SchemaVersion == have.SchemaVersion},
		{"authorizationScopeFingerprint", !scope || want.AuthorizationScopeFingerprint == have.AuthorizationScopeFingerprint},
	} {
		if !m.same {
			a.Differs = append(a.Differs, m.name)
		}
	}
}

func (a *stored) age(now *int64, savedAt int64) {
	if now != nil {
		age := *now - savedAt
		a.AgeMs = &age
	}
}

func screenOf(rec *checkpoint.Record) (checkpoint.Verdict, string) {
	path, v := rec.Screen()
	return v, path
}
