package websocket

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	coder "github.com/coder/websocket"
)

// benchMessages is n text messages of 300 bytes, as a server sends them.
func benchMessages(n int) []byte {
	var b bytes.Buffer
	for i := range n {
		head := fmt.Sprintf(`{"type":"delta","eventId":"e%09d","sequence":%d,"cursor":"incidents-v7:%d","upserts":[{"id":"pump-%d","version":%d,"feature":{"note":"`, i, i, i, i%100, i)
		tail := `"}}]}`
		b.Write([]byte{0x81, 126, 300 >> 8, 300 & 0xFF})
		b.WriteString(head + strings.Repeat("x", 300-len(head)-len(tail)) + tail)
	}
	return b.Bytes()
}

// recording is a connection on which a server sends recorded bytes, again and again. It has no network in it: both readers get the
// same bytes at the price of a copy.
type recording struct {
	net.Conn // never called
	all      []byte
	i        int
}

func (r *recording) Read(p []byte) (int, error) {
	if r.i == len(r.all) {
		r.i = 0
	}
	n := copy(p, r.all[r.i:])
	r.i += n
	return n, nil
}

func (r *recording) Write(p []byte) (int, error)      { return len(p), nil }
func (r *recording) Close() error                     { return nil }
func (r *recording) SetDeadline(time.Time) error      { return nil }
func (r *recording) SetReadDeadline(time.Time) error  { return nil }
func (r *recording) SetWriteDeadline(time.Time) error { return nil }

// peerReader is coder/websocket's client over a recording.
func peerReader(tb testing.TB, all []byte) *coder.Conn {
	tb.Helper()
	upgrade := roundTrip(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 101, Header: http.Header{
			"Upgrade": {"websocket"}, "Connection": {"Upgrade"}, "Sec-Websocket-Accept": {acceptFor(r.Header.Get("Sec-Websocket-Key"))},
		}, Body: &recording{all: all}}, nil
	})
	c, _, err := coder.Dial(tb.Context(), "ws://recorded", &coder.DialOptions{HTTPClient: &http.Client{Transport: upgrade}})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { c.CloseNow() })
	return c
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// ours reads n messages with the decoder, UTF-8 checked.
func ours(tb testing.TB, all []byte, n int) {
	in, d, buf := &recording{all: all}, NewDecoder(0, Deflate{}), make([]byte, readBytes)
	for found := 0; found < n; {
		k, _ := in.Read(buf)
		d.Feed(buf[:k])
		for f, ok := d.Next(); ok; f, ok = d.Next() {
			if f.Kind != TextMessage || len(f.Payload) != 300 {
				tb.Fatalf("%+v", f)
			}
			found++
		}
	}
}

// theirs reads n messages with the peer's Reader into one buffer. It does not look at UTF-8.
func theirs(tb testing.TB, c *coder.Conn, n int, buf []byte) {
	ctx := context.Background()
	for range n {
		_, r, err := c.Reader(ctx)
		if err != nil {
			tb.Fatal(err)
		}
		size := 0
		for {
			k, err := r.Read(buf[size:])
			size += k
			if err == io.EOF {
				break
			}
			if err != nil {
				tb.Fatal(err)
			}
		}
		if size != 300 {
			tb.Fatal(size)
		}
	}
}

// rates measures both in turn; the medians count.
func rates(tb testing.TB, messages, rounds int) (ourRate, peerRate float64) {
	all := benchMessages(2_000)
	peer, buf := peerReader(tb, all), make([]byte, 4<<10)
	ours(tb, all, messages)
	theirs(tb, peer, messages, buf)
	var a, c []time.Duration
	for range rounds {
		from := time.Now()
		ours(tb, all, messages)
		a = append(a, time.Since(from))
		from = time.Now()
		theirs(tb, peer, messages, buf)
		c = append(c, time.Since(from))
	}
	slices.Sort(a)
	slices.Sort(c)
	return float64(messages) / a[rounds/2].Seconds(), float64(messages) / c[rounds/2].Seconds()
}

// BenchmarkReceive reports how many messages a second the decoder takes, and as a ratio to coder/websocket's Reader on the same
// bytes: five rounds of each in turn.
func BenchmarkReceive(b *testing.B) {
	for b.Loop() {
		our, peer := rates(b, 100_000, 5)
		b.ReportMetric(our/1e6, "Mmessages/s")
		b.ReportMetric(peer/1e6, "coder-Mmessages/s")
		b.ReportMetric(our/peer, "x-coder")
	}
}

// TestReceiveRatio: twice the peer's rate is wanted. Both share what else the machine does, and the margin is several times that.
func TestReceiveRatio(t *testing.T) {
	if raceOn {
		t.Skip("the race detector measures itself")
	}
	const wanted = 2
	our, peer := rates(t, 20_000, 5)
	t.Logf("%.1f million messages a second, %.1f times the peer's rate; wanted %d", our/1e6, our/peer, wanted)
	if our/peer < wanted {
		t.Errorf("%.2f times the peer's rate, wanted %d", our/peer, wanted)
	}
}

// BenchmarkMachine is the same bytes through the whole machine, JSON included, as a ratio to the decoder alone.
func BenchmarkMachine(b *testing.B) {
	const messages = 100_000
	all := benchMessages(2_000)
	for b.Loop() {
		in, m, buf := &recording{all: all}, openMachine(), make([]byte, readBytes)
		from := time.Now()
		for found := 0; found < messages; {
			n, _ := in.Read(buf)
			m.Bytes(buf[:n])
			for out, ok := m.Take(); ok; out, ok = m.Take() {
				if out.Document != nil {
					found++
				}
			}
		}
		whole := time.Since(from)
		from = time.Now()
		ours(b, all, messages)
		b.ReportMetric(messages/whole.Seconds()/1e6, "Mmessages/s")
		b.ReportMetric(float64(whole)/float64(time.Since(from)), "x-decoder-time")
	}
}
