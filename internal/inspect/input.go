package inspect

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/drive"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
)

// The inputs of a gate, by the word that names them.
const (
	opNew     = "new"
	opEnqueue = "enqueue"
	opApplied = "applied"
	opSaved   = "saved"
	opRequire = "requireResnapshot"
	opRefresh = "refresh"
	opFail    = "fail"
	opClose   = "close"
)

// opForm is an input and the members it may have.
type opForm struct {
	op      string
	members []string
}

var ops = []opForm{
	{opNew, []string{"op", "context", "options"}},
	{opEnqueue, []string{"op", "event", "now"}},
	{opApplied, []string{"op", "error", "now"}},
	{opSaved, []string{"op", "error", "now"}},
	{opRequire, []string{"op", "reason", "detail", "now"}},
	{opRefresh, []string{"op", "position", "now"}},
	{opFail, []string{"op", "reason", "now"}},
	{opClose, []string{"op", "reason", "now"}},
}

// input is one line that was read.
type input struct {
	op  string
	at  int    // where the value of op begins
	now *int64 // unix milliseconds, nil if the line does not say

	context checkpoint.Context // new
	config  gate.Config        // new
	start   gate.Start         // new

	event   []byte         // enqueue: the bytes as they stand in the line
	failure error          // applied, saved: nil without `error`
	pos     event.Position // refresh
	reason  event.Reason
	detail  string
}

// errTold is the failure that an input reports. The gate passes no error on, so its text does not matter.
var errTold = errors.New("reported by the input")

// read reads a line, all of it, before anything is done.
func read(line []byte) (*input, *flaw) {
	if len(line) > MaxLine {
		return nil, flawed(MaxLine, "%s", tooLong)
	}
	if f := checkJSON(line); f != nil {
		return nil, f
	}
	members, f := split(line, 0)
	if f != nil {
		return nil, f
	}
	op := get(members, "op")
	if op == nil {
		return nil, flawed(space(line, 0), "no member op")
	}
	in := &input{at: op.from}
	if in.op, f = op.text(); f != nil {
		return nil, f
	}
	i := slices.IndexFunc(ops, func(o opForm) bool { return o.op == in.op })
	if i < 0 {
		return nil, flawed(op.from, "unknown op %s; known are %s", quote(in.op), opNames())
	}
	if f := only(members, in.op, ops[i].members...); f != nil {
		return nil, f
	}
	if f := in.clock(get(members, "now")); f != nil {
		return nil, f
	}
	return in, in.fill(members)
}

func opNames() string {
	var out []string
	for _, o := range ops {
		out = append(out, o.op)
	}
	return strings.Join(out, ", ")
}

// maxNow is the last millisecond of a date (ECMAScript: 100 million days from 1970), so that savedAt can be written.
const maxNow = 100_000_000 * 24 * 60 * 60 * 1000

func (in *input) clock(m *member) *flaw {
	if m == nil {
		return nil
	}
	ms, f := m.whole(-maxNow, maxNow)
	in.now = &ms
	return f
}

// fill reads the members that belong to the op.
func (in *input) fill(members []member) *flaw {
	switch in.op {
	case opNew:
		return in.fillNew(members)
	case opEnqueue:
		ev := get(members, "event")
		if ev == nil {
			return flawed(in.at, "%s without event", in.op)
		}
		in.event = ev.raw
	case opApplied, opSaved:
		if m := get(members, "error"); m != nil {
			if _, f := m.text(); f != nil {
				return f
			}
			in.failure = errTold
		}
	case opRequire:
		if m := get(members, "detail"); m != nil {
			var f *flaw
			if in.detail, f = m.text(); f != nil {
				return f
			}
		}
		return in.fillReason(members, event.None, gate.Recoverable)
	case opRefresh:
		pos := get(members, "position")
		if pos == nil {
			return flawed(in.at, "%s without position", in.op)
		}
		return in.fillPosition(pos)
	case opFail:
		return in.fillReason(members, event.None, func(r event.Reason) bool { return r != event.Compatible })
	case opClose:
		return in.fillReason(members, event.Closed, func(r event.Reason) bool { return r == event.Closed || r == event.Cancelled })
	}
	return nil
}

// fillReason reads the reason; without one it is usual, unless that is None.
func (in *input) fillReason(members []member, usual event.Reason, may func(event.Reason) bool) *flaw {
	m := get(members, "reason")
	if m == nil {
		if in.reason = usual; usual == event.None {
			return flawed(in.at, "%s without reason; one of %s", in.op, reasons(may))
		}
		return nil
	}
	word, f := m.text()
	if f != nil {
		return f
	}
	r, ok := event.ParseReason(word)
	if !ok || !may(r) {
		return flawed(m.from, "reason: %s is no reason for %s; one of %s", quote(word), in.op, reasons(may))
	}
	in.reason = r
	return nil
}

