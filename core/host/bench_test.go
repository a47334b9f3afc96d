//go:build linux

package host

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/conform-dev/conform/core/plugin/wire"
	"github.com/conform-dev/conform/core/transport"
)

const benchDoc = 300 // bytes; what an event of the reference traffic has

// burst makes up documents as fast as it may: no server, so that the boundary alone is measured.
type burst struct{ described }

func (burst) Open(ctx context.Context, a transport.Attempt, to transport.Sink) error {
	n, _ := strconv.Atoi(a.Query.Where)
	doc := make([]byte, benchDoc)
	for range n {
		if err := to.Document(transport.Document{JSON: doc}); err != nil {
			return err
		}
	}
	return to.Signal(transport.Signal{Kind: transport.Ended, Cause: transport.ConnectionLost})
}

// ticks sends single documents that hold the time of their sending, one to three milliseconds apart.
type ticks struct{ described }

func (ticks) Open(ctx context.Context, a transport.Attempt, to transport.Sink) error {
	n, _ := strconv.Atoi(a.Query.Where)
	doc := make([]byte, benchDoc)
	for i := range n {
		time.Sleep(time.Duration(1+i%3) * time.Millisecond)
		binary.LittleEndian.PutUint64(doc, uint64(monotonic()))
		if err := to.Document(transport.Document{JSON: doc}); err != nil {
			return err
		}
	}
	return to.Signal(transport.Signal{Kind: transport.Ended, Cause: transport.ConnectionLost})
}

// monotonic is a clock that all processes of the machine share.
func monotonic() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(err)
	}
	return ts.Nano()
}

// rawSender is the yardstick's other process: the same documents in packed batches over a bare unix socket.
func rawSender(socket string, n int) {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	doc := make([]byte, benchDoc)
	batch := make([]byte, 0, 2*wire.MaxBatchEvents*benchDoc)
	for sent := 0; sent < n; {
		batch = batch[:4]
		for i := 0; i < wire.MaxBatchEvents && sent < n; i++ {
			batch = binary.AppendUvarint(batch, benchDoc)
			batch = append(batch, doc...)
			sent++
		}
		binary.LittleEndian.PutUint32(batch, uint32(len(batch)-4))
		if _, err := conn.Write(batch); err != nil {
			panic(err)
		}
	}
}

// runRaw receives n documents from a rawSender and gives the time from the first byte to the last.
func runRaw(b *testing.B, n int) time.Duration {
	socket := filepath.Join(b.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	cmd := exec.Command(mustSelf("x").Path, "rogue", "raw", socket+":"+strconv.Itoa(n))
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	defer cmd.Wait()
	conn, err := l.Accept()
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	in := bufio.NewReaderSize(conn, wire.MaxBatchBytes)
	begin := time.Now()
	var head [4]byte
	buf := make([]byte, wire.MaxBatchBytes)
	for got := 0; got < n; {
		if _, err := io.ReadFull(in, head[:]); err != nil {
			b.Fatal(err)
		}
		batch := buf[:binary.LittleEndian.Uint32(head[:])]
		if _, err := io.ReadFull(in, batch); err != nil {
			b.Fatal(err)
		}
		for len(batch) > 0 {
			size, used := binary.Uvarint(batch)
			batch = batch[used+int(size):]
			got++
		}
	}
	return time.Since(begin)
}

// counter is the cheapest sink.
type counter struct{ n int }

func (c *counter) Document(transport.Document) error { c.n++; return nil }
func (c *counter) Signal(transport.Signal) error     { return nil }

// BenchmarkBoundary is the rate of 300-byte documents from a plugin process to a sink of the host, with mutual TLS, and its ratio to packed
// batches over a bare unix socket in the same run. The machine varies; the ratio says whether the boundary wastes anything.
func BenchmarkBoundary(b *testing.B) {
	p, _ := startT(b, mustSelf("burst"), standard, time.Now)
	b.SetBytes(benchDoc)
	b.ReportAllocs()
	b.ResetTimer()
	to := &counter{}
	begin := time.Now()
	if err := p.Open(context.Background(), transport.Attempt{Query: transport.Query{Where: strconv.Itoa(b.N)}}, to); err != nil || to.n != b.N {
		b.Fatal(to.n, err)
	}
	took := time.Since(begin)
	b.StopTimer()
	raw := runRaw(b, b.N)
	b.ReportMetric(float64(b.N)/took.Seconds(), "events/s")
	b.ReportMetric(float64(b.N)/raw.Seconds(), "raw-events/s")
	b.ReportMetric(raw.Seconds()/took.Seconds(), "ratio-to-raw")
}

// latencies is a sink that notes how old each document is.
type latencies struct{ ns []int64 }

func (l *latencies) Document(d transport.Document) error {
	l.ns = append(l.ns, monotonic()-int64(binary.LittleEndian.Uint64(d.JSON)))
	return nil
}
func (l *latencies) Signal(transport.Signal) error { return nil }

// BenchmarkLatency is the age of a single document when it reaches the sink, on an idle connection with mutual TLS.
func BenchmarkLatency(b *testing.B) {
	p, _ := startT(b, mustSelf("ticks"), standard, time.Now)
	to := &latencies{}
	b.ResetTimer()
	if err := p.Open(context.Background(), transport.Attempt{Query: transport.Query{Where: strconv.Itoa(b.N)}}, to); err != nil {
		b.Fatal(err)
	}
	slices.Sort(to.ns)
	b.ReportMetric(float64(to.ns[len(to.ns)/2])/1e3, "p50-µs")
	b.ReportMetric(float64(to.ns[len(to.ns)*99/100])/1e3, "p99-µs")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkStart is the time from exec to a described plugin, and its orderly end.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		p, err := Start(context.Background(), mustSelf("burst"))
		if err != nil {
			b.Fatal(err)
		}
		p.Close()
	}
}
