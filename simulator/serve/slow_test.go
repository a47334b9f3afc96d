package serve

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// TestSlowBody: a control request whose body does not come is answered, and does not hold a connection for ever.
func TestSlowBody(t *testing.T) {
	s, err := Start(context.Background(), Options{BodyTimeout: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "POST /control/v1/publish HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{", s.Addr())
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Second)) // the test's own patience
	answer, _ := io.ReadAll(c)
	if text := string(answer); !strings.HasPrefix(text, "HTTP/1.1 408 ") || !strings.Contains(text, "body: not whole within 50ms") {
		t.Errorf("%q", text)
	}
	for _, d := range []time.Duration{-1, CeilingBodyTimeout + 1} {
		if _, err := Start(context.Background(), Options{BodyTimeout: d}); err == nil || !strings.HasPrefix(err.Error(), "body timeout: ") {
			t.Errorf("%v: %v", d, err)
		}
	}
}
