package fleet

import (
	"slices"
	"strconv"
	"strings"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/simulator"
)

// stream is one open wake stream.
type stream struct {
	conn     Conn
	n        uint32 // the request that opened it
	identity string
	bare     bool // HEAD: it holds a place and gets no byte
	queued   int  // bytes that the driver still holds
	over     bool
}

// Types of sent records.
const (
	sentRetry     = "retry"
	sentState     = "state"
	sentWake      = "wake"
	sentHeartbeat = "heartbeat"
	sentRaw       = "raw"
)

func (s *Server) stream(c Conn) *stream {
	for _, st := range s.streams {
		if st.conn == c {
			return st
		}
	}
	return nil
}

// all is a copy: what is done to streams may end them.
func (s *Server) all() []*stream { return slices.Clone(s.streams) }

// held counts the streams of identity.
func (s *Server) held(identity string) (n int) {
	for _, st := range s.streams {
		if st.identity == identity {
			n++
		}
	}
	return n
}

// identities counts those that have a stream.
func (s *Server) identities() int {
	seen := map[string]bool{}
	for _, st := range s.streams {
		seen[st.identity] = true
	}
	return len(seen)
}

// open starts a stream: the head, the hint and one state frame, which counts the identities before this one. A stream that cannot
// take them is destroyed and never registered.
func (s *Server) open(c Conn, r *Request, identity string) {
	st := &stream{conn: c, n: s.requests, identity: identity, bare: r.Method == "HEAD"}
	if !st.bare {
		h := simulator.Header{"Content-Type": {"text/event-stream"}, "Cache-Control": {"no-cache, no-transform"},
			"Connection": {"keep-alive"}, "X-Accel-Buffering": {"no"}}
		s.share(h, first(r.Header, "Origin"))
		s.out = append(s.out, simulator.Output{Conn: c, Head: &simulator.Head{Status: 200, Header: h}})
	}
	if !s.put(st, sentRetry, s.hint(), event.NoSeq, "") || !s.put(st, sentState, s.frame("state", s.state(identity)), event.NoSeq, "") {
		return
	}
	s.streams = append(s.streams, st)
	if s.beat == 0 {
		s.beat = s.now.Mono + s.opt.Heartbeat
	}
}

// put hands bytes to the network; false if the stream was destroyed instead, since it already owes more than the bound. A silent
// stream gets nothing, and is not told so.
func (s *Server) put(st *stream, what string, b []byte, seq event.Seq, id string) bool {
	if st.over {
		return false
	}
	if st.queued > s.opt.Buffer {
		s.drop(st, "buffer")
		return false
	}
	if st.bare || what != sentRetry && what != sentState && (s.silent[""] || s.silent[st.identity]) {
		return true
	}
	st.queued += len(b)
	s.out = append(s.out, simulator.Output{Conn: st.conn, Bytes: b})
	s.record(trace.Record{Kind: trace.ServerSent, Epoch: st.n, Type: what, Seq: seq, ID: id})
	return true
}

// drop frees the place of st. How it ends: eof, cut and reset are ours, gone is the client's, buffer is a cut because of the bound.
func (s *Server) drop(st *stream, how string) {
	if st.over {
		return
	}
	st.over = true
	s.streams = slices.DeleteFunc(s.streams, func(x *stream) bool { return x == st })
	detail := how
	switch how {
	case "gone":
	case "buffer":
		detail = "cut: more than the bound was waiting"
		s.out = append(s.out, simulator.Output{Conn: st.conn, Close: &simulator.Close{Kind: simulator.Cut, Now: true}})
	default:
		s.out = append(s.out, simulator.Output{Conn: st.conn, Close: &simulator.Close{Kind: simulator.CloseKind(how)}})
	}
	s.record(trace.Record{Kind: trace.ServerClosed, Epoch: st.n, Detail: detail, Seq: event.NoSeq})
}

// state is the data of the state frame for identity, as things stand (fleet facts 2.1).
func (s *Server) state(identity string) string {
	pushed := "null"
	if s.pushed >= 0 {
		pushed = strconv.FormatInt(s.pushed, 10)
	}
	at := slices.IndexFunc(s.routes, func(r route) bool { return r.identity == identity })
	b := []byte(`{"armed":` + strconv.FormatBool(s.armed) + `,"reason":` + quoted(s.reason) + `,"lastPushAt":` + pushed +
		`,"connectedIdentities":` + strconv.Itoa(s.identities()) + `,"armedForViewer":` + strconv.FormatBool(at >= 0))
	if at >= 0 {
		b = append(b, `,"subscriptionId":`+quoted(s.routes[at].id)...)
	}
	return string(append(b, '}'))
}

func (s *Server) hint() []byte {
	return s.lines("retry: " + strconv.FormatInt(s.opt.Retry.Milliseconds(), 10))
}

func (s *Server) frame(name, data string) []byte { return s.lines("event: "+name, "data: "+data) }

func (s *Server) comment(text string) []byte { return s.lines(":" + text) }

// lines is one frame in the dialect that was asked for. JSON has no line end in it, so data is always one line.
func (s *Server) lines(lines ...string) []byte {
	end := "\n"
	if s.opt.Dialect == CRLF {
		end = "\r\n"
	}
	return []byte(strings.Join(lines, end) + end + end)
}
