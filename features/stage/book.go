package stage

import (
	"context"
	"sync"
	"time"

	"github.com/conform-dev/conform/core/trace"
)

// Patience bounds one wait of the process lane in real time. An honest loopback answers in a few milliseconds and the
// longest scaled back-off is 160 ms; a declared Retry-After of one second must fit. What is not there by then is recorded
// as late.
const Patience = 3 * time.Second

// Impatience bounds the waits that follow one which ran out: the scenario has failed by then, and what is still waited for
// only makes its trace more telling.
const Impatience = 200 * time.Millisecond

// book is the trace of one scenario, written by several goroutines: each record is written at the moment in which it
// happened, under one lock, before anything that follows from it can happen. So the order is one in which it can have
// been, and within one actor it is the order in which it was.
type book struct {
	mu      sync.Mutex
	log     *trace.Log
	view    *View
	clock   func() int64  // milliseconds since the start
	changed chan struct{} // closed and replaced with every record
	late    bool          // a wait ran out
	sealed  bool          // the scenario is over
}

func newBook(clock func() int64) *book {
	log, err := trace.NewLog(0)
	if err != nil {
		panic(err) // the default limit is valid
	}
	return &book{log: log, view: NewView(), clock: clock, changed: make(chan struct{})}
}

// add writes one record and stamps its time.
func (b *book) add(r trace.Record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sealed {
		return
	}
	r.T = b.clock()
	b.log.Append(r)
	b.view.Add(&r)
	close(b.changed)
	b.changed = make(chan struct{})
}

// look asks a question about the trace so far.
func (b *book) look(c Condition) (bool, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return c(b.view), b.changed
}

// seal ends the trace: what the parts still say while they are taken down belongs to no scenario.
func (b *book) seal() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sealed = true
}

func (b *book) records() []trace.Record {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.log.Records()
}

// patience is how long the next wait may take.
func (b *book) patience() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.late {
		return Impatience
	}
	return Patience
}

// ranOut records a wait that ran out.
func (b *book) ranOut(what string, after time.Duration) {
	r := trace.New(trace.Stage, trace.StageLate)
	r.Detail, r.Ms = what, after.Milliseconds()
	b.add(r)
	b.mu.Lock()
	b.late = true
	b.mu.Unlock()
}

// wait returns nil when c holds or when patience has run out, which it records; an error only when ctx is over.
func (b *book) wait(ctx context.Context, what string, c Condition) error {
	patience := b.patience()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		ok, changed := b.look(c)
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-timer.C:
			if ok, _ := b.look(c); !ok {
				b.ranOut(what, patience)
			}
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// step writes the text of a step.
func (b *book) step(text string) {
	r := trace.New(trace.Stage, trace.StageStep)
	r.Detail = text
	b.add(r)
}

// expect writes an expectation.
func (b *book) expect(e trace.Expectation, args map[string]string) error {
	r, err := trace.Expect(e, args)
	if err != nil {
		return err
	}
	b.add(r)
	return nil
}
