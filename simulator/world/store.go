package world

import (
	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/drive"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
)

// store keeps one record, as a database would that outlives its client.
type store struct {
	kept    *checkpoint.Checkpoint
	foreign bool // hands over what it holds without a look
	fails   map[event.Seq]bool
}

func (s *store) init(setup *Setup) {
	s.fails = map[event.Seq]bool{}
	s.kept = setup.Checkpoint()
	s.foreign = setup.Foreign()
}

func (s *store) load(want checkpoint.Context) checkpoint.Answer {
	if s.kept == nil {
		return checkpoint.Answer{}
	}
	if s.foreign {
		s.foreign = false
		return checkpoint.Answer{Found: checkpoint.Stored, Checkpoint: s.kept.Clone()}
	}
	if r := checkpoint.Evaluate(want, s.kept); r != event.Compatible {
		s.kept = nil // as the shipped stores do: what does not fit is of no use to anybody
		return checkpoint.Answer{Found: checkpoint.Discarded, Reason: r}
	}
	return checkpoint.Answer{Found: checkpoint.Stored, Checkpoint: s.kept.Clone()}
}

func (s *store) forget() { s.kept = nil }

// save writes a position; the answer comes after a while.
func (w *World) save(c *client, h gate.Held) {
	ctx := c.ctx
	ctx.SourceVersion = c.s.SourceVersion()
	w.in(micros(w.saves.take(0)), func() {
		var err error
		if w.store.fails[h.Pos.Seq] {
			delete(w.store.fails, h.Pos.Seq)
			err = errPlanned
		} else {
			kept := drive.Checkpoint(ctx, h, nil)
			w.store.kept = &kept
		}
		c.rec.Wrote(w.clock(), h.Pos.Seq, err)
		c.s.Saved(w.clock(), err)
		c.drain()
		c.read()
	})
}
