package sse

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/conform-dev/conform/core/transport"
)

// benchStream is n events of 300 bytes each, ids and names included.
func benchStream(n int) []byte {
	var b bytes.Buffer
	for i := range n {
		head := fmt.Sprintf("id: incidents-v7:%09d\nevent: delta\ndata: ", i)
		body := fmt.Sprintf(`{"type":"delta","eventId":"e%09d","sequence":%d,"upserts":[{"id":"pump-%d","version":%d,"feature":{"note":"`, i, i, i%100, i)
		tail := `"}}]}` + "\n\n"
		b.WriteString(head + body + strings.Repeat("x", 300-len(head)-len(body)-len(tail)) + tail)
	}
	return b.Bytes()
}

// BenchmarkDecode reports the decoder's rate, and as a ratio to a bare search for line ends over the same bytes in the same
// run: machines differ, the ratio does not.
func BenchmarkDecode(b *testing.B) {
	const events, chunk = 10_000, 32 << 10
	all := benchStream(events)
	bare := func() (lines int) {
		for rest := all; ; lines++ {
			i := bytes.IndexByte(rest, '\n')
			if i < 0 {
				return lines
			}
			rest = rest[i+1:]
		}
	}
	decode := func() (found int) {
		d := NewDecoder(0)
		for rest := all; len(rest) > 0; {
			n := min(chunk, len(rest))
			d.Feed(rest[:n])
			rest = rest[n:]
			for _, ok := d.Next(); ok; _, ok = d.Next() {
				found++
			}
		}
		return found
	}
	if decode() != events || bare() != 4*events {
		b.Fatal("wrong count")
	}
	b.SetBytes(int64(len(all)))
	b.ReportAllocs()
	var base time.Duration
	for b.Loop() {
		decode()
		b.StopTimer()
		from := time.Now()
		bare()
		base += time.Since(from)
		b.StartTimer()
	}
	b.ReportMetric(events*float64(b.N)*1e3/float64(b.Elapsed().Nanoseconds()), "Mevents/s")
	b.ReportMetric(float64(b.Elapsed())/float64(base), "x-bare-scan")
}

// BenchmarkMachine is the same stream through the whole transport machine, JSON included.
func BenchmarkMachine(b *testing.B) {
	const events, chunk = 10_000, 32 << 10
	all := benchStream(events)
	b.SetBytes(int64(len(all)))
	b.ReportAllocs()
	for b.Loop() {
		m := openMachine(nil)
		found := 0
		for rest := all; len(rest) > 0; {
			n := min(chunk, len(rest))
			m.Bytes(rest[:n])
			rest = rest[n:]
			for out, ok := m.Take(); ok; out, ok = m.Take() {
				if out.Document != nil {
					found++
				}
			}
		}
		if found != events {
			b.Fatalf("%d documents", found)
		}
	}
	b.ReportMetric(events*float64(b.N)/float64(b.Elapsed().Microseconds()), "Mevents/s")
}

// openMachine is a machine whose stream has begun.
func openMachine(options map[string]string) *Machine {
	m := NewMachine()
	m.Start(transport.Attempt{Endpoint: "http://127.0.0.1/stream", Query: transport.Query{SourceID: "s"}, Options: options})
	m.Take()
	m.Head(transport.Head{Status: 200, Header: transport.Header{"Content-Type": {"text/event-stream"}}})
	m.Take()
	return m
}
