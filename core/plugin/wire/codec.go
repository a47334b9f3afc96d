package wire

import (
	"google.golang.org/grpc/encoding"
	protocodec "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
)

// Codec is gRPC's protobuf codec with three shortcuts: it writes a *Batch and a *Part and reads into a *Frame without building
// messages. On the wire all are PluginFrame, byte for byte. A server needs it for all its services at once, so everything else goes to the
// standard codec.
type Codec struct{}

// Name is "proto": the bytes are protobuf, and the other end may use the standard codec.
func (Codec) Name() string { return protocodec.Name }

// Marshal encodes v. A *Batch is empty afterwards, a *Part used up.
func (Codec) Marshal(v any) (mem.BufferSlice, error) {
	switch v := v.(type) {
	case *Batch:
		return v.message(), nil
	case *Part:
		return v.message(), nil
	}
	return encoding.GetCodecV2(protocodec.Name).Marshal(v)
}

// Unmarshal decodes into v.
func (Codec) Unmarshal(data mem.BufferSlice, v any) error {
	if f, ok := v.(*Frame); ok {
		return f.read(data)
	}
	return encoding.GetCodecV2(protocodec.Name).Unmarshal(data, v)
}
