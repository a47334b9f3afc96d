package endpoint

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/internal/testcert"
)

func TestFiles(t *testing.T) {
	ca := testcert.New(t, "ca")
	client := ca.Issue(t, "client")
	both := write(t, client.Certificate+client.Key)
	source, err := Files{CA: write(t, "# ours\n"+ca.PEM), Certificate: both, Key: both, ServerName: "events.test"}.Source()
	if err != nil {
		t.Fatal(err)
	}
	got, err := source(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	c, err := Config(got)
	if err != nil || c.RootCAs == nil || len(c.Certificates) != 1 || c.ServerName != "events.test" || c.MinVersion != tls.VersionTLS12 {
		t.Errorf("%+v, %v", c, err)
	}
	if err := os.WriteFile(both, []byte(client.Certificate), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := source(context.Background()); err == nil || err.Error() != "tls: key: it holds no private key in PEM" {
		t.Errorf("after the key went: %v", err)
	}
	none, err := Files{}.Source()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := none(context.Background()); err != nil || got != (transport.TLS{}) {
		t.Errorf("no files: %+v, %v", got, err)
	}
	if c, err := Config(transport.TLS{}); err != nil || c.RootCAs != nil || len(c.Certificates) > 0 {
		t.Errorf("nothing: %+v, %v", c, err)
	}
}

func TestBadFiles(t *testing.T) {
	ca := testcert.New(t, "ca")
	client, other := ca.Issue(t, "client"), ca.Issue(t, "other")
	encrypted := "-----BEGIN ENCRYPTED PRIVATE KEY-----\nY2FuYXJ5LTAxMjM0NTY3ODk=\n-----END ENCRYPTED PRIVATE KEY-----\n"
	rotten := "-----BEGIN CERTIFICATE-----\nY2FuYXJ5LTAxMjM0NTY3ODk=\n-----END CERTIFICATE-----\n"
	empty, large := write(t, ""), write(t, strings.Repeat(canary, transport.MaxCA/len(canary)+1))
	for _, c := range []struct {
		f    Files
		want string
	}{
		{Files{CA: "none"}, "tls: CA: file none: no such file or directory"},
		{Files{CA: empty}, "tls: CA: file " + empty + " is empty"},
		{Files{CA: large}, "tls: CA: file " + large + " is larger than 524288 bytes"},
		{Files{CA: write(t, canary)}, "tls: CA: it holds no certificate in PEM"},
		{Files{CA: write(t, client.Key)}, "tls: CA: block 1 is no certificate"},
		{Files{CA: write(t, ca.PEM+rotten)}, "tls: CA: certificate 2 cannot be read"},
		{Files{Certificate: write(t, client.Certificate)}, "tls: the client certificate comes without its key"},
		{Files{Key: write(t, client.Key)}, "tls: the client key comes without its certificate"},
		{Files{Certificate: write(t, client.Certificate), Key: write(t, canary)}, "tls: key: it holds no private key in PEM"},
		{Files{Certificate: write(t, client.Certificate), Key: write(t, encrypted)}, "tls: key: it is encrypted; there is nobody to ask for its password"},
		{Files{Certificate: write(t, canary), Key: write(t, client.Key)}, "tls: certificate: it holds no certificate in PEM"},
		{Files{Certificate: write(t, rotten), Key: write(t, client.Key)}, "tls: certificate and key do not belong together, or one of them cannot be read"},
		{Files{Certificate: write(t, client.Certificate), Key: write(t, other.Key)}, "tls: certificate and key do not belong together, or one of them cannot be read"},
		{Files{ServerName: strings.Repeat("x", 254)}, "tls: the server name has 254 bytes, the limit is 253"},
	} {
		if _, err := c.f.Source(); fmt.Sprint(err) != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}

func FuzzConfig(f *testing.F) {
	ca := testcert.New(f, "ca")
	client := ca.Issue(f, "client")
	f.Add(ca.PEM, client.Certificate, client.Key)
	f.Fuzz(func(t *testing.T, ca, certificate, key string) {
		c, err := Config(transport.TLS{CA: ca, Certificate: certificate, Key: transport.Secret(key)})
		if (c == nil) == (err == nil) {
			t.Errorf("%v, %v", c, err)
		}
	})
}
