package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/plugins/sse"
)

// stream is one open stream of the server, read by a goroutine of its own.
type stream struct {
	n      int
	body   io.ReadCloser
	cancel context.CancelFunc
	done   chan struct{}

	mu   sync.Mutex
	gone bool          // the examiner left
	gate chan struct{} // closed: read on
	shut bool
}

// Types of heard records. A block with an event field has its name for a type.
const (
	heardRetry   = "retry"
	heardComment = "comment"
)

// follow reads the stream of request n until it ends.
func (p *Probe) follow(n int, body io.ReadCloser, cancel context.CancelFunc) {
	s := &stream{n: n, body: body, cancel: cancel, done: make(chan struct{}), gate: make(chan struct{})}
	close(s.gate)
	p.run(s, func() error { return p.read(s) })
}

// run lets read take s until it ends.
func (p *Probe) run(s *stream, read func() error) {
	p.mu.Lock()
	p.streams[s.n] = s
	p.mu.Unlock()
	go func() {
		defer close(s.done)
		defer s.cancel()
		p.ended(s, read())
	}()
}

// read takes the stream apart as it comes.
func (p *Probe) read(s *stream) error {
	decoder := sse.NewDecoder(0)
	buffer := make([]byte, 4096)
	for {
		s.mu.Lock()
		gate := s.gate
		s.mu.Unlock()
		<-gate
		n, err := s.body.Read(buffer)
		decoder.Feed(buffer[:n])
		for {
			b, ok := decoder.Next()
			if !ok {
				break
			}
			p.heard(s.n, &b)
		}
		if err != nil {
			return err
		}
	}
}

func (p *Probe) heard(n int, b *sse.Block) {
	r := trace.New(trace.Examiner, trace.ExaminerHeard)
	r.Epoch = uint32(n)
	switch b.Kind {
	case sse.EventBlock:
		r.Type, r.Detail = cmp.Or(string(b.Event), "message"), string(b.Data)
		if k, ok := p.change(b.Data); ok {
			r.Args = map[string]string{"change": strconv.FormatInt(k, 10)}
		}
		if b.OwnID {
			r.ID = string(b.ID)
		}
	case sse.RetryLine:
		r.Type, r.Detail = heardRetry, strconv.FormatInt(b.Retry, 10)
	case sse.CommentLine:
		r.Type = heardComment
	default:
		return
	}
	p.add(r)
}

func (p *Probe) ended(s *stream, err error) {
	s.mu.Lock()
	gone := s.gone
	s.mu.Unlock()
	r := trace.New(trace.Examiner, trace.ExaminerEnded)
	r.Epoch = uint32(s.n)
	switch {
	case gone:
		r.Detail = "left"
	case errors.Is(err, io.EOF):
		r.Detail = "eof"
	default:
		r.Detail = "broken"
	}
	p.add(r)
}

// leave hangs up and waits until nothing reads any more.
func (s *stream) leave() {
	s.mu.Lock()
	s.gone = true
	s.mu.Unlock()
	s.cancel()
	s.resume()
	<-s.done
	_ = s.body.Close()
}

// pause makes the reader stand still after what it is about to read; resume lets it go on.
func (s *stream) pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.shut {
		s.gate, s.shut = make(chan struct{}), true
	}
}

func (s *stream) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		close(s.gate)
		s.shut = false
	}
}

// open is the stream of request n, nil if that was refused. An error says that there was no such request.
func (p *Probe) open(n int) (*stream, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n < 1 || n > p.asked {
		return nil, fmt.Errorf("there is no request %d", n)
	}
	return p.streams[n], nil
}
