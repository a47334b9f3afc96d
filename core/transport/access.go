package transport

import (
	"errors"
	"fmt"
	"slices"
)

// Limits of what an attempt may bring along. None is settable: together they stay below the one message that carries an
// attempt to a plugin (1 MiB).
const (
	// MaxHeaders bounds the extra headers. Gateways ask for two or three; a host remembers 64 secrets to hide, and two
	// attempts' worth of these must fit.
	MaxHeaders = 24
	// MaxHeaderName and MaxHeaderValue bound one of them. Servers refuse whole heads above 8 to 16 KiB.
	MaxHeaderName  = 128
	MaxHeaderValue = 8 << 10
	// MaxCA bounds the certificates to trust: twice the whole bundle of a Linux distribution.
	MaxCA = 512 << 10
	// MaxCertificate and MaxKey bound a chain of certificates and its key, of which an RSA key of 16,384 bits needs 13 KB.
	MaxCertificate = 64 << 10
	MaxKey         = 32 << 10
	// MaxProxy bounds the URL of a proxy.
	MaxProxy = 2 << 10
	// MaxServerName is the longest name that DNS knows.
	MaxServerName = 253
)

// ExtraHeader is a request header beside the credential, for gateways that want a key or a tenant named. Its value is treated
// as a secret: it goes into requests to the endpoint's own origin and nowhere else.
type ExtraHeader struct {
	Name  string
	Value Secret
}

// TLS says whom to trust and who we are. The zero value trusts what the system trusts and shows no certificate.
type TLS struct {
	CA          string // certificates to trust instead of the system's, PEM
	Certificate string // the client certificate, leaf first, PEM
	Key         Secret // its private key, PEM, not encrypted
	ServerName  string // the name the server's certificate must carry, where that is not the URL's host
}

// Take is something of an Attempt that a transport need not know about. One that it does not name in its descriptor is refused
// before a subscription opens (D-62): ignored silently, a missing proxy or header would only look like a bad server.
type Take string

// What a transport may take.
const (
	TakesHeaders Take = "headers"
	TakesTLS     Take = "tls"
	TakesProxy   Take = "proxy"
)

// Lacks says which of takes the transport does not know, as an error; nil if it knows all.
func (d Descriptor) Lacks(takes ...Take) error {
	for _, t := range takes {
		if !slices.Contains(d.Takes, t) {
			return fmt.Errorf("transport %s does not take %s", d.Name, t)
		}
	}
	return nil
}

// Takes lists what a brings along.
func (a Attempt) Takes() []Take {
	var out []Take
	if len(a.Headers) > 0 {
		out = append(out, TakesHeaders)
	}
	if a.TLS != (TLS{}) {
		out = append(out, TakesTLS)
	}
	if a.Proxy != "" {
		out = append(out, TakesProxy)
	}
	return out
}

// CheckAccess says whether headers, TLS and proxy of a are within their limits and can be sent: see CheckHeaders. It does not
// parse certificates. No error holds a value.
func (a Attempt) CheckAccess() error {
	if err := CheckHeaders(a.Headers, a.Credential); err != nil {
		return err
	}
	if err := a.TLS.check(); err != nil {
		return err
	}
	if len(a.Proxy) > MaxProxy {
		return fmt.Errorf("proxy: longer than %d bytes", MaxProxy)
	}
	return nil
}

func (t TLS) check() error {
	for _, part := range []struct {
		name       string
		size, most int
	}{
		{"CA", len(t.CA), MaxCA}, {"certificate", len(t.Certificate), MaxCertificate}, {"key", len(t.Key), MaxKey}, {"server name", len(t.ServerName), MaxServerName},
	} {
		if part.size > part.most {
			return fmt.Errorf("tls: the %s has %d bytes, the limit is %d", part.name, part.size, part.most)
		}
	}
	switch {
	case t.Certificate != "" && t.Key == "":
		return errors.New("tls: the client certificate comes without its key")
	case t.Certificate == "" && t.Key != "":
		return errors.New("tls: the client key comes without its certificate")
	}
	return nil
}
