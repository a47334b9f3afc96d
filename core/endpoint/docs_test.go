package endpoint_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/conform-dev/conform/core/endpoint"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/subscription"
	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/internal/testcert"
	"github.com/conform-dev/conform/plugins/sse"
)

const docs = "../../docs/endpoints.md"

// follow is the program of docs/endpoints.md.
func follow(ctx context.Context, secrets string, apply subscription.Apply) error {
	headers, err := endpoint.Headers("X-Api-Key=env:EVENTS_API_KEY", "X-Tenant=file:"+secrets+"/tenant")
	if err != nil {
		return err
	}
	credential, err := endpoint.Credential("Authorization=file:" + secrets + "/token")
	if err != nil {
		return err
	}
	certificates, err := endpoint.Files{
		CA: secrets + "/ca.pem", Certificate: secrets + "/client.pem", Key: secrets + "/client.key",
	}.Source()
	if err != nil {
		return err
	}
	sub, err := subscription.Open(ctx, sse.New(), apply,
		subscription.WithEndpoint("https://events.test/stream"),
		subscription.WithQuery(transport.Query{SourceID: "incidents"}),
		subscription.WithHeaders(headers),
		subscription.WithCredentials(credential),
		subscription.WithTLS(certificates),
		subscription.WithProxy(endpoint.ProxyFromEnvironment),
	)
	if err != nil {
		return err
	}
	return sub.Wait()
}

// TestDocsProgram: the program in the documentation is the one above, and it works.
func TestDocsProgram(t *testing.T) {
	source, err := os.ReadFile("docs_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(source), "apply subscription.Apply) error {\n")
	body, _, _ = strings.Cut(body, "\n}\n")
	text, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile("(?s)```go\n(.*?)\n```").FindStringSubmatch(string(text))
	if want := strings.TrimPrefix(strings.ReplaceAll(body, "\n\t", "\n"), "\t"); shown == nil || shown[1] != want {
		t.Errorf("the program in %s is not\n%s", docs, want)
	}

	ca := testcert.New(t, "ca")
	client := ca.Issue(t, "client")
	g := newGateway(t, ca)
	tunnel.mu.Lock()
	tunnel.to = g.Listener.Addr().String()
	tunnel.mu.Unlock()
	t.Setenv("EVENTS_API_KEY", "k")
	secrets := t.TempDir()
	for name, text := range map[string]string{"tenant": "t\n", "token": "Bearer x\n", "ca.pem": ca.PEM, "client.pem": client.Certificate, "client.key": client.Key} {
		if err := os.WriteFile(filepath.Join(secrets, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	seen := ""
	err = follow(t.Context(), secrets, func(_ context.Context, ev *event.Event) error {
		seen += fmt.Sprint(ev.Kind, " ", ev.Pos.Seq, ", ")
		return nil
	})
	if err != nil || seen != "snapshot 1, upsert 2, " {
		t.Errorf("%v, seen %s", err, seen)
	}
}

// TestDocsLimits: the limits in the documentation are the ones in force.
func TestDocsLimits(t *testing.T) {
	text, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	for what, limit := range map[string]string{
		"extra headers":             fmt.Sprint(transport.MaxHeaders),
		"name of a header":          fmt.Sprintf("%d bytes", transport.MaxHeaderName),
		"value of a header":         fmt.Sprintf("%d KiB", transport.MaxHeaderValue>>10),
		"certificates to trust":     fmt.Sprintf("%d KiB", transport.MaxCA>>10),
		"client certificate":        fmt.Sprintf("%d KiB", transport.MaxCertificate>>10),
		"its key":                   fmt.Sprintf("%d KiB", transport.MaxKey>>10),
		"URL of the proxy":          fmt.Sprintf("%d KiB", transport.MaxProxy>>10),
		"name on the server's side": fmt.Sprintf("%d bytes", transport.MaxServerName),
	} {
		if row := "| " + what + " | " + limit + " |"; !strings.Contains(string(text), row) {
			t.Errorf("%s lacks the row %s", docs, row)
		}
	}
	for name := range map[string]bool{"Host": true, "Accept": true, "Last-Event-ID": true, "Authorization": true, "Cookie": true, "Proxy-Authorization": true, "Connection": true, "TE": true} {
		if why, _ := transport.Reserved(transport.CanonicalHeader(name)); why == "" || !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("%s: %q", name, why)
		}
	}
}
