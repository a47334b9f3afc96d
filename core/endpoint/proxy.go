package endpoint

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/conform-dev/conform/core/transport"
)

// proxySchemes are the kinds of proxy that net/http goes through.
var proxySchemes = []string{"http", "https", "socks5", "socks5h"}

// ProxyFromEnvironment is the proxy that the environment names for an endpoint: HTTPS_PROXY or HTTP_PROXY by its scheme (wss is https, ws is http), unless
// NO_PROXY lists its host; the lower-case names count as well. Loopback addresses are always direct. Empty means direct. The
// environment is read once per process. It is made for subscription.WithProxy, and has to run in the process that has that
// environment: a plugin's has none.
func ProxyFromEnvironment(_ context.Context, endpoint string) (transport.Secret, error) {
	target, err := url.Parse(endpoint)
	if err != nil {
		return "", errors.New("proxy: the endpoint is not a URL")
	}
	switch target.Scheme { // a WebSocket goes where its handshake goes (RFC 6455 4.1)
	case "ws":
		target.Scheme = "http"
	case "wss":
		target.Scheme = "https"
	}
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: target})
	// An error's text may hold the proxy's URL, and that a password. For a URL that cannot be read there is none: net/http would go
	// direct, past the proxy that somebody asked for.
	if name := strings.ToUpper(target.Scheme) + "_PROXY"; err != nil || !readable(name) {
		return "", fmt.Errorf("proxy: %s is not the URL of a proxy", name)
	}
	if proxy == nil {
		return "", nil
	}
	secret := transport.Secret(proxy.String())
	if _, err := ProxyURL(secret, transport.TLS{}); err != nil {
		return "", err
	}
	return secret, nil
}

// readable says whether what the variable holds, if it is set, can be read as net/http reads it: with or without a scheme.
func readable(name string) bool {
	value := os.Getenv(name)
	if value == "" {
		value = os.Getenv(strings.ToLower(name))
	}
	if _, err := url.Parse(value); err == nil {
		return true
	}
	_, err := url.Parse("http://" + value)
	return err == nil
}

// ProxyURL reads the proxy of an attempt; nil for none. It refuses what is no URL, an unknown kind of proxy, and one that is itself
// reached over TLS if t is about the endpoint alone: net/http would show it the client certificate and ask it for the
// endpoint's name.
func ProxyURL(proxy transport.Secret, t transport.TLS) (*url.URL, error) {
	if proxy == "" {
		return nil, nil
	}
	u, err := url.Parse(proxy.Reveal())
	switch {
	case err != nil:
		return nil, errors.New("proxy: not a URL")
	case !slices.Contains(proxySchemes, u.Scheme):
		return nil, fmt.Errorf("proxy: its URL must begin with one of %s", strings.Join(proxySchemes, ", "))
	case u.Hostname() == "":
		return nil, errors.New("proxy: its URL has no host")
	case u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "": // what net/http makes of a malformed one, too
		return nil, errors.New("proxy: its URL holds more than scheme, user, host and port")
	case u.Scheme == "https" && (t.Certificate != "" || t.ServerName != ""):
		return nil, errors.New("proxy: a client certificate or a server name cannot be used through an https proxy, which would get them too")
	}
	return u, nil
}
