package simulator

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/conform-dev/conform/core/event"
)

// feed is the truth that is served: keyed rows, a sequence, and the last changes. A position can be resumed from exactly
// when every later change is still kept; it expires because history was trimmed, not because a flag says so.
type feed struct {
	source    string
	version   int // source version: with source it names the epoch
	head      event.Seq
	rows      map[string]*stored
	set       rowSet
	log       []entry // kept changes, oldest first; the last one is head
	start     int     // first used place of log
	base      rowSet  // digest before the oldest kept change
	keep      int
	maxBytes  int64
	bytes     int64
	stamp     int64
	snapshots string // begins their event ids
	watermark string // begins the watermark of every event; empty for none
	at        int64  // unix milliseconds of the last change
}

// stored is a row as the feed holds it.
type stored struct {
	row     Row
	version event.Seq // of the change that wrote it
	at      int64     // unix milliseconds of that change
	hash    rowHash
}

// entry is one kept change.
type entry struct {
	seq    event.Seq
	change Change
	at     int64 // unix milliseconds
	after  rowSet
	undo   []undo
	size   int64
}

// undo is what a change overwrote: was is nil if the row did not exist.
type undo struct {
	id  string
	was *stored
}

// entryOverhead stands for what an entry takes beside its texts.
const entryOverhead = 256

func newFeed(o *Options) *feed {
	f := &feed{source: o.Source, version: o.Version, head: o.Head, rows: map[string]*stored{}, keep: o.Retention, maxBytes: o.HistoryBytes, stamp: o.Stamp,
		snapshots: o.SnapshotID, watermark: o.Watermark}
	f.at = f.time(o.Start, f.head)
	for _, r := range o.Seed {
		f.put(r, f.head, f.at)
	}
	for i := 1; i <= o.Rows; i++ {
		r := Row{ID: strconv.Itoa(i), Feature: json.RawMessage(`{"state":"open","revision":0}`)}
		f.put(r, f.head, f.at)
	}
	f.base = f.set
	return f
}

// time is the unix time in milliseconds of sequence seq, published at wall.
func (f *feed) time(wall int64, seq event.Seq) int64 {
	if f.stamp != 0 {
		return f.stamp + int64(seq)
	}
	return wall
}

func (f *feed) put(r Row, version event.Seq, at int64) *stored {
	was := f.rows[r.ID]
	if was != nil {
		f.set.sub(was.hash)
	}
	s := &stored{row: r, version: version, at: at, hash: hashRow(f.source+":"+r.ID, int64(version), r.Feature)}
	f.set.add(s.hash)
	f.rows[r.ID] = s
	return was
}

func (f *feed) drop(id string) *stored {
	was := f.rows[id]
	if was != nil {
		f.set.sub(was.hash)
		delete(f.rows, id)
	}
	return was
}

// publish makes c the next change. It answers its sequence, or an error that leaves the feed as it was.
func (f *feed) publish(wall int64, c Change) (event.Seq, error) {
	if err := c.Check(); err != nil {
		return event.NoSeq, err
	}
	grow := 0
	for _, r := range c.Upserts {
		if f.rows[r.ID] == nil {
			grow++
		}
	}
	if len(f.rows)+grow > MaxRows {
		return event.NoSeq, fmt.Errorf("rows: the feed holds %d of at most %d", len(f.rows), MaxRows)
	}
	if f.head >= event.MaxSeq {
		return event.NoSeq, fmt.Errorf("sequence: %d is the last number there is", f.head)
	}
	f.head++
	if f.at = c.At; f.at == 0 {
		f.at = f.time(wall, f.head)
	}
	e := entry{seq: f.head, change: c, at: f.at, size: entryOverhead + int64(len(c.ID))}
	for _, r := range c.Upserts {
		e.undo = append(e.undo, undo{r.ID, f.put(r, e.seq, e.at)})
		e.size += int64(len(r.ID) + len(r.Feature))
	}
	for _, id := range c.Deletes {
		e.undo = append(e.undo, undo{id, f.drop(id)})
		e.size += int64(len(id))
	}
	e.after = f.set
	f.log = append(f.log, e)
	f.bytes += e.size
	f.trim(f.keep)
	for f.bytes > f.maxBytes && f.kept() > 1 {
		f.forget()
	}
	return f.head, nil
}

func (f *feed) kept() int { return len(f.log) - f.start }

// oldestKept is the sequence of the oldest kept change, head+1 if none is kept.
func (f *feed) oldestKept() event.Seq { return f.head - event.Seq(f.kept()) + 1 }

// trim forgets the oldest changes until at most n are kept.
func (f *feed) trim(n int) {
	for f.kept() > n {
		f.forget()
	}
}

