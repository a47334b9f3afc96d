package simulator

import (
	"encoding/json"
	"fmt"

	"github.com/conform-dev/conform/core/event"
)

var jumpFault = Spec{
	Name: "jump",
	Doc:  "skips numbers in the same epoch: the history ends, and streams that had caught up go on behind the new head without a word",
	At:   []string{"sequence", "request"},
	Params: []Param{{Name: "rows", Kind: "rows", Doc: "the rows that take the place of all others, as a JSON list of id and feature; left out, they stay"},
		{Name: "to", Kind: "integer", Doc: "the new head; left out, one more than it was", Default: "-1",
			Min: 1, Max: int64(event.MaxSeq) - MaxRetention}},
	build: func(a args) any { return &jumpTo{event.Seq(a.int("to")), a.text("rows")} },
}

// jumpTo strikes when a change is published, or, aimed at a kind of request, before the answer to one is made: whoever asks for a
// snapshot then gets one behind the jump.
type jumpTo struct {
	to   event.Seq
	rows string
}

func (j *jumpTo) feed(s *Simulator) bool {
	to := j.to
	if to < 0 {
		to = s.feed.head + 1
	}
	rows, err := parseRows(j.rows)
	if err != nil {
		return false // it was checked when the fault was read
	}
	return s.jump(Jump{To: to, Rows: rows}) == nil
}

// parseRows reads rows as a parameter names them; no text is no rows.
func parseRows(text string) ([]Row, error) {
	if text == "" {
		return nil, nil
	}
	var list []struct {
		ID      string          `json:"id"`
		Feature json.RawMessage `json:"feature"`
	}
	if json.Unmarshal([]byte(text), &list) != nil || len(list) > MaxRows {
		return nil, fmt.Errorf("no JSON list of at most %d rows with id and feature", MaxRows)
	}
	rows := make([]Row, len(list))
	for i, r := range list {
		rows[i] = Row{ID: r.ID, Feature: r.Feature}
	}
	return checkRows(rows)
}

// asked lets the jumps strike that wait for such a request.
func (s *Simulator) asked(req *request) {
	s.plan.each(func(a *armed) {
		at := &a.fault.At
		l, ok := a.logic.(*jumpTo)
		if !ok || at.Request == "" || (at.Request == "resume") != req.resume() || s.feed.head < at.Sequence {
			return
		}
		if head := s.feed.head; l.feed(s) {
			s.strike(a, nil, head)
		}
	})
}
