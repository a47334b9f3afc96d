package endpoint

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"syscall"

	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/core/transport/web"
)

// Failure puts an error of the network into one of a few fixed words: its own text may hold the URL, with the position in it,
// or what the server wrote. What a further try cannot change is web.Futile (D-33), everything else is web.Broken and tried again
// (D-34); nil stays nil.
func (c *Client) Failure(err error) error {
	if err == nil {
		return nil
	}
	var op *net.OpError
	atProxy := errors.As(err, &op) && op.Op == "proxyconnect"
	why := classifyTLS(err, &c.shown)
	if why == nil {
		why = classifyNetwork(err)
	}
	if !atProxy {
		return why
	}
	var f web.Futile
	if errors.As(why, &f) {
		return futile(f.Cause, "proxy: "+f.Word)
	}
	return web.Broken("proxy: " + why.Error())
}

func futile(cause transport.Cause, word string) error { return web.Futile{Cause: cause, Word: word} }

func classifyNetwork(err error) error {
	var (
		proxy   proxyError
		dns     *net.DNSError
		timeout net.Error
	)
	switch {
	case errors.As(err, &proxy):
		return proxy.why()
	case errors.Is(err, syscall.ECONNREFUSED):
		return web.Broken("connection-refused")
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return web.Broken("connection-reset")
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return web.Broken("host-unreachable")
	case errors.As(err, &dns):
		return web.Broken("name-not-resolved")
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return web.Broken("timed-out")
	}
	return web.AbnormalEnd
}

// classifyTLS judges what went wrong while the two ends made each other out; nil if it was something else. A certificate that is
// not trusted will not be trusted in 250 ms either, and neither will ours.
func classifyTLS(err error, shown *shown) error {
	var (
		verification *tls.CertificateVerificationError
		record       tls.RecordHeaderError
		unknown      x509.UnknownAuthorityError
		name         x509.HostnameError
		invalid      x509.CertificateInvalidError
	)
	const untrusted = "certificate-not-trusted"
	switch {
	case errors.As(err, &name):
		return futile(transport.Rejected, untrusted+": it is for another name")
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return futile(transport.Rejected, untrusted+": it has expired or is not valid yet")
	case errors.As(err, &unknown):
		return futile(transport.Rejected, untrusted+": unknown authority")
	case errors.As(err, &verification), errors.As(err, &invalid):
		return futile(transport.Rejected, untrusted)
	case errors.As(err, &record) && string(record.RecordHeader[:]) == "HTTP/":
		return futile(transport.Rejected, "tls-failed: the server speaks plain HTTP")
	case errors.As(err, &record):
		return web.Broken("tls-failed")
	}
	return classifyAlert(err, shown)
}

// proxyError is the answer of a proxy that was asked for a connection and gave none.
type proxyError struct{ status int }

func (e proxyError) Error() string { return fmt.Sprintf("proxy: status %d", e.status) }

// proxyAnswer judges the answer to CONNECT.
func proxyAnswer(status int) error {
	if status == http.StatusOK {
		return nil
	}
	return proxyError{status}
}

// why: a proxy that says no is a matter of how things are set up, one that cannot reach the server, or is busy, is not.
func (e proxyError) why() error {
	switch {
	case e.status == http.StatusProxyAuthRequired:
		return futile(transport.Unauthorized, e.Error())
	case e.status >= 400 && e.status < 500 && e.status != http.StatusTooManyRequests && e.status != http.StatusRequestTimeout:
		return futile(transport.Rejected, e.Error())
	}
	return web.Broken(e.Error())
}
