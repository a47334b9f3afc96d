package websocket

import (
	"strconv"
	"time"
)

// pinger asks the server for signs of life (D-37, RFC 6455 5.5.2). A ping is unanswered until a pong repeats its payload, or that of
// a later one: a server may answer only the last of several.
type pinger struct {
	every time.Duration
	last  time.Duration // when the last ping went out, at first when the connection opened
	sent  uint64        // pings so far; the payload of each is its number
	heard uint64        // the number of the newest that was answered
}

type pingStep uint8

const (
	pingWait pingStep = iota
	pingNow
	pingDead
)

func (p *pinger) start(every, now time.Duration) { *p = pinger{every: every, last: now} }

// patience is how long the last of MaxUnanswered pings is waited for. It is shorter than the time between pings, so that the
// connection is given up before the next one would go out.
func (p *pinger) patience() time.Duration { return p.every - p.every/3 }

func (p *pinger) deadline() time.Duration {
	if p.sent-p.heard >= MaxUnanswered {
		return p.last + p.patience()
	}
	return p.last + p.every
}

// wake says what is due at now. pingNow counts as sent.
func (p *pinger) wake(now time.Duration) pingStep {
	switch {
	case now < p.deadline():
		return pingWait
	case p.sent-p.heard >= MaxUnanswered:
		return pingDead
	}
	p.sent++
	p.last = now
	return pingNow
}

// payload is that of the ping that goes out now.
func (p *pinger) payload() []byte { return strconv.AppendUint(nil, p.sent, 10) }

// pong takes what a pong holds. One that answers no ping of ours is allowed, and answers nothing (RFC 6455 5.5.3).
func (p *pinger) pong(payload []byte) {
	n, err := strconv.ParseUint(string(payload), 10, 64)
	if err == nil && n > p.heard && n <= p.sent {
		p.heard = n
	}
}
