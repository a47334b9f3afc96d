//go:build linux

package host

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/plugin"
	"github.com/conform-dev/conform/core/plugin/wire"
	pb "github.com/conform-dev/conform/core/plugin/wire/transportv1"
	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/plugins/sse"
)

// TestMain makes the test binary its own plugin and, for the orphan tests, its own host.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "host" {
		middleHost(os.Args[2])
		return
	}
	if len(os.Args) == 4 && os.Args[1] == "rogue" {
		rogue(os.Args[2], os.Args[3])
		return
	}
	if plugin.ServeArgs(os.Args[1:], map[string]func() transport.Transport{
		"script": func() transport.Transport { return script{} },
		"flood":  func() transport.Transport { return flood{} },
		"burst":  burst,
		"papers": papers,
		"ticks":  ticks,
		"sse":    sse.New,
		"mute":   func() transport.Transport { return mute{} },
	}) {
		return
	}
	os.Exit(m.Run())
}

var description = transport.Descriptor{
	Name: "test", Version: "1", Wire: "lines",
	Freshness: transport.Push, Order: transport.ServerSequence, Baseline: transport.BaselineSnapshot,
	Resume: []transport.Mode{transport.BySequence}, Vouch: transport.NoVouch,
	Options: []transport.Option{{Name: wire.OptionMaxEventBytes, Default: "16777216", Ceiling: wire.MaxDocument}},
}

type described struct{}

func (described) Describe(context.Context) (transport.Descriptor, error) { return description, nil }

// script is a transport that does what its server says, one command a line.
type script struct{ described }

func (script) Open(ctx context.Context, a transport.Attempt, to transport.Sink) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", a.Endpoint)
	if err != nil {
		return to.Signal(transport.Signal{Kind: transport.Ended, Cause: transport.ConnectionLost, Detail: "no server"})
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		verb, rest, _ := strings.Cut(lines.Text(), " ")
		if err := obey(verb, rest, a, to); err != nil {
			return err
		}
		if verb == "return" {
			return nil
		}
	}
	return to.Signal(transport.Signal{Kind: transport.Ended, Cause: transport.ConnectionLost})
}

