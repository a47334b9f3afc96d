package etcd

import (
	"fmt"
	"testing"

	"github.com/conform-dev/conform/core/event"
)

// outcome is what a call of a store told its caller.
type outcome string

const (
	acked   outcome = "acked"   // a save that reported nothing; a load that found a record, or none
	refused outcome = "refused" // a save that reported ErrMoved: nothing was written
	unknown outcome = "unknown" // a save that may have happened; a load that failed and tells nothing
)

// operation is one call on one scope. Begin and end are places in one order of all begins and ends of a run: a call whose
// end is before another's begin was over when that one began.
type operation struct {
	relay      string
	save       bool
	seq        event.Seq // what was saved, or read; NoSeq for a load that found nothing
	out        outcome
	begin, end int
}

func (o operation) String() string {
	what := "load"
	if o.save {
		what = "save"
	}
	return fmt.Sprintf("%s %s %d %s [%d,%d]", o.relay, what, o.seq, o.out, o.begin, o.end)
}

// judgeHistory says what is wrong with a run in which nobody forgets and each relay goes forward only:
//   - a load gives less than a save that was acknowledged before it began: lost;
//   - a load gives less than a load that was over before it began: backwards;
//   - a load gives what nobody had begun to save, or what was refused: invented;
//   - a save is acknowledged below what was acknowledged or read before it began: it moved the scope backwards.
func judgeHistory(run []operation) (wrong []string) {
	for _, o := range run {
		if o.out != acked {
			continue
		}
		var saved, read event.Seq = event.NoSeq, event.NoSeq
		known := o.save || !o.seq.Valid()
		for _, p := range run {
			before := p.end < o.begin && p.out == acked
			switch {
			case p.save && before:
				saved = max(saved, p.seq)
			case before:
				read = max(read, p.seq)
			}
			if p.save && p.out != refused && p.begin < o.end && p.seq == o.seq {
				known = true
			}
		}
		switch {
		case o.save && o.seq < max(saved, read):
			wrong = append(wrong, fmt.Sprintf("%v moved the scope backwards from %d", o, max(saved, read)))
		case !o.save && o.seq < saved:
			wrong = append(wrong, fmt.Sprintf("%v lost %d, which was acknowledged", o, saved))
		case !o.save && o.seq < read:
			wrong = append(wrong, fmt.Sprintf("%v went backwards from %d, which was read", o, read))
		}
		if !known {
			wrong = append(wrong, fmt.Sprintf("%v was never saved", o))
		}
	}
	return wrong
}

// judgeStored says what is wrong with the positions that etcd itself held, one after the other, when these calls were made:
// one that is lower than the one before it, and one that was acknowledged and never stood there.
func judgeStored(stored []event.Seq, run []operation) (wrong []string) {
	stood := map[event.Seq]bool{}
	for i, seq := range stored {
		stood[seq] = true
		if i > 0 && seq < stored[i-1] {
			wrong = append(wrong, fmt.Sprintf("etcd held %d, and then %d", stored[i-1], seq))
		}
	}
	for _, o := range run {
		if o.save && o.out == acked && !stood[o.seq] {
			wrong = append(wrong, fmt.Sprintf("%v never stood in etcd", o))
		}
	}
	return wrong
}

// TestJudgeHistory: each thing that may be wrong is found, and what only looks so is not.
func TestJudgeHistory(t *testing.T) {
	save := func(seq event.Seq, out outcome, begin, end int) operation {
		return operation{"a", true, seq, out, begin, end}
	}
	load := func(seq event.Seq, begin, end int) operation { return operation{"b", false, seq, acked, begin, end} }
	none := event.NoSeq
	for name, c := range map[string]struct {
		run   []operation
		wrong int
	}{
		"nothing":                        {nil, 0},
		"nothing is there yet":           {[]operation{load(none, 1, 2), save(1, acked, 3, 4), load(1, 5, 6)}, 0},
		"lost":                           {[]operation{save(1, acked, 1, 2), load(none, 3, 4)}, 1},
		"lost: an older one":             {[]operation{save(1, acked, 1, 2), save(2, acked, 3, 4), load(1, 5, 6)}, 1},
		"at once: either":                {[]operation{save(1, acked, 1, 2), save(2, acked, 3, 6), load(1, 4, 5), load(2, 7, 8)}, 0},
		"a load is over before the save": {[]operation{save(1, acked, 1, 2), load(1, 3, 4), save(2, acked, 5, 6)}, 0},
		"read backwards":                 {[]operation{save(1, acked, 1, 2), save(2, unknown, 3, 4), load(2, 5, 6), load(1, 7, 8)}, 1},
		"overlapping loads":              {[]operation{save(1, acked, 1, 2), save(2, unknown, 3, 4), load(2, 5, 8), load(1, 6, 7)}, 0},
		"an unknown one is not there":    {[]operation{save(1, acked, 1, 2), save(2, unknown, 3, 4), load(1, 5, 6)}, 0},
		"an unknown one comes late":      {[]operation{save(1, acked, 1, 2), save(2, unknown, 3, 4), load(1, 5, 6), load(2, 7, 8)}, 0},
		"invented":                       {[]operation{save(1, acked, 1, 2), load(7, 3, 4)}, 1},
		"invented: not begun yet":        {[]operation{load(1, 1, 2), save(1, acked, 3, 4)}, 1},
		"refused, and there":             {[]operation{save(1, refused, 1, 2), load(1, 3, 4)}, 1},
		"refused, another's is there":    {[]operation{save(1, refused, 1, 2), save(1, acked, 1, 3), load(1, 4, 5)}, 0},
		"a save goes backwards":          {[]operation{save(2, acked, 1, 2), save(1, acked, 3, 4)}, 1},
		"a save below what was read":     {[]operation{save(2, unknown, 1, 2), load(2, 3, 4), save(1, acked, 5, 6)}, 1},
		"the same again":                 {[]operation{save(2, acked, 1, 2), save(2, acked, 3, 4), load(2, 5, 6)}, 0},
		"a refused one is no move":       {[]operation{save(2, acked, 1, 2), save(1, refused, 3, 4), load(2, 5, 6)}, 0},
		"saves at once":                  {[]operation{save(2, acked, 1, 3), save(1, acked, 2, 4), load(2, 5, 6)}, 0},
	} {
		if wrong := judgeHistory(c.run); len(wrong) != c.wrong {
			t.Errorf("%s: %q, want %d", name, wrong, c.wrong)
		}
	}
}

// TestJudgeStored: likewise.
func TestJudgeStored(t *testing.T) {
	run := []operation{{"a", true, 1, acked, 1, 2}, {"a", true, 3, unknown, 3, 4}, {"b", true, 2, acked, 5, 6}}
	for _, c := range []struct {
		stored []event.Seq
		wrong  int
	}{
		{[]event.Seq{1, 2}, 0}, {[]event.Seq{1, 1, 2, 3}, 0}, {[]event.Seq{1, 3}, 1}, {[]event.Seq{2, 1}, 1}, {[]event.Seq{1, 3, 2}, 1}, {nil, 2},
	} {
		if wrong := judgeStored(c.stored, run); len(wrong) != c.wrong {
			t.Errorf("%v: %q, want %d", c.stored, wrong, c.wrong)
		}
	}
}
