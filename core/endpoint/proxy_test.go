package endpoint

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/internal/testcert"
)

// The environment is read once per process: each case is a process of its own, see TestMain.
func TestProxyFromEnvironment(t *testing.T) {
	const password = "hunter2secret"
	for _, c := range []struct{ env, endpoint, want string }{
		{"", "https://events.test/s", " <nil>"},
		{"HTTPS_PROXY=http://proxy.test:3128", "https://events.test/s", "http://proxy.test:3128 <nil>"},
		{"HTTPS_PROXY=proxy.test:3128", "https://events.test/s", "http://proxy.test:3128 <nil>"},
		{"https_proxy=http://u:" + password + "@proxy.test", "https://events.test/s", "http://u:" + password + "@proxy.test <nil>"},
		{"HTTPS_PROXY=http://proxy.test:3128", "http://events.test/s", " <nil>"},
		{"HTTP_PROXY=socks5://proxy.test:1080", "http://events.test/s", "socks5://proxy.test:1080 <nil>"},
		{"HTTPS_PROXY=http://proxy.test:3128", "wss://events.test/s", "http://proxy.test:3128 <nil>"},
		{"HTTP_PROXY=http://proxy.test:3128", "ws://events.test/s", "http://proxy.test:3128 <nil>"},
		{"HTTPS_PROXY=http://proxy.test NO_PROXY=other.test,events.test", "https://events.test/s", " <nil>"},
		{"HTTPS_PROXY=http://proxy.test NO_PROXY=.test", "https://events.test/s", " <nil>"},
		{"HTTPS_PROXY=http://proxy.test NO_PROXY=other.test", "https://events.test/s", "http://proxy.test <nil>"},
		{"HTTPS_PROXY=http://proxy.test no_proxy=*", "https://events.test/s", " <nil>"},
		{"HTTP_PROXY=http://proxy.test", "http://127.0.0.1:8080/s", " <nil>"},
		{"HTTP_PROXY=http://proxy.test", "http://localhost/s", " <nil>"},
		{"HTTPS_PROXY=http://u:" + password + "@proxy.test:x", "https://events.test/s", " proxy: its URL holds more than scheme, user, host and port"},
		{"HTTPS_PROXY=http://u:" + password + "%zz@proxy.test", "https://events.test/s", " proxy: HTTPS_PROXY is not the URL of a proxy"},
		{"HTTPS_PROXY=ftp://u:" + password + "@proxy.test", "https://events.test/s", " proxy: its URL must begin with one of http, https, socks5, socks5h"},
		{"HTTPS_PROXY=http://proxy.test", "https://%zz", " proxy: the endpoint is not a URL"},
	} {
		child := exec.Command(os.Args[0])
		child.Env = append(strings.Fields(c.env), "CONFORM_TEST_ENDPOINT="+c.endpoint)
		got, err := child.Output()
		if err != nil || string(got) != c.want {
			t.Errorf("%s, %s: got %q, %v, want %q", c.env, c.endpoint, got, err, c.want)
		}
	}
}

func TestProxyURL(t *testing.T) {
	ca := testcert.New(t, "ca")
	client := ca.Issue(t, "client")
	ours := transport.TLS{Certificate: client.Certificate, Key: transport.Secret(client.Key)}
	for _, c := range []struct {
		proxy string
		tls   transport.TLS
		want  string
	}{
		{"", ours, ""},
		{"http://u:" + canary + "@proxy.test:3128", ours, ""},
		{"socks5h://proxy.test", ours, ""},
		{"https://proxy.test", transport.TLS{CA: ca.PEM}, ""},
		{"https://proxy.test", ours, "proxy: a client certificate or a server name cannot be used through an https proxy, which would get them too"},
		{"https://proxy.test", transport.TLS{ServerName: "x"}, "proxy: a client certificate or a server name cannot be used through an https proxy, which would get them too"},
		{"proxy.test:3128", ours, "proxy: its URL must begin with one of http, https, socks5, socks5h"},
		{"http://proxy.test/" + canary, ours, "proxy: its URL holds more than scheme, user, host and port"},
		{"http://proxy.test?" + canary, ours, "proxy: its URL holds more than scheme, user, host and port"},
		{"http://:3128", ours, "proxy: its URL has no host"},
		{"http://u:" + canary + "@proxy.test:x", ours, "proxy: not a URL"},
	} {
		u, err := ProxyURL(transport.Secret(c.proxy), c.tls)
		if c.want == "" && (err != nil || (u == nil) != (c.proxy == "") || u != nil && u.String() != c.proxy) || c.want != "" && fmt.Sprint(err) != c.want {
			t.Errorf("%s: got %v, %v, want %q", c.proxy, u, err, c.want)
		}
	}
}
