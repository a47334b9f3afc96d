package plugin

import (
	"context"
	"errors"
	"io"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/conform-dev/conform/core/plugin/wire"
	pb "github.com/conform-dev/conform/core/plugin/wire/transportv1"
	"github.com/conform-dev/conform/core/transport"
)

// served is the one entry of the plugin set: it registers the service and nothing else.
type served struct {
	goplugin.NetRPCUnsupportedPlugin
	transport transport.Transport
}

// GRPCServer registers the transport with the process's gRPC server.
func (p *served) GRPCServer(_ *goplugin.GRPCBroker, s *grpc.Server) error {
	pb.RegisterTransportServer(s, &server{transport: p.transport})
	return nil
}

// GRPCClient is the host's side, which core/host has for itself.
func (p *served) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.New("a plugin is no client of itself")
}

// server is conform.transport.v1.Transport over a transport.
type server struct {
	pb.UnimplementedTransportServer
	transport transport.Transport
}

// Describe answers with the transport's own description, checked as the host will check it.
func (s *server) Describe(ctx context.Context, _ *pb.DescribeRequest) (*pb.Description, error) {
	d, err := s.transport.Describe(ctx)
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	out, err := wire.FromDescriptor(d)
	if err != nil {
		return nil, status.Error(codes.Internal, "descriptor: "+err.Error())
	}
	return out, nil
}

// Open runs one connection.
func (s *server) Open(stream grpc.BidiStreamingServer[pb.HostFrame, pb.PluginFrame]) error {
	first, err := stream.Recv()
	if errors.Is(err, io.EOF) {
		return status.Error(codes.InvalidArgument, "the host hung up before an open frame")
	}
	if err != nil {
		return err
	}
	attempt, err := wire.ToAttempt(first)
	if err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	// The transport's context ends with the call, and when the sender failed: a transport that is waiting for its server would
	// otherwise learn of it only with the next event.
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	to := newSink(ctx, stream.SendMsg, cancel)
	err = s.transport.Open(ctx, attempt, to)
	final, sendErr := to.finish()
	switch {
	case stream.Context().Err() != nil:
		return status.FromContextError(stream.Context().Err()).Err()
	case sendErr != nil:
		return sendErr
	case err != nil:
		return status.Error(codes.Internal, err.Error())
	case !final:
		return status.Error(codes.Internal, "the transport returned without a final signal")
	}
	return nil
}
