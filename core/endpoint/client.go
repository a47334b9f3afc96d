package endpoint

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/conform-dev/conform/core/transport"
)

// Limits of a client.
const (
	// MaxHeadBytes bounds the head of an answer. Servers and proxies send 1 to 8 KiB; net/http alone would take 10 MiB.
	MaxHeadBytes = 64 << 10
	// keepAlive asks the kernel to probe a silent connection, so that a peer that vanished is noticed below the session's
	// own idle limit even while nothing is to be sent.
	keepAlive = 30 * time.Second
)

// Client makes the requests of one attempt over net/http and puts what goes wrong into fixed words. It speaks HTTP/1.1, keeps no
// connection for a later request, and has no cookies, no compression, no proxy but the attempt's and no time limit but the
// request's own. A driver may change the http.Transport in it before the first request.
type Client struct {
	http.Transport
	shown shown
	proxy *url.URL
}

// NewClient makes the client of an attempt. It fails for certificates and for a proxy that cannot be used; the error holds no
// value.
func NewClient(a transport.Attempt) (*Client, error) {
	c := &Client{}
	config, err := Config(a.TLS)
	if err != nil {
		return nil, err
	}
	config.GetClientCertificate = c.shown.choose(config.Certificates)
	proxy, err := ProxyURL(a.Proxy, a.TLS)
	if err != nil {
		return nil, err
	}
	c.proxy = proxy
	c.DisableKeepAlives = true
	c.DisableCompression = true
	c.MaxResponseHeaderBytes = MaxHeadBytes
	c.DialContext = dial
	c.TLSClientConfig = config
	c.OnProxyConnectResponse = func(_ context.Context, _ *url.URL, _ *http.Request, answer *http.Response) error {
		return proxyAnswer(answer.StatusCode)
	}
	if proxy != nil {
		c.Proxy = http.ProxyURL(proxy)
	}
	return c, nil
}

func dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := (&net.Dialer{KeepAlive: keepAlive}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return heard{c}, nil
}
