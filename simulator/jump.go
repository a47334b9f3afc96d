package simulator

import (
	"fmt"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/trace"
)

// Jump sets the number that the feed goes on from.
type Jump struct {
	To   event.Seq // the new head, above the present one; the next change is To + 1
	Rows []Row     // take the place of all rows, at sequence To; nil leaves them
}

// Jump skips numbers, in the same epoch: the history ends there, so every position below To has expired, and a snapshot is one at To.
// A stream that had caught up goes on behind To without a word, as behind a server that lost count; one that had not is told
// that its place is gone. An error leaves everything as it was.
func (s *Simulator) Jump(now Now, j Jump) error {
	s.now = now
	if err := s.jump(j); err != nil {
		return err
	}
	s.settle()
	return nil
}

func (s *Simulator) jump(j Jump) error {
	f := s.feed
	if j.To <= f.head || j.To > event.MaxSeq-MaxRetention {
		return fmt.Errorf("to: %d is not in %d to %d", j.To, f.head+1, event.MaxSeq-MaxRetention)
	}
	rows, err := checkRows(j.Rows)
	if err != nil {
		return err
	}
	before := f.head
	f.jump(s.now.Wall, j.To, rows)
	s.eachStream(func(st *stream) {
		if st.next == before+1 && !st.snapshot {
			st.next = j.To + 1
		}
	})
	s.record(trace.Record{Kind: trace.ServerTrim, Seq: f.oldestKept()})
	s.baseline(trace.ServerPublish, "baseline")
	return nil
}

// jump goes on from to, with no history.
func (f *feed) jump(wall int64, to event.Seq, rows []Row) {
	f.head = to
	f.log, f.start, f.bytes = nil, 0, 0
	if rows != nil {
		f.at = f.time(wall, to)
		f.rows, f.set = map[string]*stored{}, rowSet{}
		for _, r := range rows {
			f.put(r, to, f.at)
		}
	}
	f.base = f.set
}

// checkRows refuses what could not be encoded, and makes the features compact. It answers a copy.
func checkRows(rows []Row) ([]Row, error) {
	if rows == nil {
		return nil, nil
	}
	if len(rows) > MaxRows {
		return nil, fmt.Errorf("rows: %d is more than %d", len(rows), MaxRows)
	}
	out := make([]Row, len(rows))
	copy(out, rows)
	seen := map[string]bool{}
	for i := range out {
		if err := out[i].check(); err != nil {
			return nil, fmt.Errorf("rows[%d]: %w", i, err)
		}
		if seen[out[i].ID] {
			return nil, fmt.Errorf("rows[%d]: id: a row with this id stands before it", i)
		}
		seen[out[i].ID] = true
	}
	return out, nil
}
