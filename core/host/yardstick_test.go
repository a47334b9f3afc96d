//go:build linux

package host

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/plugin/wire"
	pb "github.com/conform-dev/conform/core/plugin/wire/transportv1"
)

// The yardstick: the same events in the tightest form that is still decoded into the same values, over a bare unix socket. No
// gRPC, no TLS, no check of what came.

// appendPacked appends an event as kind, flags, sequence plus one, five texts and the document, lengths as varints.
func appendPacked(b []byte, ev *event.Event) []byte {
	b = append(b, byte(ev.Kind), 0)
	b = binary.AppendUvarint(b, uint64(ev.Pos.Seq+1))
	for _, s := range [...]string{ev.ID, ev.Pos.Cursor, ev.Pos.Watermark, ev.Pos.Timestamp, ev.Pos.DeltaToken} {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	return append(binary.AppendUvarint(b, uint64(len(ev.Payload))), ev.Payload...)
}

var errPacked = errors.New("damaged batch")

// packed decodes batches. Like a Frame it makes one buffer and one string per batch.
type packed struct{ events []event.Event }

func (p *packed) decode(b []byte) error {
	p.events = p.events[:0]
	text := string(b)
	for at := 0; at < len(b); {
		p.events = append(p.events, event.Event{Kind: event.Kind(b[at])})
		ev := &p.events[len(p.events)-1]
		at += 2
		seq, n := binary.Uvarint(b[at:])
		if n <= 0 {
			return errPacked
		}
		at += n
		ev.Pos.Seq = event.Seq(seq) - 1
		for i, to := range [...]*string{&ev.ID, &ev.Pos.Cursor, &ev.Pos.Watermark, &ev.Pos.Timestamp, &ev.Pos.DeltaToken, nil} {
			size, n := binary.Uvarint(b[at:])
			if n <= 0 || size > uint64(len(b)-at-n) {
				return errPacked
			}
			at += n
			end := at + int(size)
			if i < 5 {
				*to = text[at:end]
			} else {
				ev.Payload = b[at:end:end]
			}
			at = end
		}
	}
	return nil
}

// packedSender is the other process: it sends as many events as it is asked for, again and again.
func packedSender(socket string) {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		panic(err)
	}
	out := bufio.NewWriterSize(conn, 64<<10)
	payload := []byte(padding[:256])
	var batch []byte
	var ev event.Event
	for {
		var asked uint32
		if binary.Read(conn, binary.LittleEndian, &asked) != nil {
			return
		}
		for i := range int(asked) {
			stream(&ev, i, payload)
			batch = appendPacked(batch, &ev)
			if i%wire.MaxBatchEvents == wire.MaxBatchEvents-1 || i == int(asked)-1 {
				out.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(batch))))
				if _, err := out.Write(batch); err != nil {
					panic(err)
				}
				batch = batch[:0]
			}
		}
		if err := out.Flush(); err != nil {
			panic(err)
		}
	}
}

// yardstick starts a packedSender; run takes its events through a gate.
func yardstick(b *testing.B) (pid int, run func(n int) time.Duration) {
	socket := filepath.Join(b.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	cmd := exec.Command(mustSelf("x").Path, "rogue", "packed", socket)
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	conn, err := l.Accept()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		conn.Close()
		cmd.Wait()
	})
	in := bufio.NewReaderSize(conn, wire.MaxBatchBytes)
	var p packed
	return cmd.Process.Pid, func(n int) time.Duration {
		if err := binary.Write(conn, binary.LittleEndian, uint32(n)); err != nil {
			b.Fatal(err)
		}
		to := newGated(b)
		for to.n < n {
			if err := p.take(in, to); err != nil {
				b.Fatal(err)
			}
		}
		to.last = time.Now()
		return to.took(n)
	}
}

// take reads one batch and hands its events over.
func (p *packed) take(in io.Reader, to *gated) error {
	var size [4]byte
	if _, err := io.ReadFull(in, size[:]); err != nil {
		return err
	}
	batch := make([]byte, binary.LittleEndian.Uint32(size[:]))
	if _, err := io.ReadFull(in, batch); err != nil {
		return err
	}
	if err := p.decode(batch); err != nil {
		return err
	}
	for i := range p.events {
		if err := to.Event(&p.events[i]); err != nil {
			return err
		}
	}
	return nil
}

// stockStream gives raw documents with generated code only, in full batches: what a plugin without the SDK gets from the host.
func stockStream(stream grpc.BidiStreamingServer[pb.HostFrame, pb.PluginFrame], n int) error {
	var batch []*pb.Event
	for i := range n {
		batch = append(batch, &pb.Event{Document: document(nil, i)})
		if len(batch) == wire.MaxBatchEvents || i == n-1 {
			if err := stream.Send(events(batch...)); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	return stream.Send(&pb.PluginFrame{Frame: &pb.PluginFrame_Signal{Signal: &pb.Signal{Kind: pb.Signal_ENDED, Cause: pb.Cause_CONNECTION_LOST}}})
}
