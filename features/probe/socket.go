package probe

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/conform-dev/conform/core/trace"
)

// MaxMessage is the longest message that the examiner takes, in bytes.
const MaxMessage = 16 << 20

// dial opens a socket, and writes down the answer to its upgrade; what comes on it is read as that of a stream is.
func (p *Probe) dial(ctx context.Context, q question) error {
	n, err := p.enter(&q)
	if err != nil {
		return err
	}
	request := &http.Request{Header: http.Header{}}
	if err := p.dress(request, &q); err != nil {
		return err
	}
	own, cancel := context.WithCancel(context.WithoutCancel(ctx)) // a socket outlives the step
	defer context.AfterFunc(ctx, cancel)()
	timer := time.AfterFunc(p.patience, cancel)
	c, response, err := websocket.Dial(own, "ws"+strings.TrimPrefix(p.target.Base, "http")+q.path,
		&websocket.DialOptions{HTTPClient: p.client, HTTPHeader: request.Header})
	timer.Stop()
	switch {
	case ctx.Err() != nil:
		cancel()
		return ctx.Err()
	case err != nil && response == nil:
		cancel()
		p.answered(n, "none", nil, p.closing(err))
		return nil
	case err != nil:
		defer cancel()
		body, _ := readBody(response.Body) // the library keeps the beginning of it
		p.answered(n, strconv.Itoa(response.StatusCode), response.Header, body)
		return nil
	}
	c.SetReadLimit(MaxMessage)
	p.answered(n, "101", response.Header, "")
	s := &stream{n: n, body: socketCloser{c}, cancel: cancel, done: make(chan struct{}), gate: make(chan struct{})}
	close(s.gate)
	p.run(s, func() error { return p.messages(own, s, c) })
	return nil
}

// socketCloser ends a socket without a farewell: a client that is gone says none.
type socketCloser struct{ c *websocket.Conn }

func (socketCloser) Read([]byte) (int, error) { return 0, io.EOF }

func (s socketCloser) Close() error { return s.c.CloseNow() }

// messages writes down each message as it comes, until the socket ends.
func (p *Probe) messages(ctx context.Context, s *stream, c *websocket.Conn) error {
	for {
		s.mu.Lock()
		gate := s.gate
		s.mu.Unlock()
		<-gate
		_, data, err := c.Read(ctx)
		if err != nil {
			if websocket.CloseStatus(err) >= 0 {
				return errors.Join(io.EOF, err)
			}
			return err
		}
		r := trace.New(trace.Examiner, trace.ExaminerHeard)
		r.Epoch, r.Type, r.Detail = uint32(s.n), "message", string(data)
		if kind, ok := textOf(p.target.Feed.Type, data); ok {
			r.Type = kind
		}
		r.ID, _ = textOf(p.target.Feed.ID, data)
		if k, ok := p.change(data); ok {
			r.Args = map[string]string{"change": strconv.FormatInt(k, 10)}
		}
		p.add(r)
	}
}
