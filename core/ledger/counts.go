package ledger

import (
	"cmp"
	"slices"
)

// Counts is how the normative sentences of the contract are answered. A sentence counts once: WithRow, Excluded, Later and
// Open add up to Normative.
type Counts struct {
	Rows      int
	Normative int
	WithRow   int
	Excluded  int // with a reason
	Later     []Topic
	Open      int // nothing answers for them; Check names each
}

// Topic is a piece of later work and how many sentences wait for it.
type Topic struct {
	Name      string
	Sentences int
}

// Waiting is how many sentences are left to later work.
func (c Counts) Waiting() int {
	n := 0
	for _, t := range c.Later {
		n += t.Sentences
	}
	return n
}

// Count counts how the sentences are answered. Topics are sorted by name; one that nothing waits for is left out.
func (l *Ledger) Count() Counts {
	c := Counts{Rows: len(l.Rows)}
	answered := map[string]func(){}
	later := map[string]int{}
	for _, e := range l.Exclusions {
		for _, id := range e.Sentences {
			answered[id] = func() { c.Excluded++ }
			if e.Later != "" {
				answered[id] = func() { later[e.Later]++ }
			}
		}
	}
	for i := range l.Rows {
		for _, a := range l.Rows[i].Authority {
			answered[a.Sentence] = func() { c.WithRow++ }
		}
	}
	for _, s := range l.Sentences {
		if !s.Normative {
			continue
		}
		c.Normative++
		if count, ok := answered[s.ID]; ok {
			count()
		} else {
			c.Open++
		}
	}
	for name, n := range later {
		c.Later = append(c.Later, Topic{name, n})
	}
	slices.SortFunc(c.Later, func(a, b Topic) int { return cmp.Compare(a.Name, b.Name) })
	return c
}
