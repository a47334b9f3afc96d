package decoder

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	peer "github.com/tmaxmax/go-sse"

	"github.com/conform-dev/conform/plugins/sse"
)

const (
	events     = 20_000
	eventBytes = 300
	readBytes  = 32 << 10 // what the driver of plugins/sse reads at a time
)

// stream is n events of 300 bytes each, with an id, a name and one data line of JSON.
func stream(n int) []byte {
	var b bytes.Buffer
	for i := range n {
		head := fmt.Sprintf("id: incidents-v7:%09d\nevent: delta\ndata: ", i)
		body := fmt.Sprintf(`{"type":"delta","eventId":"e%09d","sequence":%d,"upserts":[{"id":"pump-%d","version":%d,"feature":{"note":"`, i, i, i%100, i)
		const tail = `"}}]}` + "\n\n"
		b.WriteString(head + body + strings.Repeat("x", eventBytes-len(head)-len(body)-len(tail)) + tail)
	}
	return b.Bytes()
}

// subject reads a whole stream and answers what it saw of it: how many events, and the bytes of their data, names and ids.
// Both figures need every event, so that none of the work can be left out.
type subject struct {
	name string
	read func(io.Reader) (n, size int, err error)
}

// view takes the events as the decoder gives them out, valid until the next call.
var view = subject{"conform, valid until the next call", func(r io.Reader) (n, size int, err error) {
	err = decode(r, func(b sse.Block) {
		n++
		size += len(b.Data) + len(b.Event) + len(b.ID)
	})
	return n, size, err
}}

// copies keeps each event as strings of its own, which is the form that the library gives out.
var copies = subject{"conform, copied to strings", func(r io.Reader) (n, size int, err error) {
	var e peer.Event
	err = decode(r, func(b sse.Block) {
		e = keep(b)
		n++
		size += len(e.Data) + len(e.Type) + len(e.LastEventID)
	})
	return n, size, err
}}

// keep copies what a block points to, all of it into one allocation.
func keep(b sse.Block) peer.Event {
	var all strings.Builder
	all.Grow(len(b.ID) + len(b.Event) + len(b.Data))
	all.Write(b.ID)
	all.Write(b.Event)
	all.Write(b.Data)
	s := all.String()
	return peer.Event{LastEventID: s[:len(b.ID)], Type: s[len(b.ID) : len(b.ID)+len(b.Event)], Data: s[len(b.ID)+len(b.Event):]}
}

// library is go-sse as its manual shows it, with its default limit of 64 KiB.
var library = subject{"go-sse", func(r io.Reader) (n, size int, err error) {
	for e, err := range peer.Read(r, nil) {
		if err != nil {
			return n, size, err
		}
		n++
		size += len(e.Data) + len(e.Type) + len(e.LastEventID)
	}
	return n, size, nil
}}

var subjects = []subject{view, copies, library}

// decode drives conform's decoder with its defaults: a limit of 16 MiB, and repair of what is no UTF-8.
func decode(r io.Reader, each func(sse.Block)) error {
	d, buf := sse.NewDecoder(0), make([]byte, readBytes)
	for {
		n, err := r.Read(buf)
		d.Feed(buf[:n])
		for b, ok := d.Next(); ok; b, ok = d.Next() {
			switch b.Kind {
			case sse.EventBlock:
				each(b)
			case sse.TooLarge:
				return fmt.Errorf("too large at byte %d", b.At)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// TestSameEvents: the subjects of the comparison see the same events; a faster one that sees less would win nothing.
func TestSameEvents(t *testing.T) {
	all := stream(1000)
	if len(all) != 1000*eventBytes {
		t.Fatalf("%d bytes", len(all))
	}
	var theirs []peer.Event
	for e, err := range peer.Read(bytes.NewReader(all), nil) {
		if err != nil {
			t.Fatal(err)
		}
		theirs = append(theirs, e)
	}
	i := 0
	err := decode(bytes.NewReader(all), func(b sse.Block) {
		if got := keep(b); i >= len(theirs) || got != theirs[i] {
			t.Fatalf("event %d: %+v", i, got)
		}
		i++
	})
	if err != nil || i != 1000 || len(theirs) != 1000 {
		t.Fatalf("%d events, the library saw %d, error %v", i, len(theirs), err)
	}
	n, size, err := library.read(bytes.NewReader(all))
	for _, s := range subjects {
		gotN, gotSize, gotErr := s.read(bytes.NewReader(all))
		if gotN != n || gotSize != size || gotErr != nil || err != nil {
			t.Errorf("%s: %d events, %d bytes, error %v; want %d, %d", s.name, gotN, gotSize, gotErr, n, size)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	all := stream(events)
	for _, s := range subjects {
		b.Run(s.name, func(b *testing.B) {
			b.SetBytes(int64(len(all)))
			b.ReportAllocs()
			for b.Loop() {
				if n, _, err := s.read(bytes.NewReader(all)); n != events || err != nil {
					b.Fatal(n, err)
				}
			}
			b.ReportMetric(events*float64(b.N)/float64(b.Elapsed().Microseconds()), "Mevents/s")
		})
	}
}