func (f *feed) forget() {
	e := &f.log[f.start]
	f.base = e.after
	f.bytes -= e.size
	*e = entry{}
	f.start++
	if f.start > 64 && f.start > len(f.log)/2 {
		f.log = append(f.log[:0], f.log[f.start:]...)
		clear(f.log[len(f.log):cap(f.log)])
		f.start = 0
	}
}

// entry is the kept change with sequence seq, nil if it is not kept.
func (f *feed) entry(seq event.Seq) *entry {
	if seq < f.oldestKept() || seq > f.head {
		return nil
	}
	return &f.log[f.start+int(seq-f.oldestKept())]
}

// resumable says whether every change after seq is still kept.
func (f *feed) resumable(seq event.Seq) bool { return seq <= f.head && seq+1 >= f.oldestKept() }

func (f *feed) setAt(seq event.Seq) (rowSet, bool) {
	switch {
	case seq == f.oldestKept()-1:
		return f.base, true
	case f.entry(seq) != nil:
		return f.entry(seq).after, true
	}
	return rowSet{}, false
}

func (f *feed) digest(seq event.Seq) (string, bool) {
	s, ok := f.setAt(seq)
	if !ok {
		return "", false
	}
	return s.digest(), true
}

func (f *feed) digestNow() string { return f.set.digest() }

// rowsAt is the state at sequence seq, in the order of ids; ok is false if the history does not reach back to it.
func (f *feed) rowsAt(seq event.Seq) (rows []*stored, at int64, ok bool) {
	if !f.resumable(seq) {
		return nil, 0, false
	}
	state, at := f.rows, f.at
	if seq < f.head {
		state = maps.Clone(f.rows)
		for s := f.head; s > seq; s-- {
			e := f.entry(s)
			for _, u := range slices.Backward(e.undo) {
				if u.was == nil {
					delete(state, u.id)
				} else {
					state[u.id] = u.was
				}
			}
			at = e.at
		}
		if e := f.entry(seq); e != nil {
			at = e.at
		}
	}
	for _, id := range slices.Sorted(maps.Keys(state)) {
		rows = append(rows, state[id])
	}
	return rows, at, true
}

// oldest is the id of the row that was changed longest ago.
func (f *feed) oldest() (string, bool) {
	best := ""
	for id, r := range f.rows {
		if b := f.rows[best]; best == "" || r.version < b.version || r.version == b.version && id < best {
			best = id
		}
	}
	return best, best != ""
}

// restart begins again at head. In a new epoch the rows stay, the numbers start over and no history is left. In the same
// epoch head is a backup's: the changes after it are undone and forgotten, which needs them in the history.
func (f *feed) restart(head event.Seq, epoch bool) error {
	if head == event.NoSeq {
		head = f.head
	}
	switch {
	case head < 0 || head > event.MaxSeq-MaxRetention:
		return fmt.Errorf("head: %d is not in 0 to %d", head, event.MaxSeq-MaxRetention)
	case epoch:
		f.version++
		f.head = head
		f.log, f.start, f.bytes, f.base = nil, 0, 0, f.set
		for _, id := range slices.Sorted(maps.Keys(f.rows)) {
			r := f.rows[id]
			f.put(r.row, head, r.at)
		}
		f.base = f.set
		return nil
	case head > f.head:
		return fmt.Errorf("head: %d is above the head %d; only a new epoch may start there", head, f.head)
	case !f.resumable(head):
		return fmt.Errorf("head: %d is older than the history, which begins after %d", head, f.oldestKept()-1)
	}
	for f.head > head {
		e := f.log[len(f.log)-1]
		for _, u := range slices.Backward(e.undo) {
			f.drop(u.id)
			if u.was != nil {
				f.rows[u.id] = u.was
				f.set.add(u.was.hash)
			}
		}
		f.bytes -= e.size
		f.log[len(f.log)-1] = entry{}
		f.log = f.log[:len(f.log)-1]
		f.head--
	}
	if e := f.entry(f.head); e != nil {
		f.at = e.at
	}
	return nil
}

func (f *feed) epoch() string { return epochName(f.source, f.version) }

// eventID is the event id of sequence seq: its own, while it is kept, or the usual one.
func (f *feed) eventID(seq event.Seq) string {
	if e := f.entry(seq); e != nil && e.change.ID != "" {
		return e.change.ID
	}
	return eventID(f.version, seq)
}

// snapshotID is the event id of a snapshot at seq.
func (f *feed) snapshotID(seq event.Seq) string {
	if f.snapshots != "" {
		return f.snapshots + strconv.FormatInt(int64(seq), 10)
	}
	return snapshotID(f.version, seq)
}
