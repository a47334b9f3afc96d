package checkpoint

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/conform-dev/conform/core/event"
)

// RecordFormat names the one format of stored records (facts 4.1, D-20). A record of another format is discarded.
const RecordFormat = "honua.realtime-checkpoint-store/1.0"

// ErrFormat is what DecodeRecord answers for an object that is a record of another format, or of none.
var ErrFormat = errors.New("unsupported record format")

// Record is what a store keeps of a checkpoint: ten members with the format, nothing else. The authorization scope is a
// digest, and the id list is not kept.
type Record struct {
	Key                      string
	SourceID                 string
	QueryFingerprint         string
	SourceVersion            string
	SchemaVersion            string
	AuthorizationScopeDigest string
	Resume                   event.Position
	SavedAt                  int64 // unix milliseconds, the checkpoint's own: drives expiry
	ObservedAt               int64 // unix milliseconds, the store's clock at the write: drives eviction
}

// NewRecord makes the record of a checkpoint. It fails when the checkpoint is not valid against its own context.
func NewRecord(c *Checkpoint, observedAt int64) (Record, error) {
	scope, err := Bind(c.Context)
	if err != nil {
		return Record{}, err
	}
	return scope.Record(c, observedAt)
}

type recordText struct {
	name  string
	value *string
}

// texts lists the members that are non-empty strings.
func (r *Record) texts() [6]recordText {
	return [6]recordText{
		{"key", &r.Key},
		{"sourceId", &r.SourceID},
		{"queryFingerprint", &r.QueryFingerprint},
		{"sourceVersion", &r.SourceVersion},
		{"schemaVersion", &r.SchemaVersion},
		{"authorizationScopeDigest", &r.AuthorizationScopeDigest},
	}
}

// JSON is the record in canonical form. A store writes many: the members are written in their order, one by one.
func (r Record) JSON() ([]byte, error) {
	const usual = 768 // bytes; most records need no more
	w := &writer{b: make([]byte, 0, usual)}
	w.open()
	w.text("authorizationScopeDigest", r.AuthorizationScopeDigest)
	w.text("format", RecordFormat)
	w.text("key", r.Key)
	w.text("observedAt", FormatTime(r.ObservedAt))
	w.text("queryFingerprint", r.QueryFingerprint)
	w.name("resume")
	w.open()
	w.some("cursor", r.Resume.Cursor)
	w.some("deltaToken", r.Resume.DeltaToken)
	w.name("sequence")
	w.b = strconv.AppendInt(w.b, int64(r.Resume.Seq), 10)
	w.some("timestamp", r.Resume.Timestamp)
	w.some("watermark", r.Resume.Watermark)
	w.close()
	w.text("savedAt", FormatTime(r.SavedAt))
	w.text("schemaVersion", r.SchemaVersion)
	w.text("sourceId", r.SourceID)
	w.text("sourceVersion", r.SourceVersion)
	w.close()
	if w.err != nil {
		return nil, w.err
	}
	return w.b, nil
}

// writer writes objects whose members come in their canonical order.
type writer struct {
	b   []byte
	err error
}

func (w *writer) open() { w.b = append(w.b, '{') }

func (w *writer) close() { w.b = append(w.b, '}') }

// name begins a member. Its name is ASCII and needs no escape.
func (w *writer) name(name string) {
	if w.b[len(w.b)-1] != '{' {
		w.b = append(w.b, ',')
	}
	w.b = append(append(append(w.b, '"'), name...), '"', ':')
}

func (w *writer) text(name, value string) {
	w.name(name)
	b, err := appendText(w.b, value)
	if err != nil {
		w.err = err
		return
	}
	w.b = b
}

// some leaves out an empty text.
func (w *writer) some(name, value string) {
	if value != "" {
		w.text(name, value)
	}
}

