package checkpoint

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/conform-dev/conform/core/event"
)

// verdictLine is one line of a table below testdata/screen.
type verdictLine struct {
	at   string
	want string
	text string
}

func verdictLines(t testing.TB) []verdictLine {
	t.Helper()
	files, err := filepath.Glob("testdata/screen/*")
	if err != nil || len(files) != 3 {
		t.Fatalf("%q, %v", files, err)
	}
	var out []verdictLine
	for _, path := range files {
		doc, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(doc), "\n") {
			if line == "" || line[0] == '#' {
				continue
			}
			want, text, ok := strings.Cut(line, " ")
			if !ok {
				t.Fatalf("%s:%d: %q", path, i+1, line)
			}
			out = append(out, verdictLine{fmt.Sprintf("%s:%d", path, i+1), want, text})
		}
	}
	return out
}

// TestScreenVerdicts: every verdict of the facts sheet, of D-27 and of P-CK-05 (testdata/screen), and each of them with white
// space around the text, which changes none.
func TestScreenVerdicts(t *testing.T) {
	count := map[string]int{}
	for _, line := range verdictLines(t) {
		count[line.want]++
		for _, text := range []string{line.text, " " + line.text, "\t" + line.text + "\n "} {
			if got := Screen(text).String(); got != line.want {
				t.Errorf("%s: %q is %s, want %s", line.at, text, got, line.want)
			}
		}
	}
	if count["accepted"] < 60 || count["credential-shaped"] < 100 || count["url-shaped"] < 15 || len(count) != 3 {
		t.Errorf("the tables have lost lines: %v", count)
	}
}

// TestScreenFolds: coding is taken off four times, and broken coding is refused.
func TestScreenFolds(t *testing.T) {
	text := "="
	for rounds := 0; rounds <= MaxFoldRounds+2; rounds++ {
		want := Accepted
		if rounds > MaxFoldRounds {
			want = CredentialShaped
		}
		if got := Screen("seq" + text + "5"); got != want {
			t.Errorf("%d rounds: %v", rounds, got)
		}
		text = codeAll(text)
	}
	for _, broken := range []string{"%41%", "%41%4", "%zz%41", "%ff", "%c0%80", "%ed%a0%80", "%e2%82", "%e2\x82\xac", "%2541%25zz%41"} {
		if got := Screen(broken); got != CredentialShaped {
			t.Errorf("%q: %v", broken, got)
		}
	}
	for _, fine := range []string{"%e2%82%ac", "%F0%9F%98%80", "%2541", "%25zz", "\xff%41", ""} {
		if got := Screen(fine); got != Accepted {
			t.Errorf("%q: %v", fine, got)
		}
	}
}

// TestParseURL: what is an absolute URL beyond doubt, and which parts it has.
func TestParseURL(t *testing.T) {
	const none = "none"
	for text, want := range map[string]string{
		"https://example.test/a": "", "HTTPS://example.test": "", "https:example.test": "", `https:\\example.test\a@b`: "",
		"https:///example.test": "", "a:": "", "a:b": "", "a+b-c.d1:x": "", "foo://": "", "foo:///x@y": "", "foo:/x@y": "",
		" https://example.test/ ": "", "ht\ntps://example.test/": "", "https://1.2.3.4/": "", "https://[::1]:80/a": "",
		"https://a..b/": "", "https://host:/": "", "https://host:65535/": "", "https://@host/": "", "https://:@host/": "",
		"file:///a": "", "file:a": "", `file:\\host\a`: "", "mailto:a@b": "", "https://host/@": "", "https://host/a?": "", "https://host/a#": "", "https://host?#": "",

		"https://u@host/": "user", "https://u:p@host/": "user", "https://:p@host/": "user", "https://a@b@host": "user",
		"https:u@host": "user", "foo://u@host": "user", `https:/\u@host`: "user",
		"https://host?x": "query", "a:?x": "query", "file:///a?x": "query", "https://host/?#x": "fragment", "a:#?": "fragment",
		"https://u@host/?x#y": "user query fragment",

		"": none, ":": none, "1a:b": none, "a b:c": none, "é:x": none, "host/path": none, "//host": none,
		"https:": none, "https://": none, "https:///": none, "https://u@": none, "https://:80": none, "https://u@/x": none,
		"https://host:65536/": none, "https://host:8x/": none, "https://host:1:2/": none, "https://ex ample/": none,
		"https://[::1/": none, "https://[1.2.3.4]/": none, "https://[::1%25en0]/": none, "https://[::1]x/": none,
		"https://a%2fb/": none, "https://a|b/": none, "foo://a b": none, "foo://u@": none, "foo://:1": none,
		// In doubt.
		"https://exämple.test/": none, "https://xn--a/": none, "https://1.2.3/": none, "https://0x7f.1/": none, "https://256.1.1.1/": none,
		"https://1.2.3.4./": none, "file://u@host/": none, "file:///C:/@": none, "file://C:/a": none, "file://a b/": none, "https://%41/": none,
	} {
		got := none
		if u, ok := parseURL(text); ok {
			var parts []string
			for _, p := range []struct {
				name string
				has  bool
			}{{"user", u.user}, {"query", u.query}, {"fragment", u.fragment}} {
				if p.has {
					parts = append(parts, p.name)
				}
			}
			got = strings.Join(parts, " ")
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestRecordScreen: the texts of a record are screened in the contract's order, and the first that is refused is named.
func TestRecordScreen(t *testing.T) {
	fill := []struct {
		path string
		to   func(*Record) *string
	}{
		{"sourceId", func(r *Record) *string { return &r.SourceID }},
		{"queryFingerprint", func(r *Record) *string { return &r.QueryFingerprint }},
		{"sourceVersion", func(r *Record) *string { return &r.SourceVersion }},
		{"schemaVersion", func(r *Record) *string { return &r.SchemaVersion }},
		{"resume.cursor", func(r *Record) *string { return &r.Resume.Cursor }},
		{"resume.watermark", func(r *Record) *string { return &r.Resume.Watermark }},
		{"resume.timestamp", func(r *Record) *string { return &r.Resume.Timestamp }},
		{"resume.deltaToken", func(r *Record) *string { return &r.Resume.DeltaToken }},
	}
	c := example()
	r, err := NewRecord(&c, 0)
	if err != nil {
		t.Fatal(err)
	}
	if path, v := r.Screen(); path != "" || v != Accepted {
		t.Fatalf("%s is %v", path, v)
	}
	// From the last to the first: each one is found before those behind it.
	for i := len(fill) - 1; i >= 0; i-- {
		text, want := "token=1", CredentialShaped
		if i%2 == 0 {
			text, want = "https://u@host/", URLShaped
		}
		*fill[i].to(&r) = text
		if path, v := r.Screen(); path != fill[i].path || v != want {
			t.Errorf("got %s %v, want %s", path, v, fill[i].path)
		}
	}
	r = Record{Resume: event.Position{Seq: 1}}
	if path, v := r.Screen(); v != Accepted {
		t.Errorf("absent texts: %s is %v", path, v)
	}
}
