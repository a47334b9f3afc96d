package inspect

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
)

// LineError is the error of a line that is no input, or none that can come at this point.
type LineError struct {
	Line int // from 1
	Byte int // in the line, from 1
	What string
}

// Error names the place and what is wrong there.
func (e *LineError) Error() string {
	return fmt.Sprintf("line %d, byte %d: %s", e.Line, e.Byte, e.What)
}

// Gate reads gate inputs from in, one JSON object per line, and writes one JSON line for each: what was decided, the state
// after it, and what the driver owes. With auto the consumer and the store answer at once, without error. Empty lines are
// passed over. It fails with *LineError at the first line that is no input, which changes nothing and writes nothing, and
// with the error of in or out.
func Gate(in io.Reader, out io.Writer, auto bool) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, readBytes), MaxLine+len("\r\n"))
	b := bench{auto: auto}
	lineOut := encoder(out)
	n := 0
	for lines.Scan() {
		n++
		line := lines.Bytes()
		if space(line, 0) == len(line) {
			continue
		}
		answer, f := b.line(line)
		if f != nil {
			return &LineError{n, f.at + 1, f.what}
		}
		answer.Line = n
		if err := lineOut.Encode(answer); err != nil {
			return err
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return &LineError{n + 1, MaxLine + 1, tooLong}
	}
	return lines.Err()
}

var tooLong = fmt.Sprintf("longer than %d bytes", MaxLine)

// bench is one gate on the table, with what its driver would have to know.
type bench struct {
	auto bool
	g    *gate.Gate // nil before the first new
	ctx  checkpoint.Context
	now  int64 // unix milliseconds; moves only when an input says so

	owed    owed
	aborted bool // what is owed was superseded
	open    map[gate.Ticket]bool
	oldest  gate.Ticket // no open ticket is older
	out     []delivery  // of this input
	apply   apply       // with owed == owesApply
	save    event.Seq   // with owed == owesSave
}

// owed is the one result that the gate waits for.
type owed uint8

const (
	owesNothing owed = iota
	owesApply
	owesSave
)

var owedNames = [...]string{"nothing is due", "an apply is due", "a save is due"}

// line takes one input. It changes nothing when it fails.
func (b *bench) line(line []byte) (*answer, *flaw) {
	in, f := read(line)
	if f != nil {
		return nil, f
	}
	if f := b.allowed(in); f != nil {
		return nil, f
	}
	if in.op == opNew {
		if f := b.reset(in); f != nil {
			return nil, f
		}
	}
	if in.now != nil {
		b.now = *in.now
	}
	b.out = b.out[:0]
	a := &answer{Op: in.op}
	switch in.op {
	case opEnqueue:
		a.Ticket = b.enqueue(in.event)
	case opApplied, opSaved:
		b.result(in.failure)
	case opRequire:
		b.g.RequireResnapshot(in.reason, in.detail)
	case opRefresh:
		taken := b.g.Refresh(b.now, in.pos)
		a.Refreshed = &taken
	case opFail:
		b.g.Fail(in.reason)
	case opClose:
		b.g.Close(in.reason)
	}
	b.take()
	for b.auto && b.owed != owesNothing {
		b.result(nil)
		b.take()
	}
	b.answer(a)
	return a, nil
}

// allowed refuses what a driver in this state cannot say.
func (b *bench) allowed(in *input) *flaw {
	want := map[string]owed{opApplied: owesApply, opSaved: owesSave}[in.op]
	switch {
	case in.op != opNew && b.g == nil:
		return flawed(in.at, "%s before a gate was made: begin with %s", in.op, opNew)
	case want != owesNothing && want != b.owed:
		return flawed(in.at, "%s, but %s", in.op, owedNames[b.owed])
	}
	return nil
}

func (b *bench) reset(in *input) *flaw {
	g, err := gate.New(in.config, in.start)
	if err != nil {
		return flawed(in.at, "%v", err)
	}
	*b = bench{auto: b.auto, g: g, ctx: in.context, open: map[gate.Ticket]bool{}, oldest: 1}
	return nil
}

func (b *bench) enqueue(doc []byte) gate.Ticket {
	var ev event.Event
	event.Parse(doc, &ev)
	ev.Payload = nil // doc is only there until the next line
	t := b.g.Enqueue(&ev)
	b.open[t] = true
	return t
}

func (b *bench) result(err error) {
	was := b.owed
	b.owed, b.aborted = owesNothing, false
	if was == owesApply {
		b.g.Applied(b.now, err)
	} else {
		b.g.Saved(err)
	}
}

// take does what a driver does after every input.
func (b *bench) take() {
	due := b.g.Take()
	b.aborted = b.aborted || due.Abort
	for _, d := range due.Resolved {
		delete(b.open, d.Ticket)
		b.out = append(b.out, told(d))
	}
	switch {
	case due.Apply != nil:
		b.owed = owesApply
		b.apply = apply{Ticket: b.active(), Type: due.Apply.Kind.String(), Sequence: due.Apply.Pos.Seq, EventID: due.Apply.ID}
		if due.Apply.Merge {
			b.apply.Replace = new(bool)
		}
	case due.Save != nil:
		b.owed, b.save = owesSave, due.Save.Pos.Seq
	}
}

// active is the ticket of the event that is being applied. Tickets are answered in any order, but applied in theirs, so it
// is the oldest one that is open.
func (b *bench) active() gate.Ticket {
	for !b.open[b.oldest] {
		b.oldest++
	}
	return b.oldest
}
