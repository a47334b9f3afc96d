package world

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/fixture"
	"github.com/conform-dev/conform/simulator"
)

// crossFixture is the feed that every wire is run against.
func crossFixture() *fixture.Cross {
	c, err := fixture.CrossTransport()
	if err != nil {
		panic(err) // the data is part of this program, and its test reads it
	}
	return c
}

// cross puts the fixture's feed in the place of the made-up one. A jump goes to the state that the fixture recovers with.
func cross(opt *simulator.Options) {
	c := crossFixture()
	recovery, err := json.Marshal(c.Recovery.Rows)
	if err != nil {
		panic(err) // rows are plain data
	}
	faults := slices.Clone(opt.Schedule.Faults)
	for i, f := range faults {
		if f.Name == "jump" && f.With == nil {
			faults[i].With = map[string]string{"to": fmt.Sprint(c.Recovery.Sequence), "rows": string(recovery)}
		}
	}
	opt.Schedule.Faults = faults
	opt.Head, opt.Rows, opt.Seed = c.Snapshot.Sequence, 0, rowsOf(c.Snapshot.Rows)
	opt.Stamp, opt.SnapshotID, opt.Watermark = c.Clock, "snapshot-", "w-"
}

func rowsOf(rows []fixture.Row) []simulator.Row {
	out := make([]simulator.Row, len(rows))
	for i, r := range rows {
		out[i] = simulator.Row{ID: r.ID, Feature: r.Feature}
	}
	return out
}

// Publish makes n changes at sim: those that the set-up asks for, or the next ones of the fixture. It fails when the fixture has none
// with the next number.
func (s *Setup) Publish(sim *simulator.Simulator, now simulator.Now, n int) error {
	if !s.Cross {
		kind := s.Changes
		if kind == "" {
			kind = simulator.AutoUpsert
		}
		_, err := sim.PublishAuto(now, kind, n)
		return err
	}
	for range n {
		next := sim.State().Head + 1
		ch, ok := crossFixture().At(next)
		if !ok {
			return fmt.Errorf("the fixture has no change %d", next)
		}
		change := simulator.Change{Kind: event.Delta, Upserts: rowsOf(ch.Upserts), Deletes: ch.Deletes, ID: ch.ID}
		if _, err := sim.Publish(now, change); err != nil {
			return err
		}
	}
	return nil
}
