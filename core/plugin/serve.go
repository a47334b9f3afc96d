// Package plugin is what the author of a transport plugin imports. A plugin is a main function with one call:
//
//	func main() { plugin.Serve(myTransport{}) }
//
// docs/plugins.md is the tutorial, wire/proto the protocol for other languages.
package plugin

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/conform-dev/conform/core/plugin/wire"
	"github.com/conform-dev/conform/core/transport"
)

// Serve answers the host that started this process until the host says stop or is gone. Started by anything else, it prints what it
// is and exits with status 1.
//
// Standard output belongs to the handshake: print nothing before Serve. From then on what the process prints to os.Stdout and
// os.Stderr goes to the host, which keeps the last lines and hides the secrets it knows. A panic ends the process and with it
// every open connection; the host starts a fresh one.
func Serve(t transport.Transport) {
	if os.Getenv(wire.CookieKey) != wire.CookieValue {
		explain(os.Stderr, os.Args)
		os.Exit(1)
	}
	watch := newHostWatch()
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig: goplugin.HandshakeConfig{MagicCookieKey: wire.CookieKey, MagicCookieValue: wire.CookieValue},
		VersionedPlugins: map[int]goplugin.PluginSet{
			wire.ProtocolVersion: {wire.PluginName: &served{transport: t}},
		},
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(opts, serverOptions(watch)...)...)
		},
		// Errors only: go-plugin's debug lines would push the author's own out of the host's last lines.
		Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Error, Output: os.Stderr, DisableTime: true}),
	})
}

// ServeArgs is Serve for a program that serves several transports, and for a test binary that is its own plugin: with the arguments
// `plugin serve NAME` it serves the transport of that name and returns true when the host is done. Any other arguments are not
// for it: it returns false at once. An unknown name ends the process with status 2 and one line.
func ServeArgs(args []string, by map[string]func() transport.Transport) bool {
	if len(args) != 3 || args[0] != "plugin" || args[1] != "serve" {
		return false
	}
	make, ok := by[args[2]]
	if !ok {
		fmt.Fprintf(os.Stderr, "%s: no bundled transport is called %q\n", filepath.Base(os.Args[0]), args[2])
		os.Exit(2)
	}
	Serve(make())
	return true
}

// explain tells a person who started a plugin by hand what it is for.
func explain(w io.Writer, args []string) {
	name := filepath.Base(args[0])
	try := "conform run --plugin " + name + "=" + args[0]
	if len(args) == 4 && args[1] == "plugin" && args[2] == "serve" {
		name = args[3]
		try = filepath.Base(args[0]) + " run --transport " + name
	}
	fmt.Fprintf(w, "%s is a transport plugin for conform (protocol version %d).\n"+
		"conform starts it and talks to it; by itself it does nothing. To certify it:\n\n    %s\n", name, wire.ProtocolVersion, try)
}

// serverOptions bound what a host may send and set the shortcuts of wire.Codec.
func serverOptions(watch *hostWatch) []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(wire.PluginReceive),
		grpc.MaxHeaderListSize(wire.MaxHeaderList),
		grpc.InitialWindowSize(wire.StreamWindow),
		grpc.InitialConnWindowSize(wire.ConnWindow),
		grpc.WriteBufferSize(wire.MaxBatchBytes),
		grpc.ForceServerCodecV2(wire.Codec{}),
		grpc.StatsHandler(watch),
	}
}
