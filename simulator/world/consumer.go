package world

import (
	"errors"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/simulator"
)

// errPlanned is what a consumer or a store says that was told to fail.
var errPlanned = errors.New("planned failure")

// consumer is the application: it keeps the feed's rows. It outlives its client, as a database does. It takes no notice of
// being cancelled: what it has begun it ends, and its effect stands.
type consumer struct {
	rows   *simulator.Rows
	blocks map[event.Seq]bool
	fails  map[event.Seq]bool
	held   func() // goes on with the event it stands still at
}

func (c *consumer) init(s *Setup) (err error) {
	c.blocks, c.fails = map[event.Seq]bool{}, map[event.Seq]bool{}
	c.rows, err = s.Rows()
	return err
}

// apply gives ev to the consumer; its answer comes after a while.
func (w *World) apply(c *client, ev *event.Event) {
	took := micros(w.applies.take(0))
	seq := ev.Pos.Seq
	finish := func() { w.in(took, func() { w.applied(c, ev) }) }
	if w.consumer.blocks[seq] {
		delete(w.consumer.blocks, seq)
		w.consumer.held = finish
		return
	}
	finish()
}

func (w *World) applied(c *client, ev *event.Event) {
	seq := ev.Pos.Seq
	r := trace.New(trace.Consumer, trace.ConsumerSaw)
	r.Type, r.Seq, r.ID = ev.Kind.String(), seq, ev.ID
	var err error
	if w.consumer.fails[seq] {
		delete(w.consumer.fails, seq)
		err = errPlanned
	} else {
		err = w.consumer.rows.Apply(ev.Payload)
	}
	if err != nil {
		r.Kind, r.Detail = trace.ConsumerFailed, err.Error()
	} else {
		r.Args = map[string]string{"rows": w.consumer.rows.Digest()}
	}
	w.record(r)
	c.s.Applied(w.clock(), err)
	c.drain()
	c.read()
}
