package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// plane is the other side of the lane, which outlives a restart of the fleet server: the log of what happened, and who is to be
// woken about it.
type plane struct {
	seed  [32]byte
	drawn uint64 // keys and ids made so far

	subscriptions []*subscription // in the order of their making
	log           []Event         // oldest first
	most          int
	last          int64 // newest log id
}

// subscription is one wake subscription.
type subscription struct {
	id, owner   string
	target, url string
	key         string // its signing key, a secret; empty before the first rotation
	polled      int64  // unix milliseconds of the last poll that passed; -1 for none. No watermark is kept under any name
}

const webhook = "a2a-webhook"

func newPlane(o *Options) plane {
	return plane{seed: o.Seed, most: o.LogEntries, last: o.LogID}
}

// draw is the next 64 hex digits that the seed makes.
func (p *plane) draw(what string) string {
	p.drawn++
	sum := sha256.Sum256(fmt.Appendf(p.seed[:len(p.seed):len(p.seed)], "%s %d", what, p.drawn))
	return hex.EncodeToString(sum[:])
}

func (p *plane) find(id string) *subscription {
	for _, sub := range p.subscriptions {
		if sub.id == id {
			return sub
		}
	}
	return nil
}

// subscribe answers the subscription of owner for url, made at need; refused says why there is none.
func (p *plane) subscribe(owner, id, target, url string) (sub *subscription, refused string) {
	own := 0
	for _, x := range p.subscriptions {
		if x.owner == owner {
			if x.url == url && x.target == target {
				return x, ""
			}
			own++
		}
	}
	if own >= MaxOwnSubscriptions {
		return nil, fmt.Sprintf("Too many subscriptions: %d are the most.", MaxOwnSubscriptions)
	}
	if id == "" || p.find(id) != nil {
		for id = ""; id == "" || p.find(id) != nil; {
			id = "WAKE_SUB:" + p.draw("subscription")[:16]
		}
	}
	sub = &subscription{id: id, owner: owner, target: target, url: url, polled: -1}
	p.subscriptions = append(p.subscriptions, sub)
	return sub, ""
}

// rotate gives sub a fresh signing key. The one before signs nothing any more.
func (p *plane) rotate(sub *subscription) string {
	sub.key = p.draw("signing key")
	return sub.key
}

// EventKind is what a wake-relevant event is about.
type EventKind string

// The kinds. The first four are what a poll counts.
const (
	Message    EventKind = "sent_to_me"
	TaskState  EventKind = "task_state_changed"
	Permission EventKind = "permission_granted"
	Pulse      EventKind = "heartbeat_pulse"
	Other      EventKind = "other" // matched and replayed, in none of the four counts
)

var counted = []EventKind{Message, TaskState, Permission, Pulse}

// priorities of messages, lowest first.
var priorities = []string{"low", "normal", "high", "critical"}

// Event is one entry of the plane's log.
type Event struct {
	Kind     EventKind // Message
	Source   string    // its own id, MESSAGE:7; made from the log id if empty
	Priority string    // of a message: low, normal, high, critical; normal

	logID    int64
	identity string
	read     bool
}

func (e *Event) check() error {
	if e.Kind == "" {
		e.Kind = Message
	}
	if e.Priority == "" {
		e.Priority = "normal"
	}
	switch {
	case e.Kind != Other && !slices.Contains(counted, e.Kind):
		return fmt.Errorf("kind: %q is none of sent_to_me, task_state_changed, permission_granted, heartbeat_pulse, other", e.Kind)
	case !slices.Contains(priorities, e.Priority):
		return fmt.Errorf("priority: %q is none of %s", e.Priority, strings.Join(priorities, ", "))
	case len(e.Source) > MaxText:
		return fmt.Errorf("source: longer than %d bytes", MaxText)
	}
	return nil
}

// add writes events for identity into the log and answers them with their ids.
func (p *plane) add(identity string, events []Event) []Event {
	added := make([]Event, len(events))
	for i, e := range events {
		p.last++
		e.logID, e.identity = p.last, identity
		if e.Source == "" {
			e.Source = fmt.Sprintf("MESSAGE:%d", p.last)
		}
		added[i] = e
		p.log = append(p.log, e)
	}
	if over := len(p.log) - p.most; over > 0 {
		p.log = slices.Clone(p.log[over:])
	}
	return added
}

// digest is what a poll answers (fleet facts 4).
type digest struct {
	id        string
	pending   int
	replayed  int
	text      string
	priority  string
	watermark int64
}

// derive reads the log above since for owner: at read time, nothing is queued, and what was read in the meantime does not match.
func (p *plane) derive(id, owner string, since int64) digest {
	d := digest{id: id, watermark: since, priority: "normal"}
	counts := map[EventKind]int{}
	highest := -1
	for i := range p.log {
		e := &p.log[i]
		if e.logID <= since {
			continue
		}
		d.watermark = max(d.watermark, e.logID)
		if e.identity != owner || e.read {
			continue
		}
		d.replayed++
		counts[e.Kind]++
		if e.Kind == Message {
			highest = max(highest, slices.Index(priorities, e.Priority))
		}
	}
	var parts []string
	for _, k := range counted {
		if n := counts[k]; n > 0 {
			d.pending += n
			parts = append(parts, fmt.Sprintf("%d %s", n, k))
		}
	}
	if highest >= 0 {
		d.priority = priorities[highest]
	}
	d.text = strings.Join(parts, ", ")
	return d
}

const nothingPending = "no wake-relevant events above the client watermark in current read state"

// json is the answer's bytes: an empty one is a closed state, with a reason and no digest.
func (d digest) json() []byte {
	b := appendQuoted([]byte(`{"subscriptionId":`), d.id)
	if d.pending == 0 {
		b = appendQuoted(append(b, `,"pending":0,"reason":`...), nothingPending)
	} else {
		b = fmt.Appendf(b, `,"pending":%d,"digest":%s,"digestPriority":%s,"eventsReplayed":%d`, d.pending, quoted(d.text), quoted(d.priority), d.replayed)
	}
	return fmt.Appendf(b, `,"watermark":%d}`, d.watermark)
}
