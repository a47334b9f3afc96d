package gate_test

import (
	"fmt"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
)

// The whole synchronous driver: offer an event, then do what is due until nothing is.
func Example() {
	g, err := gate.New(gate.Config{Saves: true}, gate.Start{})
	if err != nil {
		panic(err)
	}
	now := int64(1_764_500_000_000)
	offer := func(doc string) {
		var ev event.Event
		event.Parse([]byte(doc), &ev)
		g.Enqueue(&ev)
		for {
			due := g.Take()
			for _, d := range due.Resolved {
				fmt.Println(d.Status, d.Reason, "held", d.Seq)
			}
			switch {
			case due.Apply != nil:
				fmt.Println("apply", due.Apply.Kind, due.Apply.Pos.Seq)
				g.Applied(now, nil)
			case due.Save != nil:
				fmt.Println("save", due.Save.Pos.Seq)
				g.Saved(nil)
			default:
				return
			}
		}
	}
	offer(`{"type":"snapshot","sequence":10,"features":[]}`)
	offer(`{"type":"delta","sequence":11,"upserts":[{"id":1,"feature":{}}]}`)
	offer(`{"type":"delta","sequence":13}`)
	fmt.Println(g.State().Phase, g.State().Reason)
	// Output:
	// apply snapshot 10
	// save 10
	// applied  held 10
	// apply delta 11
	// save 11
	// applied  held 11
	// resnapshot-required sequence-gap held 11
	// resnapshot-required sequence-gap
}
