package serve

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/simulator"
	"github.com/conform-dev/conform/simulator/strict"
)

// publish reads {count, kind} or {changes}.
func publish(b *strict.Node, sim *simulator.Simulator, now simulator.Now) error {
	if err := b.Only("count", "kind", "changes"); err != nil {
		return err
	}
	if b.Get("changes") == nil {
		return publishAuto(b, sim, now)
	}
	return publishChanges(b, sim, now)
}

// publishAuto reads {count, kind}; both have defaults, so that an empty body publishes one upsert.
func publishAuto(b *strict.Node, sim *simulator.Simulator, now simulator.Now) error {
	count, kind := int64(1), simulator.AutoUpsert
	if err := errors.Join(b.Int("count", &count, 1, simulator.MaxPublish), b.String("kind", &kind)); err != nil {
		return err
	}
	if !slices.Contains([]string{simulator.AutoUpsert, simulator.AutoDelete, simulator.AutoDelta, simulator.AutoMixed}, kind) {
		return b.Get("kind").Refuse("must be upsert, delete, delta or mixed")
	}
	_, err := sim.PublishAuto(now, kind, int(count))
	return err
}

func publishChanges(b *strict.Node, sim *simulator.Simulator, now simulator.Now) error {
	if n := b.Get("count"); n != nil {
		return n.Refuse("stands beside changes; give one of them")
	}
	if n := b.Get("kind"); n != nil {
		return n.Refuse("stands beside changes; give one of them")
	}
	items, err := b.Array("changes", simulator.MaxPublish)
	if err != nil {
		return err
	}
	changes := make([]simulator.Change, len(items))
	for i, n := range items {
		if changes[i], err = change(n); err != nil {
			return err
		}
	}
	if len(changes) == 0 {
		return b.Get("changes").Refuse("is empty")
	}
	_, err = sim.Publish(now, changes...)
	return err
}

// changeMembers are those that every change may have.
var changeMembers = []string{"type", "eventId", "timestamp", "reason"}

// change reads one change: {type: upsert, id, feature}, {type: delete, id} or {type: delta, upserts: [{id, feature}], deletes: [id]}; each
// may name its event id, its time as a date of RFC 3339, and the reason of its deletes.
func change(n *strict.Node) (c simulator.Change, err error) {
	if err := n.Only(append(changeMembers, "id", "feature", "upserts", "deletes")...); err != nil {
		return c, err
	}
	kind, date := "", ""
	if err := errors.Join(n.String("type", &kind), n.String("eventId", &c.ID), n.String("timestamp", &date), n.String("reason", &c.Reason)); err != nil {
		return c, err
	}
	if date != "" {
		at, err := time.Parse(time.RFC3339, date)
		if err != nil || at.UnixMilli() <= 0 {
			return c, n.Get("timestamp").Refuse("must be a date of RFC 3339, after 1970")
		}
		c.At = at.UnixMilli()
	}
	switch c.Kind = event.ParseKind(kind); c.Kind {
	case event.Upsert:
		if err = n.Only(append(changeMembers, "id", "feature")...); err == nil {
			var r simulator.Row
			r, err = row(n)
			c.Upserts = []simulator.Row{r}
		}
	case event.Delete:
		var id string
		err = errors.Join(n.Only(append(changeMembers, "id")...), n.String("id", &id))
		c.Deletes = []string{id}
	case event.Delta:
		err = delta(n, &c)
	default:
		return c, n.Refuse("type must be upsert, delete or delta")
	}
	if err != nil {
		return c, err
	}
	if err := c.Check(); err != nil {
		return c, n.Refuse("%s", err.Error())
	}
	return c, nil
}

func delta(n *strict.Node, c *simulator.Change) error {
	if err := n.Only(append(changeMembers, "upserts", "deletes")...); err != nil {
		return err
	}
	ups, err := n.Array("upserts", simulator.MaxRows)
	if err != nil {
		return err
	}
	if c.Upserts, err = rows(ups); err != nil {
		return err
	}
	ids, err := n.Array("deletes", simulator.MaxRows)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if id.Kind != strict.Text {
			return id.Refuse("must be a text")
		}
		c.Deletes = append(c.Deletes, id.Text)
	}
	return nil
}

func rows(items []*strict.Node) ([]simulator.Row, error) {
	var out []simulator.Row
	for _, n := range items {
		if err := n.Only("id", "feature"); err != nil {
			return nil, err
		}
		r, err := row(n)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

func row(n *strict.Node) (r simulator.Row, err error) {
	if err := n.String("id", &r.ID); err != nil {
		return r, err
	}
	f := n.Get("feature")
	if f == nil {
		return r, n.Refuse("feature is missing")
	}
	r.Feature = json.RawMessage(f.Raw)
	return r, nil
}