func obey(verb, rest string, a transport.Attempt, to transport.Sink) error {
	switch verb {
	case "doc":
		return to.Document(transport.Document{JSON: []byte(rest), Cursor: "c" + rest, ID: "i" + rest})
	case "event":
		return to.Document(transport.Document{JSON: []byte(rest)})
	case "large":
		seq, size, _ := strings.Cut(rest, " ")
		head := `{"type":"delta","sequence":` + seq + `,"upserts":["`
		return to.Document(transport.Document{JSON: []byte(head + strings.Repeat("x", atoi(size)-len(head)-3) + `"]}`)})
	case "defect":
		return to.(transport.EventSink).Event(&event.Event{Fault: event.InvalidEvent, Detail: rest, Pos: event.NoPosition})
	case "size":
		n, _ := strconv.Atoi(rest)
		return to.Document(transport.Document{JSON: make([]byte, n)})
	case "open":
		return to.Signal(transport.Signal{Kind: transport.Open})
	case "beat":
		return to.Signal(transport.Signal{Kind: transport.Heartbeat, Detail: rest})
	case "cause":
		n, _ := strconv.Atoi(rest)
		return to.Signal(transport.Signal{Kind: transport.Ended, Cause: transport.Cause(n)})
	case "wake":
		if err := to.Signal(transport.Signal{Kind: transport.WakeStated, WakeState: &transport.WakeState{Reason: rest, HasReason: true, LastPushAt: -1}}); err != nil {
			return err
		}
		if err := to.Signal(transport.Signal{Kind: transport.Woken, Wake: &transport.Wake{SubscriptionID: "s", LogID: 7, Envelope: []byte(`{"note":"` + rest + `"}`)}}); err != nil {
			return err
		}
		return to.Signal(transport.Signal{Kind: transport.CaughtUp, CatchUp: &transport.CatchUp{State: transport.CatchUpFailed, Pending: -1, Watermark: 7, Reason: rest}})
	case "poll":
		if err := to.Signal(transport.Signal{Kind: transport.Recovering, Reason: event.CursorExpired}); err != nil {
			return err
		}
		if err := to.Signal(transport.Signal{Kind: transport.Refreshed, Position: event.Position{Seq: 3, DeltaToken: "d"}}); err != nil {
			return err
		}
		return to.Signal(transport.Signal{Kind: transport.Polled, Poll: &transport.PollReport{Interval: time.Minute, Seq: 3}})
	case "fail":
		return errors.New(rest)
	case "panic":
		panic(rest)
	case "go-panic":
		go panic(rest)
		select {}
	case "exit":
		n, _ := strconv.Atoi(rest)
		os.Exit(n)
	case "kill":
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "env":
		return to.Document(transport.Document{JSON: []byte(strings.Join(os.Environ(), "\n"))})
	case "stderr":
		fmt.Fprintln(os.NewFile(2, "stderr"), rest)
	case "print":
		fmt.Println(rest)
	case "fd1": // past the SDK, as a library in another language would
		syscall.Write(1, []byte(strings.Repeat(rest, 100_000)+"\n"))
	case "secret":
		fmt.Fprintf(os.NewFile(2, "stderr"), "sending %s: %s\n", a.Credential.Header, a.Credential.Value.Reveal())
	case "sync":
		// When so many signals were accepted, the sender has sent everything before them: the queue holds 64 items, and the
		// sender takes the next 64 when it is through with the last. The pause is for the socket.
		for range 2*wire.MaxBatchEvents + 1 {
			if err := to.Signal(transport.Signal{Kind: transport.Heartbeat}); err != nil {
				return err
			}
		}
		time.Sleep(50 * time.Millisecond)
		return os.WriteFile(rest, []byte("x"), 0o600)
	case "child":
		child := exec.Command("sleep", "600")
		child.Stderr = os.NewFile(2, "stderr")
		if err := child.Start(); err != nil {
			return err
		}
		return to.Document(transport.Document{JSON: []byte(strconv.Itoa(child.Process.Pid))})
	}
	return nil
}

// flood reads fixed-size documents as fast as it may.
type flood struct{ described }

func (flood) Open(ctx context.Context, a transport.Attempt, to transport.Sink) error {
	conn, err := net.Dial("tcp", a.Endpoint)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	size, _ := strconv.Atoi(a.Query.Where)
	doc := make([]byte, size)
	for in := bufio.NewReaderSize(conn, 64<<10); ; {
		if _, err := io.ReadFull(in, doc); err != nil {
			return to.Signal(transport.Signal{Kind: transport.Ended, Cause: transport.ConnectionLost})
		}
		if err := to.Document(transport.Document{JSON: doc}); err != nil {
			return err
		}
	}
}

// mute never describes itself.
type mute struct{}

func (mute) Describe(ctx context.Context) (transport.Descriptor, error) {
	<-ctx.Done()
	return transport.Descriptor{}, ctx.Err()
}

func (mute) Open(context.Context, transport.Attempt, transport.Sink) error { return nil }

// rogue is a plugin that does not use the SDK, or not as it should.
func rogue(kind, arg string) {
	switch kind {
	case "says":
		fmt.Println(arg)
		time.Sleep(time.Hour)
	case "floods":
		line := []byte(strings.Repeat("x", 1<<16))
		for {
			os.Stdout.Write(line)
		}
	case "dies":
		fmt.Fprintln(os.Stderr, "config: no such file")
		os.Exit(7)
	case "sleeps":
		os.WriteFile(arg, []byte(strconv.Itoa(os.Getpid())), 0o600)
		time.Sleep(time.Hour)
	case "packed":
		packedSender(arg)
	case "plain":
		if err := servePlain(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case "sdk":
		plugin.Serve(script{})
	case "serves":
		serveRogue(arg)
	}
}

// rogueServer sends what the SDK would refuse to send.
type rogueServer struct {
	pb.UnimplementedTransportServer
	goplugin.NetRPCUnsupportedPlugin
	what string
}

func (s *rogueServer) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, nil
}

