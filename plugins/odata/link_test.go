package odata

import (
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/conform-dev/conform/core/transport/web"
)

// P-OD-16: which links may be followed, as next link, delta link and Location alike.
func TestLinks(t *testing.T) {
	for link, want := range map[string]string{
		"/odata/Vehicles?$skiptoken=1":                        "",
		"Vehicles?$skiptoken=1":                               "",
		"?$skiptoken=1":                                       "",
		"https://svc.example/odata/Vehicles?$skiptoken=1":     "",
		"https://svc.example:443/odata/Vehicles?$skiptoken=1": "",
		"HTTPS://SVC.EXAMPLE/odata/Vehicles?$skiptoken=1":     "",
		"https://svc.example/odata/Vehicles/?x":               "",
		"/odata/%56ehicles?x":                                 "",
		"/odata/./x/../Vehicles?x#part":                       "",
		"http://svc.example/odata/Vehicles?$skiptoken=1":      "link-to-another-origin: http://svc.example/odata/Vehicles",
		"https://svc.example:80/odata/Vehicles?$skiptoken=1":  "link-to-another-origin: https://svc.example:80/odata/Vehicles",
		"https://svc.example.evil.test/odata/Vehicles?x":      "link-to-another-origin: https://svc.example.evil.test/odata/Vehicles",
		"https://svc.example@evil.test/odata/Vehicles?x":      "link-with-userinfo: https://evil.test/odata/Vehicles",
		"//evil.test/odata/Vehicles?x":                        "link-to-another-origin: https://evil.test/odata/Vehicles",
		"https://user:pw@svc.example/odata/Vehicles?x":        "link-with-userinfo: https://svc.example/odata/Vehicles",
		"/odata/Vehicles/../Secrets?x":                        "link-to-another-path: https://svc.example/odata/Secrets",
		"/odata/VehiclesArchive?x":                            "link-to-another-path: https://svc.example/odata/VehiclesArchive",
		"/odata/vehicles?x":                                   "link-to-another-path: https://svc.example/odata/vehicles",
		"/odata%2FVehicles?x":                                 "link-to-another-path: https://svc.example/odata%2FVehicles",
		"/odata/Vehicles//?x":                                 "link-to-another-path: https://svc.example/odata/Vehicles//",
		"/odata/Vehicles/%2e%2e/Vehicles?x":                   "link-to-another-path: https://svc.example/odata/Vehicles/%2e%2e/Vehicles",
		`\\evil.test\odata\Vehicles`:                          `link-to-another-path: https://svc.example/odata/%5C%5Cevil.test%5Codata%5CVehicles`,
		"https:/odata/Vehicles":                               "link-unreadable",
		"https:odata/Vehicles":                                "link-unreadable",
		"https://svc.example:x/odata/Vehicles":                "link-unreadable",
		"/odata/Vehicles?x\x00":                               "link-unreadable",
		"javascript:alert(1)":                                 "link-unreadable",
		"":                                                    "link-empty",
		"?" + strings.Repeat("x", MaxLinkBytes):               "link-too-long",
	} {
		c, err := NewCollection("https://svc.example/odata/Vehicles")
		if err != nil {
			t.Fatal(err)
		}
		from, _ := url.Parse("https://svc.example/odata/Vehicles?$skiptoken=0")
		to, refused := c.Follow(from, "$metadata#Vehicles/$delta", link)
		got := ""
		if refused != nil {
			got = refused.Error()
		} else if to.Fragment != "" {
			t.Errorf("%q: a fragment is kept", link)
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", link, got, want)
		}
	}
}

// A link that is followed never leaves the collection, whatever link and context say; the judge here is independent: it compares what a
// request to the link would name.
func TestLinksStay(t *testing.T) {
	pieces := rapid.SampledFrom([]string{"https", "http", ":", "/", "//", "@", "svc.example", "evil.test", "odata", "Vehicles", "..", ".", "?", "#", "x=1", "%2F", "%2e", ":443", `\`, "user", "$metadata", ""})
	text := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(pieces, 0, 9).Draw(t, "pieces"), "") })
	c, _ := NewCollection("https://svc.example/odata/Vehicles")
	rapid.Check(t, func(t *rapid.T) {
		to, refused := c.Follow(c.at, text.Draw(t, "context"), text.Draw(t, "link"))
		if refused != nil {
			return
		}
		u, err := url.Parse(to.String())
		if err != nil {
			t.Fatalf("%v cannot be asked for", to)
		}
		path := strings.TrimSuffix(u.EscapedPath(), "/")
		if u.Scheme != "https" || u.Hostname() != "svc.example" || u.Port() != "" && u.Port() != "443" || path != "/odata/Vehicles" || u.User != nil || !web.SameOrigin(c.at, u) {
			t.Fatalf("followed %v", to)
		}
	})
}

// What Token gives builds the same link again, and what it does not give would not.
func TestToken(t *testing.T) {
	c, _ := NewCollection("https://svc.example/odata/Vehicles")
	for query, want := range map[string]string{
		"$deltatoken=d1": "d1", "%24deltatoken=d1": "d1", "$deltatoken=a%2Bb%3D+c": "a%2Bb%3D+c", "$deltatoken=a=b": "a=b",
		"$deltatoken=": "", "$deltatoken": "", "$skiptoken=d1": "", "deltatoken=d1": "", "$deltatoken=d1&x=1": "", "x=1&$deltatoken=d1": "",
		"$deltatoken=d1;x": "", "$deltatoken=%zz": "", "$deltatoken=a|b": "", "": "",
	} {
		token, ok := c.Token(&url.URL{RawQuery: query}, "$deltatoken")
		if ok != (want != "") || ok && token != want {
			t.Errorf("%s: %q, %v", query, token, ok)
		}
		if ok && c.Resume("$deltatoken", token).RawQuery != "$deltatoken="+want {
			t.Errorf("%s: built again as %s", query, c.Resume("$deltatoken", token))
		}
	}
}

// Any token makes one query option and nothing else of the link.
func TestResumeLink(t *testing.T) {
	c, _ := NewCollection("https://svc.example/odata/Vehicles")
	rapid.Check(t, func(t *rapid.T) {
		token := rapid.StringOf(rapid.RuneFrom([]rune("aZ09%2F&#;+ ?=/é\"<>\x01"))).Filter(func(s string) bool { return s != "" }).Draw(t, "token")
		u, err := url.Parse(c.Resume("$deltatoken", token).String())
		if err != nil || u.Fragment != "" || u.Path != "/odata/Vehicles" || strings.ContainsAny(u.RawQuery, "&;# \"<>") {
			t.Fatalf("%q: %v, %v", token, u, err)
		}
		if again, ok := c.Token(u, "$deltatoken"); !ok || c.Resume("$deltatoken", again).String() != u.String() {
			t.Fatalf("%q: %q", token, again)
		}
	})
}
