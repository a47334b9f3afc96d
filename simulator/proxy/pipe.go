package proxy

import (
	"cmp"
	"slices"
	"time"
)

// pipe is one direction of a connection as a pure machine: it is told how many bytes there are and what time it is, and says what to do with
// them. Time counts from the connection's start.
type pipe struct {
	faults []Fault // of this direction, by their place; the next one first
	pos    int64   // bytes handed on

	end     ending
	until   time.Duration // nothing before
	forever bool          // nothing at all
	by      time.Duration // delay of what comes
	piece   int           // drip; 0: none
	every   time.Duration
	deaf    bool // throw away

	struck []Fault // since the last step
}

// ending is how both sides are ended.
type ending uint8

const (
	goesOn ending = iota
	endCut
	endReset
)

func newPipe(list []Fault, from Side) *pipe {
	p := &pipe{}
	for _, f := range list {
		if f.From == from {
			p.faults = append(p.faults, f)
		}
	}
	slices.SortStableFunc(p.faults, func(a, b Fault) int { return cmp.Compare(a.At, b.At) })
	return p
}

// step is what to do next.
type step struct {
	forward int           // hand so many bytes on
	drop    int           // or throw so many away
	wait    time.Duration // or wait until then; never for a negative one
	end     ending        // or end both sides
}

// next says what to do at now with the bytes at hand, of which there are have, that came at came. What is handed on is counted.
func (p *pipe) next(now, came time.Duration, have int) step {
	for len(p.faults) > 0 && p.faults[0].At <= p.pos && p.end == goesOn && !p.forever && now >= p.until {
		f := p.faults[0]
		p.faults = p.faults[1:]
		kinds[f.Kind].strike(p, &f, now)
		p.struck = append(p.struck, f)
	}
	switch due := max(p.until, came+p.by); {
	case p.end != goesOn:
		return step{end: p.end}
	case p.deaf:
		return step{drop: have}
	case p.forever:
		return step{wait: -1}
	case have == 0:
		return step{}
	case now < due:
		return step{wait: due}
	}
	n := have
	if len(p.faults) > 0 {
		n = int(min(int64(n), p.faults[0].At-p.pos))
	}
	if p.piece > 0 {
		n = min(n, p.piece)
		p.until = now + p.every
	}
	p.pos += int64(n)
	return step{forward: n}
}

// due says whether a fault waits at this very place: it strikes without another byte.
func (p *pipe) due() bool { return len(p.faults) > 0 && p.faults[0].At <= p.pos }

// take hands out what struck.
func (p *pipe) take() []Fault {
	out := p.struck
	p.struck = nil
	return out
}
