package serve

import (
	"fmt"
	"strings"

	"github.com/conform-dev/conform/simulator"
)

// Addr is the address that is listened on.
func (s *Server) Addr() string { return s.ln.Addr().String() }

// URL is the SSE stream's, without a query.
func (s *Server) URL() string { return s.origin() + s.sim.Path(simulator.SSE) }

// WebSocketURL is the WebSocket stream's, ws or wss, without a query.
func (s *Server) WebSocketURL() string {
	return "ws" + strings.TrimPrefix(s.origin(), "http") + s.sim.Path(simulator.WebSocket)
}

// ODataURL is the OData collection's, without a query.
func (s *Server) ODataURL() string { return s.origin() + s.sim.Path(simulator.OData) }

// URLs are the addresses by wire.
func (s *Server) URLs() map[string]string {
	return map[string]string{simulator.SSE: s.URL(), simulator.WebSocket: s.WebSocketURL(), simulator.OData: s.ODataURL()}
}

// ControlURL is the root of the control API.
func (s *Server) ControlURL() string { return s.origin() + controlRoot }

func (s *Server) origin() string { return s.called(s.Addr()) }

// called is the origin of a request for a host.
func (s *Server) called(host string) string {
	if s.opt.TLS {
		return "https://" + host
	}
	return "http://" + host
}

// CA is the certificate to trust, in PEM; empty without TLS.
func (s *Server) CA() string { return string(s.id.authority) }

// CurlTrust is what a curl line needs to trust the server: --cacert and the quoted file; empty if there is no file.
func (s *Server) CurlTrust() string {
	if s.opt.CAFile == "" {
		return ""
	}
	return "--cacert " + shellWord(s.opt.CAFile) + " "
}

// Follow are the command lines that follow the feed, by wire: curl, and for WebSocket, which it does not speak, conform itself.
func (s *Server) Follow() map[string]string {
	trust := ""
	if s.opt.CAFile != "" {
		trust = "--ca " + shellWord(s.opt.CAFile) + " "
	}
	source := ""
	if s.sim.Source() != "incidents" { // what conform watch asks for by itself
		source = "--source " + s.sim.Source() + " "
	}
	return map[string]string{
		simulator.SSE:       s.Curl(),
		simulator.WebSocket: "conform watch " + trust + source + shellWord(s.WebSocketURL()),
		simulator.OData:     fmt.Sprintf("curl -sS %s-H 'Prefer: odata.track-changes' %s", s.CurlTrust(), shellWord(s.ODataURL())),
	}
}

// shellWord is text as one word of a shell.
func shellWord(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// Curl is the command line that follows the SSE stream.
func (s *Server) Curl() string {
	return fmt.Sprintf("curl -N %s'%s?sourceId=%s&mode=snapshot-then-delta'", s.CurlTrust(), s.URL(), s.sim.Source())
}