// fillPosition reads a position in the form of a checkpoint's resume. It may be without a sequence: what the gate makes of that is to
// be seen.
func (in *input) fillPosition(m *member) *flaw {
	in.pos = event.NoPosition
	members, f := split(m.raw, m.from)
	if f != nil {
		return f
	}
	if f := only(members, m.name, "sequence", "cursor", "watermark", "timestamp", "deltaToken"); f != nil {
		return f
	}
	for _, part := range members {
		if part.name == "sequence" {
			n, f := part.whole(0, int64(event.MaxSeq))
			if f != nil {
				return f
			}
			in.pos.Seq = event.Seq(n)
			continue
		}
		to := map[string]*string{"cursor": &in.pos.Cursor, "watermark": &in.pos.Watermark, "timestamp": &in.pos.Timestamp, "deltaToken": &in.pos.DeltaToken}[part.name]
		if *to, f = part.text(); f != nil {
			return f
		}
	}
	return nil
}

func reasons(may func(event.Reason) bool) string {
	var out []string
	for r := event.Compatible; r <= event.Closed; r++ {
		if may(r) {
			out = append(out, r.String())
		}
	}
	return strings.Join(out, ", ")
}

func (in *input) fillNew(members []member) *flaw {
	ctx := get(members, "context")
	if ctx == nil {
		return flawed(in.at, "%s without context", in.op)
	}
	var f *flaw
	if in.context, f = readContext(ctx); f != nil {
		return f
	}
	options := get(members, "options")
	if options == nil {
		return nil
	}
	set, f := split(options.raw, options.from)
	if f != nil {
		return f
	}
	return in.fillOptions(set)
}

func (in *input) fillOptions(set []member) *flaw {
	if f := only(set, "options", "maxPendingEvents", "maxRecentEventIds", "saveEvery", "store", "initialCheckpoint", "now"); f != nil {
		return f
	}
	for _, o := range []struct {
		name    string
		to      *int
		ceiling int64
	}{
		{"maxPendingEvents", &in.config.MaxPending, gate.CeilingPending},
		{"maxRecentEventIds", &in.config.MaxIDs, gate.CeilingIDs},
		{"saveEvery", &in.config.SaveEvery, gate.CeilingSaveEvery},
	} {
		if m := get(set, o.name); m != nil {
			n, f := m.whole(1, o.ceiling)
			if f != nil {
				return f
			}
			*o.to = int(n)
		}
	}
	if m := get(set, "store"); m != nil {
		var f *flaw
		if in.config.Saves, f = m.flag(); f != nil {
			return f
		}
	}
	if m := get(set, "initialCheckpoint"); m != nil {
		in.start = startAt(in.context, m.raw)
	}
	return in.clock(get(set, "now"))
}

// startAt is where a gate begins with a checkpoint that the caller hands in (facts 3.1, D-09). One that does not fit is not
// a mistake of the line: looking at the refusal is what the line is for.
func startAt(ctx checkpoint.Context, doc []byte) gate.Start {
	c, r, err := checkpoint.EvaluateJSON(ctx, doc)
	if r != event.Compatible {
		return gate.Start{Refused: r, Detail: message(err)}
	}
	return drive.Start(checkpoint.StartFrom(ctx, c))
}

// readContext reads a resume context. kind and version may be left out, both; nothing else may.
func readContext(m *member) (checkpoint.Context, *flaw) {
	members, f := split(m.raw, m.from)
	if f != nil {
		return checkpoint.Context{}, f
	}
	if f := only(members, m.name, "sourceId", "queryFingerprint", "sourceVersion", "schemaVersion", "authorizationScopeFingerprint", "kind", "version"); f != nil {
		return checkpoint.Context{}, f
	}
	doc := m.raw
	if get(members, "kind") == nil && get(members, "version") == nil {
		head := fmt.Sprintf(`{"kind":%q,"version":%d`, checkpoint.ContextKind, checkpoint.ContextVersion)
		if len(members) > 0 {
			head += ","
		}
		doc = append([]byte(head), m.raw[1:]...)
	}
	ctx, err := checkpoint.DecodeContext(doc)
	if err != nil {
		return ctx, flawed(m.from, "%s", message(err))
	}
	return ctx, nil
}

// message is what a refusal says about a document, without the words that classify it.
func message(err error) string {
	var e *event.ResumeError
	switch {
	case errors.As(err, &e):
		return e.Message
	case err != nil:
		return err.Error()
	}
	return ""
}