// DecodeRecord reads a stored record, as untrusted as any other document. It fails with ErrFormat for an object whose
// format is another one or missing, and with invalid-checkpoint for everything that is not exactly the ten members.
func DecodeRecord(doc []byte) (Record, error) {
	var r Record
	names := []string{"format", "resume", "savedAt", "observedAt"}
	for _, m := range r.texts() {
		names = append(names, m.name)
	}
	o, err := split(doc, "record", names...)
	if err != nil {
		return Record{}, err
	}
	if text, err := o.text("format"); err != nil || text != RecordFormat {
		return Record{}, ErrFormat
	}
	if o.unknown > 0 {
		return Record{}, o.wrong("", "holds an unknown member")
	}
	for _, m := range r.texts() {
		if *m.value, err = o.text(m.name); err != nil {
			return Record{}, err
		}
		if *m.value == "" {
			return Record{}, o.wrong(m.name, "is empty")
		}
	}
	if !isDigest(r.AuthorizationScopeDigest) {
		return Record{}, o.wrong("authorizationScopeDigest", "is no digest")
	}
	if r.Resume, err = decodePosition(o.raw("resume"), true); err != nil {
		return Record{}, err
	}
	if r.SavedAt, err = o.time("savedAt"); err != nil {
		return Record{}, err
	}
	if r.ObservedAt, err = o.time("observedAt"); err != nil {
		return Record{}, err
	}
	return r, nil
}

// Open rebuilds the checkpoint of a record under the caller's context and evaluates it: authorization scope first, then
// in the order of Evaluate (facts 4.4). The checkpoint counts only with Compatible; its id list is empty.
func (r *Record) Open(ctx Context) (Checkpoint, event.Reason) {
	ctx = ctx.Trim()
	if r.AuthorizationScopeDigest != ScopeDigest(ctx.AuthorizationScopeFingerprint) {
		return Checkpoint{}, event.AuthorizationScopeChanged
	}
	c := Checkpoint{
		Context: Context{
			SourceID:                      r.SourceID,
			QueryFingerprint:              r.QueryFingerprint,
			SourceVersion:                 r.SourceVersion,
			SchemaVersion:                 r.SchemaVersion,
			AuthorizationScopeFingerprint: ctx.AuthorizationScopeFingerprint,
		},
		Resume:  r.Resume,
		SavedAt: r.SavedAt,
	}
	if reason := Evaluate(ctx, &c); reason != event.Compatible {
		return Checkpoint{}, reason
	}
	c.Context = ctx
	return c, event.Compatible
}

// OwnKey is the key under which a record of this source, query and authorization scope belongs. One whose Key is another was
// put there by somebody else.
func (r *Record) OwnKey() (string, error) {
	return scopeKey(r.AuthorizationScopeDigest, r.QueryFingerprint, r.SourceID)
}

// Redact gives r with digests in the place of cursor, watermark and delta token, as Checkpoint.Redact does.
func (r Record) Redact() Record {
	redactPosition(&r.Resume)
	return r
}

// Age judges how old a record is (facts 4.4, D-23): detail is "" for one that may be used, DetailExpired above limit,
// DetailTime when it is stamped after now. All three in milliseconds; message says by how many.
func (r *Record) Age(now, limit int64) (detail, message string) {
	switch age := now - r.SavedAt; {
	case age < 0:
		return DetailTime, fmt.Sprintf("the record is stamped %d ms in the future", -age)
	case age > limit:
		return DetailExpired, fmt.Sprintf("the record is %d ms old, the limit is %d ms", age, limit)
	}
	return "", ""
}

// Screen looks at the texts of a record before it is written, in the contract's order (facts 4.3), until one may not be
// stored, and says at which member that was. A record with no such text is Accepted. What the record has only as a digest,
// or as a number, is not looked at.
func (r *Record) Screen() (path string, v Verdict) {
	if path, v = screen(r.names()); v != Accepted {
		return path, v
	}
	return screen(r.places())
}

// recordMember is a text of a record that came from outside, and the path of its member.
type recordMember struct {
	path  string
	value string
}

func screen(members [4]recordMember) (path string, v Verdict) {
	for _, m := range members {
		if m.value == "" {
			continue // absent
		}
		if v := Screen(m.value); v != Accepted {
			return m.path, v
		}
	}
	return "", Accepted
}

// names are the texts of the context that are not kept as a digest alone.
func (r *Record) names() [4]recordMember {
	return [4]recordMember{
		{"sourceId", r.SourceID}, {"queryFingerprint", r.QueryFingerprint}, {"sourceVersion", r.SourceVersion}, {"schemaVersion", r.SchemaVersion},
	}
}

func (r *Record) places() [4]recordMember {
	p := &r.Resume
	return [4]recordMember{
		{"resume.cursor", p.Cursor}, {"resume.watermark", p.Watermark}, {"resume.timestamp", p.Timestamp}, {"resume.deltaToken", p.DeltaToken},
	}
}
