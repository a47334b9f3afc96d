// Command documents reads one JSON document per line. A line without content is a heartbeat.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/plugin"
	"github.com/conform-dev/conform/core/transport"
)

type lines struct{}

// maxLine bounds a line: a server must not decide how much memory a client spends.
const maxLine = 1 << 20

func (lines) Describe(context.Context) (transport.Descriptor, error) {
	return transport.Descriptor{
		Name: "lines", Version: "0.1.0", Wire: "lines",
		Freshness: transport.Push, Order: transport.ServerSequence, Baseline: transport.BaselineSnapshot,
		Resume: []transport.Mode{transport.BySequence}, Vouch: transport.VouchImplicit, Heartbeats: true,
	}, nil
}

func (lines) Open(ctx context.Context, a transport.Attempt, to transport.Sink) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", a.Endpoint)
	if err != nil {
		return to.Signal(transport.Signal{Kind: transport.Ended, Cause: transport.ConnectionLost, Detail: "cannot connect"})
	}
	defer conn.Close()
	// The host stops a connection by ending ctx; a blocked Read only notices when its socket is closed.
	defer context.AfterFunc(ctx, func() { conn.Close() })()

	from := "snapshot"
	if a.Resume.Seq != event.NoSeq {
		from = "after " + strconv.FormatInt(int64(a.Resume.Seq), 10)
	}
	if _, err := fmt.Fprintf(conn, "%s %s\n", a.Query.SourceID, from); err != nil {
		return to.Signal(transport.Signal{Kind: transport.Ended, Cause: transport.ConnectionLost})
	}
	if err := to.Signal(transport.Signal{Kind: transport.Open}); err != nil {
		return err
	}
	in := bufio.NewScanner(conn)
	in.Buffer(nil, maxLine)
	for in.Scan() {
		if len(in.Bytes()) == 0 {
			err = to.Signal(transport.Signal{Kind: transport.Heartbeat})
		} else {
			err = to.Document(transport.Document{JSON: in.Bytes()})
		}
		if err != nil {
			return err // the host is gone or wants no more
		}
	}
	if errors.Is(in.Err(), bufio.ErrTooLong) {
		// An event was lost, so the position behind it must not be resumed from.
		return to.Signal(transport.Signal{Kind: transport.Gap, Reason: event.TransportGap, Detail: fmt.Sprintf("frame-too-large: limit %d", maxLine)})
	}
	return to.Signal(transport.Signal{Kind: transport.Ended, Cause: transport.ConnectionLost})
}

func main() { plugin.Serve(lines{}) }
