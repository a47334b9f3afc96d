//go:build linux

package host

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/conform-dev/conform/core/plugin/wire"
	pb "github.com/conform-dev/conform/core/plugin/wire/transportv1"
	"github.com/conform-dev/conform/core/transport"
)

// servePlain is a plugin by the steps of docs/plugins.md, "In other languages": stock gRPC and generated code, neither go-plugin nor our
// SDK, no stdio service and no broker.
func servePlain() error {
	if os.Getenv("CONFORM_PLUGIN") != "conform.transport" || !strings.Contains(","+os.Getenv("PLUGIN_PROTOCOL_VERSIONS")+",", ",1,") {
		return fmt.Errorf("not started by conform")
	}
	config, der, err := plainTLS()
	if err != nil {
		return err
	}
	socket := filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	s := grpc.NewServer(grpc.Creds(credentials.NewTLS(config)), grpc.MaxRecvMsgSize(16<<20))
	pb.RegisterTransportServer(s, plainTransport{})
	checks := health.NewServer()
	checks.SetServingStatus("plugin", grpc_health_v1.HealthCheckResponse_SERVING)
	grpc_health_v1.RegisterHealthServer(s, checks)
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: "plugin.GRPCController", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Shutdown", Handler: func(_ any, _ context.Context, read func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			go s.Stop()
			return &emptypb.Empty{}, read(&emptypb.Empty{})
		}}},
	}, struct{}{})
	fmt.Printf("1|1|unix|%s|grpc|%s\n", socket, base64.RawStdEncoding.EncodeToString(der))
	return s.Serve(l)
}

// plainTLS makes the certificate and trusts the host's only.
func plainTLS() (*tls.Config, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, nil, err
	}
	host := x509.NewCertPool()
	if !host.AppendCertsFromPEM([]byte(os.Getenv("PLUGIN_CLIENT_CERT"))) {
		return nil, nil, fmt.Errorf("no certificate of the host")
	}
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		ClientAuth:   tls.RequireAndVerifyClientCert, ClientCAs: host,
	}, der, nil
}

type plainTransport struct {
	pb.UnimplementedTransportServer
}

func (plainTransport) Describe(context.Context, *pb.DescribeRequest) (*pb.Description, error) {
	return wire.FromDescriptor(description)
}

func (plainTransport) Open(stream grpc.BidiStreamingServer[pb.HostFrame, pb.PluginFrame]) error {
	open, err := stream.Recv()
	if err != nil {
		return err
	}
	for _, f := range []*pb.PluginFrame{
		{Frame: &pb.PluginFrame_Signal{Signal: &pb.Signal{Kind: pb.Signal_OPEN}}},
		events(&pb.Event{Document: []byte("1")}, &pb.Event{Document: []byte(open.GetOpen().GetEndpoint()), Cursor: "c"}),
		// What it captured itself: the host believes that, and does not look into the documents.
		events(
			&pb.Event{Document: []byte("2"), Kind: pb.Event_SNAPSHOT, Sequence: proto.Int64(41), Cursor: "c41", Id: "e41"},
			&pb.Event{Document: []byte("3"), Defect: &pb.Defect{Reason: "checkpoint-conflict", Detail: "cursor: differs"}},
			&pb.Event{Cursor: "c42", DocumentBytes: 30}),
		part(0, []byte(`{"type":"delta",`)), part(16, []byte(`"sequence":42}`)),
		{Frame: &pb.PluginFrame_Signal{Signal: &pb.Signal{Kind: pb.Signal_ENDED, Cause: pb.Cause_CONNECTION_LOST}}},
	} {
		if err := stream.Send(f); err != nil {
			return err
		}
	}
	return nil
}

func TestAPluginWithoutTheSDK(t *testing.T) {
	leakCheck(t)
	p, log := startT(t, rogueCommand("plain", ""), standard, time.Now)
	for epoch := range uint32(3) {
		got := &recorder{}
		if err := p.Open(context.Background(), transport.Attempt{Epoch: epoch + 1, Endpoint: "e"}, got); err != nil || got.all() != `open, doc 1, doc e, doc 2, doc 3, doc {"type":"delta","sequence":42}, ended connection-lost` {
			t.Errorf("%s, %v", got.all(), err)
		}
	}
	got := &eventRecorder{}
	want := "open, malformed -1  : invalid-event document: not an object true, malformed -1  : invalid-event document: not JSON true, " +
		"snapshot 41 c41 e41:   false, malformed -1  : checkpoint-conflict cursor: differs false, delta 42 c42 :   false, ended connection-lost"
	if err := p.Open(context.Background(), transport.Attempt{Epoch: 4, Endpoint: "e"}, got); err != nil || got.all() != want {
		t.Errorf("events: %v\ngot  %s\nwant %s", err, got.all(), want)
	}
	if err := p.Ping(context.Background()); err != nil {
		t.Error(err)
	}
	begin := time.Now()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took >= Grace || log.kinds() != "started exited(exit status 0)" {
		t.Errorf("the stop took %v and ended in %s", took, log.kinds())
	}
}
