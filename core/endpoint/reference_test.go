package endpoint

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/conform-dev/conform/core/transport"
)

const canary = "canary-0123456789"

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "value")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestHeadersByReference(t *testing.T) {
	t.Setenv("CONFORM_TEST_KEY", canary)
	path := write(t, canary+"-file\r\n\n")
	source, err := Headers("x-api-key=env:CONFORM_TEST_KEY", "X-Tenant=file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := source(context.Background())
	if err != nil || len(got) != 2 || got[0].Name != "X-Api-Key" || got[0].Value.Reveal() != canary || got[1].Name != "X-Tenant" || got[1].Value.Reveal() != canary+"-file" {
		t.Errorf("%v, %v", got, err)
	}
	// A rotated file is found at the next call, and one that went away is told.
	if err := os.WriteFile(path, []byte("rotated"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := source(context.Background()); err != nil || got[1].Value.Reveal() != "rotated" {
		t.Errorf("after the rotation: %v, %v", got, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := source(context.Background()); err == nil || err.Error() != "headers: X-Tenant: file "+path+": no such file or directory" {
		t.Errorf("without the file: %v", err)
	}
	if none, err := Headers(); err != nil {
		t.Error(err)
	} else if got, err := none(context.Background()); err != nil || len(got) != 0 {
		t.Errorf("no references: %v, %v", got, err)
	}
}

// What is no reference is refused, and not shown: it may be the value itself.
func TestBadReferences(t *testing.T) {
	t.Setenv("CONFORM_TEST_KEY", canary)
	t.Setenv("CONFORM_TEST_EMPTY", "")
	t.Setenv("CONFORM_TEST_LINES", canary+"\n"+canary)
	t.Setenv("CONFORM_TEST_LONG", canary+strings.Repeat("x", transport.MaxHeaderValue))
	dir, empty, lines, large := t.TempDir(), write(t, "\n"), write(t, canary+"\r\n"+canary), write(t, canary+strings.Repeat("x", transport.MaxHeaderValue))
	const none = "headers: reference 1 is not NAME=env:VARIABLE or NAME=file:PATH; the value itself does not belong here"
	for ref, want := range map[string]string{
		"":                              none,
		canary:                          none,
		canary + "==":                   none,
		"X-Key=" + canary:               none,
		"X-Key: " + canary:              none,
		"X-Key=env:":                    none,
		"X-Key=file:":                   none,
		"X-Key=file:a\x00b":             none,
		"X-Key=env:NOT A NAME":          none,
		"X-Key=env:1" + canary:          none,
		"X-Key=http:" + canary:          none,
		"X Key=env:CONFORM_TEST_KEY":    none,
		"X-Key=env:CONFORM_TEST_NONE":   "headers: X-Key: environment variable CONFORM_TEST_NONE is not set",
		"X-Key=env:CONFORM_TEST_EMPTY":  "headers: X-Key: environment variable CONFORM_TEST_EMPTY is empty",
		"X-Key=env:CONFORM_TEST_LINES":  "headers: X-Key: environment variable CONFORM_TEST_LINES holds a byte that no header may hold, or white space around the value",
		"X-Key=env:CONFORM_TEST_LONG":   "headers: X-Key: environment variable CONFORM_TEST_LONG holds 8209 bytes, the limit is 8192",
		"X-Key=file:" + dir:             "headers: X-Key: file " + dir + " is no regular file",
		"X-Key=file:" + dir + "/none":   "headers: X-Key: file " + dir + "/none: no such file or directory",
		"X-Key=file:" + empty:           "headers: X-Key: file " + empty + " is empty",
		"X-Key=file:" + lines:           "headers: X-Key: file " + lines + " holds a byte that no header may hold, or white space around the value",
		"X-Key=file:" + large:           "headers: X-Key: file " + large + " is larger than 8194 bytes",
		"X-Key=file:/dev/zero":          "headers: X-Key: file /dev/zero is no regular file",
		"Host=env:CONFORM_TEST_KEY":     "headers: Host would send the request to another site than the endpoint names",
		"te=env:CONFORM_TEST_KEY":       "headers: Te belongs to the connection, which the transport manages",
		"Cookie=env:CONFORM_TEST_KEY":   "headers: Cookie is a credential; hand it over as one",
		"X-A\r\n=env:CONFORM_TEST_KEY":  none,
		"\xff\xfe=env:CONFORM_TEST_KEY": none,
	} {
		_, err := Headers(ref)
		if err == nil || err.Error() != want {
			t.Errorf("%q:\ngot  %v\nwant %s", ref, err, want)
		}
		if err != nil && strings.Contains(err.Error(), canary) {
			t.Errorf("%q: the error shows the value", ref)
		}
	}
	if _, err := Headers(make([]string, transport.MaxHeaders+1)...); err == nil || err.Error() != "headers: 25 of them, the limit is 24" {
		t.Errorf("too many: %v", err)
	}
	if _, err := Headers("X=env:CONFORM_TEST_KEY", "x=env:CONFORM_TEST_KEY"); err == nil || err.Error() != "headers: X is there twice" {
		t.Errorf("the same twice: %v", err)
	}
}

func TestCredentialByReference(t *testing.T) {
	path := write(t, "Bearer "+canary+"\n")
	source, err := Credential("authorization=file:" + path)
	if err != nil {
		t.Fatal(err)
	}
	if c, scope, err := source(context.Background(), false); err != nil || scope != "" || c.Header != "Authorization" || c.Value.Reveal() != "Bearer "+canary {
		t.Errorf("%v, %q, %v", c, scope, err)
	}
	if err := os.WriteFile(path, []byte("Bearer renewed"), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, _, err := source(context.Background(), true); err != nil || c.Value.Reveal() != "Bearer renewed" {
		t.Errorf("after a 401: %v, %v", c, err)
	}
	for ref, want := range map[string]string{
		"Bearer " + canary:           "credential: the reference is not NAME=env:VARIABLE",
		"Host=file:" + path:          "credential: Host would send",
		"Cookie=env:CONFORM_NOT_SET": "credential: Cookie: environment variable CONFORM_NOT_SET is not set",
	} {
		if _, err := Credential(ref); err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), canary) {
			t.Errorf("%q: %v", ref, err)
		}
	}
}

func FuzzReference(f *testing.F) {
	f.Add("X-Key=env:HOME")
	f.Add("X-Key=file:/etc/hostname")
	f.Add("=:")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parse(text)
		if err != nil && (err != errNoReference) || err == nil && (r.env == "") == (r.file == "") {
			t.Errorf("%q: %+v, %v", text, r, err)
		}
	})
}
