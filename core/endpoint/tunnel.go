package endpoint

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// Tunnel makes the client reach a plain http endpoint through its proxy, if it has one, by CONNECT, as net/http does for https ones
// alone. A WebSocket asks for that (RFC 6455 4.1): a proxy that understands the request would stand in its way. It is called
// before the first request.
func (c *Client) Tunnel() {
	proxy := c.proxy
	if proxy == nil || strings.HasPrefix(proxy.Scheme, "socks") { // that is a tunnel already
		return
	}
	c.Proxy = nil
	c.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := c.dialProxy(ctx, network, proxy)
		if err != nil {
			return nil, &net.OpError{Op: "proxyconnect", Net: network, Err: err}
		}
		stop := context.AfterFunc(ctx, func() { conn.Close() })
		err = connect(conn, proxy, address)
		if !stop() && err == nil {
			err = ctx.Err()
		}
		if err != nil {
			conn.Close()
			return nil, err
		}
		return conn, nil
	}
}

func (c *Client) dialProxy(ctx context.Context, network string, proxy *url.URL) (net.Conn, error) {
	port := proxy.Port()
	switch {
	case port != "":
	case proxy.Scheme == "https":
		port = "443"
	default:
		port = "80"
	}
	conn, err := dial(ctx, network, net.JoinHostPort(proxy.Hostname(), port))
	if err != nil || proxy.Scheme != "https" {
		return conn, err
	}
	config := c.TLSClientConfig.Clone()
	config.ServerName = proxy.Hostname()
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return secure, nil
}

// connect asks a proxy for a tunnel. Its answer's head is bounded like every other one.
func connect(conn net.Conn, proxy *url.URL, address string) error {
	request := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: http.Header{}}
	if user := proxy.User; user != nil {
		password, _ := user.Password()
		request.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
	}
	if err := request.Write(conn); err != nil {
		return &net.OpError{Op: "proxyconnect", Net: "tcp", Err: err}
	}
	in := bufio.NewReader(io.LimitReader(conn, MaxHeadBytes))
	answer, err := http.ReadResponse(in, request)
	switch {
	case err != nil:
		return &net.OpError{Op: "proxyconnect", Net: "tcp", Err: err}
	case answer.StatusCode != http.StatusOK:
		return proxyAnswer(answer.StatusCode)
	case in.Buffered() > 0:
		return &net.OpError{Op: "proxyconnect", Net: "tcp", Err: errors.New("it speaks before it is asked")}
	}
	return nil
}
