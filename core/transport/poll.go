package transport

import (
	"time"

	"github.com/conform-dev/conform/core/event"
)

// PollReport is what one poll brought: facts 6.8's onPoll report. It says nothing about what the gate made of it.
type PollReport struct {
	Interval time.Duration // as configured
	Next     time.Duration // until the next poll; 0 if none is planned yet
	Seq      event.Seq     // sequence after it; NoSeq if there is none
	Changed  bool
	Upserts  int
	Deletes  int
}
