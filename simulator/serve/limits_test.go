package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/conform-dev/conform/simulator"
)

// dialed is a bare connection to s.
func (s *site) dialed() net.Conn {
	s.t.Helper()
	c, err := (&net.Dialer{}).DialContext(s.ctx, "tcp", s.Addr())
	s.must(err)
	s.t.Cleanup(func() { _ = c.Close() })
	_ = c.SetReadDeadline(time.Now().Add(longEnough)) // the test's own patience
	return c
}

// TestMaxSockets: one connection more than MaxSockets is closed unread, and room comes back.
func TestMaxSockets(t *testing.T) {
	s := open(t, simulator.Options{})
	ask := func(c net.Conn) error {
		if _, err := fmt.Fprintf(c, "GET /control/v1/state HTTP/1.1\r\nHost: %s\r\n\r\n", s.Addr()); err != nil {
			return err
		}
		_, err := io.ReadFull(c, make([]byte, 12))
		return err
	}
	var all []net.Conn
	for range MaxSockets {
		c := s.dialed()
		s.must(ask(c)) // accepted and counted
		all = append(all, c)
	}
	if err := ask(s.dialed()); err == nil {
		t.Error("one more was served")
	}
	_ = all[0].Close()
	for end := time.Now().Add(longEnough); ask(s.dialed()) != nil; { // nobody announces that net/http noticed
		if time.Now().After(end) {
			t.Fatal("no room came back")
		}
	}
}

// TestMaxStray: what a client sends behind its request is thrown away up to MaxStray, and is the end of the connection above.
func TestMaxStray(t *testing.T) {
	s := open(t, simulator.Options{})
	c := s.dialed()
	fmt.Fprintf(c, "GET /stream HTTP/1.1\r\nHost: %s\r\n\r\n", s.Addr())
	s.wait("the stream", func(st simulator.State) bool { return len(st.Connections) == 1 })
	_, err := c.Write(make([]byte, MaxStray))
	s.must(err)
	s.must(s.Publish(simulator.AutoUpsert, 1)) // still served
	for {
		b := make([]byte, 4096)
		n, err := c.Read(b)
		s.must(err)
		if strings.Contains(string(b[:n]), `"sequence":1,`) {
			break
		}
	}
	for err == nil { // more than the kernel holds between us
		_, err = c.Write(make([]byte, MaxStray))
	}
	s.wait("the client to be cut off", func(st simulator.State) bool { return len(st.Connections) == 0 })
}

// TestMaxHeaderBytes: a longer header is refused by the server, and the simulator never sees it.
func TestMaxHeaderBytes(t *testing.T) {
	s := open(t, simulator.Options{})
	for _, x := range []struct {
		bytes int
		want  string
	}{
		{MaxHeaderBytes - 1024, "HTTP/1.1 200 "},
		{MaxHeaderBytes + 8192, "HTTP/1.1 431 "}, // net/http adds 4 KiB of its own
	} {
		c := s.dialed()
		fmt.Fprintf(c, "GET /stream?mode=snapshot HTTP/1.1\r\nHost: %s\r\nX-Long: %s\r\n\r\n", s.Addr(), strings.Repeat("x", x.bytes))
		head := make([]byte, len(x.want))
		if _, err := io.ReadFull(c, head); err != nil || string(head) != x.want {
			t.Errorf("%d bytes: %q, %v", x.bytes, head, err)
		}
	}
	if n := s.State().Requests; n != 1 {
		t.Errorf("the simulator saw %d requests", n)
	}
}

// TestHeaderTimeout: a request whose head does not come ends its connection.
func TestHeaderTimeout(t *testing.T) {
	s := openWith(t, Options{HeaderTimeout: 50 * time.Millisecond})
	c := s.dialed()
	fmt.Fprintf(c, "GET /stream HTTP/1.1\r\nHost: ")
	if _, err := io.ReadAll(c); errors.Is(err, context.DeadlineExceeded) {
		t.Error("it was waited for")
	}
	if n := s.State().Requests; n != 0 {
		t.Errorf("the simulator saw %d requests", n)
	}
	for _, d := range []time.Duration{-1, CeilingHeaderTimeout + 1} {
		if _, err := Start(context.Background(), Options{HeaderTimeout: d}); err == nil || !strings.HasPrefix(err.Error(), "header timeout: ") {
			t.Errorf("%v: %v", d, err)
		}
	}
}
