// Package socket runs a server of github.com/gorilla/websocket and follows it as any program would that embeds conform.
package socket

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

const (
	epoch = "incidents-v7"
	last  = 40 // the feed: a snapshot at 1, then deltas to here
)

// leaving is how a server ends a connection.
type leaving struct {
	after int    // the sequence behind which it does
	code  int    // close code; 0: an empty close frame; -1: the TCP connection ends without a close frame
	text  string // reason
}

// server is gorilla's side of one test.
type server struct {
	t         testing.TB
	deflate   bool
	fragments int // bytes of a fragment; 0: one frame each
	note      int // bytes of a text in each event, so that messages are large
	binary    bool
	leave     []leaving // of the first connections, in order; later ones stay to the end of the feed
	mu        sync.Mutex
	asked     []string // the cursor of each connection
	protocol  []string // the subprotocol of each connection
	deflated  []bool
	pongs     int
	closed    []int // the code that the follower closed with
	sent      []string
	pinged    int
	bytes     atomic.Int64  // that went over the network
	plain     int64         // of the documents
	consumed  chan int      // sequences, as the application takes them
	ping      chan struct{} // closed at the first ping of ours; nil: nobody waits for one
}

func (s *server) start() *httptest.Server {
	h := httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	h.Listener = counted{h.Listener, &s.bytes}
	h.Start()
	s.t.Cleanup(h.Close)
	return h
}

// counted counts what is written to a connection.
type counted struct {
	net.Listener
	n *atomic.Int64
}

func (l counted) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return counting{c, l.n}, err
}

type counting struct {
	net.Conn
	n *atomic.Int64
}

func (c counting) Write(b []byte) (int, error) {
	c.n.Add(int64(len(b)))
	return c.Conn.Write(b)
}

func document(seq, note int) []byte {
	head := fmt.Sprintf(`"eventId":"e%d","sequence":%d,"cursor":"c-%d"`, seq, seq, seq)
	row := fmt.Sprintf(`[{"id":"pump-%d","version":%d,"feature":{"state":"é€😀","note":%q}}]`, seq%3, seq, strings.Repeat("wörds ", note/7))
	if seq == 1 {
		return fmt.Appendf(nil, `{"type":"snapshot",%s,"features":%s}`, head, row)
	}
	return fmt.Appendf(nil, `{"type":"delta",%s,"upserts":%s}`, head, row)
}

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	up := websocket.Upgrader{EnableCompression: s.deflate, Subprotocols: []string{"conform.v1"}, WriteBufferSize: s.fragments}
	conn, err := up.Upgrade(w, r, nil)
	if err != nil {
		s.t.Errorf("upgrade: %v", err)
		return
	}
	defer conn.Close()
	cursor := r.URL.Query().Get("cursor")
	s.mu.Lock()
	n := len(s.asked)
	s.asked, s.protocol = append(s.asked, cursor), append(s.protocol, conn.Subprotocol())
	s.deflated = append(s.deflated, strings.Contains(r.Header.Get("Sec-WebSocket-Extensions"), "permessage-deflate"))
	s.mu.Unlock()
	heard := make(chan struct{})
	pong := make(chan string, 1)
	conn.SetPongHandler(func(text string) error {
		s.mu.Lock()
		s.pongs++
		s.mu.Unlock()
		pong <- text
		return nil
	})
	ping := conn.PingHandler()
	conn.SetPingHandler(func(text string) error {
		s.mu.Lock()
		if s.pinged++; s.pinged == 1 && s.ping != nil {
			close(s.ping)
		}
		s.mu.Unlock()
		return ping(text)
	})
	go func() { // gorilla answers pings and closes while somebody reads
		defer close(heard)
		for {
			if _, _, err := conn.ReadMessage(); err != nil {
				if e, is := err.(*websocket.CloseError); is {
					s.mu.Lock()
					s.closed = append(s.closed, e.Code)
					s.mu.Unlock()
				}
				return
			}
		}
	}()
	from := 0
	if cursor != "" {
		from, _ = strconv.Atoi(strings.TrimPrefix(cursor, "c-"))
	}
	s.write(conn, fmt.Appendf(nil, `{"type":"status","status":"connected","streamEpoch":%q,"headSequence":%d,"resumed":%t}`, epoch, last, cursor != ""))
	end := leaving{after: last + 1}
	if n < len(s.leave) {
		end = s.leave[n]
	}
	for seq := from + 1; seq <= last; seq++ {
		if seq%10 == 0 { // it waits for the answer, so an answer that does not come shows
			conn.WriteControl(websocket.PingMessage, []byte(strconv.Itoa(seq)), time.Now().Add(time.Minute))
			select {
			case text := <-pong:
				if text != strconv.Itoa(seq) {
					s.t.Errorf("pong %q for ping %d", text, seq)
				}
			case <-heard:
				return
			}
		}
		if seq == last && s.ping != nil {
			<-s.ping
		}
		s.write(conn, document(seq, s.note))
		if seq == end.after {
			s.end(conn, end, heard)
			return
		}
	}
	<-heard
}

// end leaves once everything sent was consumed: what a refusal finds waiting is not handed on, and would make the test a matter of luck.
func (s *server) end(conn *websocket.Conn, l leaving, heard chan struct{}) {
	for <-s.consumed != l.after {
	}
	switch l.code {
	case -1:
		return
	case 0:
		conn.WriteControl(websocket.CloseMessage, nil, time.Now().Add(time.Minute))
	default:
		conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(l.code, l.text), time.Now().Add(time.Minute))
	}
	<-heard
}

// write sends one message; gorilla cuts it into frames of its write buffer's size.
func (s *server) write(conn *websocket.Conn, doc []byte) {
	kind := websocket.TextMessage
	if s.binary {
		kind = websocket.BinaryMessage
	}
	if s.fragments == 0 {
		conn.WriteMessage(kind, doc)
	} else if w, err := conn.NextWriter(kind); err == nil {
		w.Write(doc)
		w.Close()
	}
	var is struct{ EventID string }
	s.mu.Lock()
	s.plain += int64(len(doc))
	s.mu.Unlock()
	if _ = json.Unmarshal(doc, &is); is.EventID != "" {
		s.mu.Lock()
		s.sent = append(s.sent, is.EventID)
		s.mu.Unlock()
	}
}
