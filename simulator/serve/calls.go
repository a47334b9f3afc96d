package serve

import (
	"errors"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/simulator"
	"github.com/conform-dev/conform/simulator/strict"
)

func trim(b *strict.Node, sim *simulator.Simulator, now simulator.Now) error {
	keep := int64(0)
	if err := errors.Join(b.Only("keep"), b.Int("keep", &keep, 0, simulator.MaxRetention)); err != nil {
		return err
	}
	return sim.Trim(now, int(keep))
}

func retention(b *strict.Node, sim *simulator.Simulator, now simulator.Now) error {
	k := int64(0)
	if err := errors.Join(b.Only("retention"), b.Int("retention", &k, 1, simulator.MaxRetention)); err != nil {
		return err
	}
	if k == 0 {
		return b.Refuse("retention is missing")
	}
	return sim.Retain(now, int(k))
}

func restart(b *strict.Node, sim *simulator.Simulator, now simulator.Now) error {
	head, r := int64(event.NoSeq), simulator.Restart{}
	as := ""
	err := errors.Join(b.Only("head", "epoch", "as"), b.Int("head", &head, 0, int64(event.MaxSeq)), b.Flag("epoch", &r.Epoch), b.String("as", &as))
	if err != nil {
		return err
	}
	r.Head, r.As = event.Seq(head), simulator.CloseKind(as)
	if n := b.Get("as"); n != nil && as != "cut" && as != "eof" && as != "reset" {
		return n.Refuse("must be cut, eof or reset")
	}
	return sim.Restart(now, r)
}

// jump reads {to, rows}.
func jump(b *strict.Node, sim *simulator.Simulator, now simulator.Now) error {
	to := int64(0)
	if err := errors.Join(b.Only("to", "rows"), b.Int("to", &to, 1, int64(event.MaxSeq)-simulator.MaxRetention)); err != nil {
		return err
	}
	if b.Get("to") == nil {
		return b.Refuse("to is missing")
	}
	j := simulator.Jump{To: event.Seq(to)}
	if b.Get("rows") != nil {
		items, err := b.Array("rows", simulator.MaxRows)
		if err != nil {
			return err
		}
		if j.Rows, err = rows(items); err != nil {
			return err
		}
		if j.Rows == nil {
			j.Rows = []simulator.Row{} // none are left
		}
	}
	return sim.Jump(now, j)
}

func pause(b *strict.Node, sim *simulator.Simulator, now simulator.Now) error {
	if err := b.Only(); err != nil {
		return err
	}
	sim.Pause(now)
	return nil
}

func resume(b *strict.Node, sim *simulator.Simulator, now simulator.Now) error {
	if err := b.Only(); err != nil {
		return err
	}
	sim.Resume(now)
	return nil
}

func fault(b *strict.Node, sim *simulator.Simulator, now simulator.Now) error {
	f, err := simulator.FaultFrom(b)
	if err != nil {
		return err
	}
	return sim.Add(now, f)
}

func clearFaults(b *strict.Node, sim *simulator.Simulator, _ simulator.Now) error {
	if err := b.Only(); err != nil {
		return err
	}
	sim.ClearFaults()
	return nil
}
