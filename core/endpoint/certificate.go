package endpoint

import (
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/core/transport/web"
)

// shown is what the server got to see of our certificates: it knows why it refused us no better than we do.
type shown struct{ why atomic.Pointer[string] }

// choose is what crypto/tls does by itself, and remembers why nothing was shown to a server that asked.
func (s *shown) choose(ours []tls.Certificate) func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	return func(asked *tls.CertificateRequestInfo) (*tls.Certificate, error) {
		for i := range ours {
			if asked.SupportsCertificate(&ours[i]) == nil {
				return &ours[i], nil
			}
		}
		why := "none is set"
		if len(ours) > 0 {
			why = "the one that is set comes from no authority that the server names"
		}
		s.why.Store(&why)
		return &tls.Certificate{}, nil
	}
}

// certificateAlerts are the alerts about the certificate that we showed, or did not show. A server gets no other one, so that
// none of them is about its own.
var certificateAlerts = map[string]bool{
	"bad certificate": true, "unsupported certificate": true, "revoked certificate": true, "expired certificate": true,
	"unknown certificate": true, "unknown certificate authority": true, "access denied": true, "certificate required": true,
}

// classifyAlert reads what the server said about TLS; nil if it said nothing. crypto/tls has no type for it, but a fixed
// operation and fixed words.
func classifyAlert(err error, shown *shown) error {
	var op *net.OpError
	for ; errors.As(err, &op); err = op.Err {
		if op.Op != "remote error" || op.Err == nil {
			continue
		}
		word, why := strings.TrimPrefix(op.Err.Error(), "tls: "), shown.why.Load()
		switch {
		case why != nil && (certificateAlerts[word] || word == "handshake failure"): // the latter by RFC 5246 7.4.6
			return futile(transport.Unauthorized, "client-certificate-required: "+*why)
		case certificateAlerts[word]:
			return futile(transport.Unauthorized, "client-certificate-refused: "+word)
		}
		return web.Broken("tls-failed")
	}
	return nil
}

// heard is a connection on which a write to a peer that has closed does not fail: what it said before is still to be read, and
// then the read fails. A server that speaks TLS 1.3 refuses a client while that one already writes its request, so that
// without this its reason would be lost most of the time.
type heard struct{ net.Conn }

func (h heard) Write(b []byte) (int, error) {
	n, err := h.Conn.Write(b)
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
		return len(b), nil
	}
	return n, err
}
