package wire

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/conform-dev/conform/core/event"
	pb "github.com/conform-dev/conform/core/plugin/wire/transportv1"
	"github.com/conform-dev/conform/core/transport"
)

// FromAttempt is what the host sends. It fails, naming the member, for text that protobuf cannot carry and for more than MaxOpen
// bytes in all.
func FromAttempt(a transport.Attempt) (*pb.HostFrame, error) {
	if err := a.CheckAccess(); err != nil {
		return nil, err
	}
	open := &pb.OpenRequest{
		Epoch:    a.Epoch,
		Endpoint: a.Endpoint,
		Query:    fromQuery(a.Query),
		Resume:   fromPosition(a.Resume),
		Options:  a.Options,
		Proxy:    a.Proxy.Reveal(),
	}
	for _, h := range a.Headers {
		open.Headers = append(open.Headers, &pb.Header{Name: h.Name, Value: h.Value.Reveal()})
	}
	if t := a.TLS; t != (transport.TLS{}) {
		open.Tls = &pb.Tls{Ca: t.CA, Certificate: t.Certificate, Key: t.Key.Reveal(), ServerName: t.ServerName}
	}
	if a.Credential.Header != "" {
		open.Credential = &pb.Credential{Header: a.Credential.Header, Value: a.Credential.Value.Reveal()}
	}
	if err := checkOpen(open); err != nil {
		return nil, err
	}
	return &pb.HostFrame{Frame: &pb.HostFrame_Open{Open: open}}, nil
}

// ToAttempt reads the first frame of a stream at the plugin's end.
func ToAttempt(f *pb.HostFrame) (transport.Attempt, error) {
	open := f.GetOpen()
	if open == nil {
		return transport.Attempt{}, errors.New("the first frame is not an open frame")
	}
	if err := checkOpen(open); err != nil {
		return transport.Attempt{}, err
	}
	resume, err := toPosition("resume", open.GetResume())
	if err != nil {
		return transport.Attempt{}, err
	}
	a := transport.Attempt{
		Epoch:    open.GetEpoch(),
		Endpoint: open.GetEndpoint(),
		Query:    toQuery(open.GetQuery()),
		Resume:   resume,
		Credential: transport.Credential{
			Header: open.GetCredential().GetHeader(),
			Value:  transport.Secret(open.GetCredential().GetValue()),
		},
		Options: open.GetOptions(),
		TLS: transport.TLS{
			CA: open.GetTls().GetCa(), Certificate: open.GetTls().GetCertificate(), Key: transport.Secret(open.GetTls().GetKey()),
			ServerName: open.GetTls().GetServerName(),
		},
		Proxy: transport.Secret(open.GetProxy()),
	}
	for _, h := range open.GetHeaders() {
		a.Headers = append(a.Headers, transport.ExtraHeader{Name: h.GetName(), Value: transport.Secret(h.GetValue())})
	}
	return a, a.CheckAccess()
}

// checkOpen bounds the frame as a whole; single members need no limit of their own.
func checkOpen(open *pb.OpenRequest) error {
	if size := proto.Size(open); size > MaxOpen {
		return fmt.Errorf("the open frame is %d bytes long, the limit is %d", size, MaxOpen)
	}
	// Marshal is what finds text that is no UTF-8, and its error names the field, not the text.
	if _, err := proto.Marshal(open); err != nil {
		return fmt.Errorf("the open frame cannot be sent: %w", err)
	}
	return nil
}

func fromQuery(q transport.Query) *pb.Query {
	return &pb.Query{
		SourceId: q.SourceID, LayerId: q.LayerID, RequestId: q.RequestID, Mode: q.Mode, Where: q.Where,
		Fields: q.Fields, SpatialFilter: q.SpatialFilter, Metadata: q.Metadata,
	}
}

func toQuery(q *pb.Query) transport.Query {
	return transport.Query{
		SourceID: q.GetSourceId(), LayerID: q.GetLayerId(), RequestID: q.GetRequestId(), Mode: q.GetMode(), Where: q.GetWhere(),
		Fields: q.GetFields(), SpatialFilter: q.GetSpatialFilter(), Metadata: q.GetMetadata(),
	}
}

// fromPosition gives nil for a position that holds nothing at all: the plugin then asks for a snapshot.
func fromPosition(p event.Position) *pb.Position {
	out := &pb.Position{Cursor: p.Cursor, Watermark: p.Watermark, Timestamp: p.Timestamp, DeltaToken: p.DeltaToken}
	if p.Seq.Valid() {
		out.Sequence = proto.Int64(int64(p.Seq))
	} else if out.Cursor == "" && out.Watermark == "" && out.Timestamp == "" && out.DeltaToken == "" {
		return nil
	}
	return out
}

func toPosition(member string, p *pb.Position) (event.Position, error) {
	if p == nil {
		return event.NoPosition, nil
	}
	out := event.Position{
		Seq: event.NoSeq, Cursor: p.GetCursor(), Watermark: p.GetWatermark(), Timestamp: p.GetTimestamp(), DeltaToken: p.GetDeltaToken(),
	}
	var err error
	out.Seq, err = toCount[event.Seq](member+".sequence", p.Sequence)
	return out, err
}