func (s *rogueServer) GRPCServer(_ *goplugin.GRPCBroker, g *grpc.Server) error {
	pb.RegisterTransportServer(g, s)
	return nil
}

func (s *rogueServer) Describe(context.Context, *pb.DescribeRequest) (*pb.Description, error) {
	d, err := wire.FromDescriptor(description)
	if s.what == "no-name" {
		d.Name = ""
	}
	return d, err
}

func (s *rogueServer) Open(stream grpc.BidiStreamingServer[pb.HostFrame, pb.PluginFrame]) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	switch s.what {
	case "stock":
		return stockStream(stream, atoi(first.GetOpen().GetQuery().GetWhere()))
	case "huge":
		doc := make([]byte, 200<<20)
		return stream.Send(&pb.PluginFrame{Frame: &pb.PluginFrame_Batch{Batch: &pb.Batch{Events: []*pb.Event{{Document: doc}}}}})
	case "crashed":
		return stream.Send(&pb.PluginFrame{Frame: &pb.PluginFrame_Signal{Signal: &pb.Signal{Kind: pb.Signal_ENDED, Cause: 9}}})
	case "half":
		return nil
	case "lies":
		return stream.Send(events(&pb.Event{Kind: pb.Event_DELTA, Sequence: proto.Int64(-1), Document: []byte("{}")}))
	case "parts":
		if err := stream.Send(events(&pb.Event{DocumentBytes: 10})); err != nil {
			return err
		}
		return stream.Send(part(7, []byte("789")))
	case "claims":
		if err := stream.Send(events(&pb.Event{DocumentBytes: wire.DefaultDocument})); err != nil {
			return err
		}
		return stream.Send(part(0, []byte("789")))
	case "endless":
		err := stream.Send(events(&pb.Event{DocumentBytes: 1_000_000}))
		for at := int64(0); err == nil; at += wire.MaxPart {
			err = stream.Send(part(at, make([]byte, wire.MaxPart)))
		}
		return err
	case "deaf": // closes its socket and lives on
		os.Stderr.WriteString("cutting\n")
		for fd := 3; fd < 64; fd++ {
			syscall.Shutdown(fd, syscall.SHUT_RDWR)
		}
		time.Sleep(time.Hour)
	}
	return nil
}

func events(all ...*pb.Event) *pb.PluginFrame {
	return &pb.PluginFrame{Frame: &pb.PluginFrame_Batch{Batch: &pb.Batch{Events: all}}}
}

func part(offset int64, data []byte) *pb.PluginFrame {
	return &pb.PluginFrame{Frame: &pb.PluginFrame_Part{Part: &pb.Part{Offset: offset, Data: data}}}
}

func serveRogue(what string) {
	version := wire.ProtocolVersion
	if what == "version" {
		version = 2
	}
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig:  goplugin.HandshakeConfig{MagicCookieKey: wire.CookieKey, MagicCookieValue: wire.CookieValue},
		VersionedPlugins: map[int]goplugin.PluginSet{version: {wire.PluginName: &rogueServer{what: what}}},
		GRPCServer:       func(o []grpc.ServerOption) *grpc.Server { return grpc.NewServer(o...) },
		Logger:           hclog.New(&hclog.LoggerOptions{Level: hclog.Off}),
	})
}

// middleHost plays a host that the orphan tests kill. It prints the plugin's process id and waits.
func middleHost(endpoint string) {
	command := mustSelf("script")
	if file, ok := strings.CutPrefix(endpoint, "sleeps:"); ok {
		command.Args = []string{"rogue", "sleeps", file}
	}
	p, err := Start(context.Background(), command)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(p.PID())
	p.Open(context.Background(), transport.Attempt{Epoch: 1, Endpoint: endpoint}, &recorder{})
	time.Sleep(time.Hour)
}

func mustSelf(name string) Command {
	c, err := Self(name)
	if err != nil {
		panic(err)
	}
	return c
}

func rogueCommand(kind, arg string) Command {
	c := mustSelf("rogue-" + kind)
	c.Args = []string{"rogue", kind, arg}
	return c
}
