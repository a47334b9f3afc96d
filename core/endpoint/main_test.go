package endpoint_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"

	"github.com/conform-dev/conform/core/endpoint"
	"github.com/conform-dev/conform/core/plugin"
	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/plugins/sse"
)

// TestMain makes the test binary its own plugin, and a process that answers for one environment. Otherwise it sets a proxy in
// this environment, which net/http reads once per process.
func TestMain(m *testing.M) {
	if target := os.Getenv("CONFORM_TEST_ENDPOINT"); target != "" {
		proxy, err := endpoint.ProxyFromEnvironment(context.Background(), target)
		fmt.Printf("%s %v", proxy.Reveal(), err)
		return
	}
	if plugin.ServeArgs(os.Args[1:], map[string]func() transport.Transport{"sse": sse.New}) {
		return
	}
	server := httptest.NewServer(http.HandlerFunc(tunnel.serve))
	os.Setenv("HTTPS_PROXY", "http://user:"+proxyPassword+"@"+server.Listener.Addr().String())
	os.Setenv("NO_PROXY", "direct.test")
	code := m.Run()
	server.Close()
	os.Exit(code)
}

const proxyPassword = "canary-of-the-proxy"

// proxy connects every name to one server.
type proxy struct {
	mu    sync.Mutex
	to    string
	asked []string // method, host and headers
}

var tunnel proxy

func (p *proxy) serve(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.asked = append(p.asked, fmt.Sprint(r.Method, " ", r.Host, " ", r.Header))
	to := p.to
	p.mu.Unlock()
	there, err := net.Dial("tcp", to)
	if err != nil || r.Method != http.MethodConnect {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer there.Close()
	here, in, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer here.Close()
	io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n")
	go func() { io.Copy(there, in); there.Close() }()
	io.Copy(here, there)
}
