package host

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/conform-dev/conform/core/transport"
)

const (
	hidden = "[REDACTED]"
	// minPart is the shortest part of a secret that is hidden by itself, for example the token behind "Bearer": shorter ones are
	// scheme words.
	minPart = 8
	// minTail is the shortest beginning of a secret that is hidden at the end of an unfinished line.
	minTail = 4
)

// redactor replaces the secrets that were handed to a plugin in whatever the plugin prints: as given, in part, quoted and in the usual
// encodings. It is safe for concurrent use.
type redactor struct {
	mu      sync.RWMutex
	secrets []string   // as given, latest last
	forms   [][]string // of each secret, longest first
}

// learn remembers the secrets of a.
func (r *redactor) learn(a transport.Attempt) {
	r.add(a.Credential.Value.Reveal())
	for i, h := range a.Headers {
		if i < transport.MaxHeaders { // more are refused, and must not push others out
			r.add(h.Value.Reveal())
		}
	}
	r.add(keyBody(a.TLS.Key.Reveal()))
	for _, address := range []string{a.Endpoint, a.Proxy.Reveal()} {
		if u, err := url.Parse(address); err == nil && u.User != nil {
			if password, ok := u.User.Password(); ok {
				r.add(password)
				r.add(u.User.Username() + ":" + password) // as Basic encodes it
			}
		}
	}
}

// keyBody is a private key in PEM without the lines that begin and end it, which are no secret.
func keyBody(key string) string {
	var body strings.Builder
	for line := range strings.Lines(key[:min(len(key), transport.MaxKey)]) {
		if !strings.HasPrefix(line, "-----") {
			body.WriteString(line)
		}
	}
	return strings.TrimSpace(body.String())
}

func (r *redactor) add(secret string) {
	if secret == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.Contains(r.secrets, secret) {
		return
	}
	if len(r.secrets) == maxSecrets {
		r.secrets, r.forms = r.secrets[1:], r.forms[1:]
	}
	r.secrets = append(r.secrets, secret)
	r.forms = append(r.forms, formsOf(secret))
}

// formsOf lists the texts under which a secret may show up.
func formsOf(secret string) []string {
	parts := []string{secret}
	for _, part := range strings.Fields(secret) {
		if len(part) >= minPart {
			parts = append(parts, part)
		}
	}
	var forms []string
	for _, part := range parts {
		quoted := strconv.Quote(part)
		forms = append(forms, part, quoted[1:len(quoted)-1], url.QueryEscape(part), url.PathEscape(part))
		if len(part) >= minPart {
			forms = append(forms,
				base64.RawStdEncoding.EncodeToString([]byte(part)), base64.RawURLEncoding.EncodeToString([]byte(part)))
		}
	}
	for i, form := range forms {
		forms[i] = form[:min(len(form), maxSecret)]
	}
	slices.SortFunc(forms, func(a, b string) int { return len(b) - len(a) })
	return slices.Compact(forms)
}

// span is a half-open range of bytes.
type span struct{ from, to int }

// text hides the secrets in a text that is complete.
func (r *redactor) text(text string) string { return r.line(text, len(text), true) }

// signal hides the secrets in the texts of s that people will read. The content of a wake is data and stays as it came.
func (r *redactor) signal(s *transport.Signal) {
	texts := []*string{&s.Detail}
	if s.WakeState != nil {
		texts = append(texts, &s.WakeState.Reason)
	}
	if s.CatchUp != nil {
		texts = append(texts, &s.CatchUp.Reason)
	}
	for _, text := range texts {
		if *text != "" {
			*text = r.text(*text)
		}
	}
}

// line hides the secrets in text and gives the part before limit. A secret that begins before limit is hidden whole. With complete
// false, a beginning of a secret at the very end is hidden too: the rest of it may be what is missing.
func (r *redactor) line(text string, limit int, complete bool) string {
	spans := r.find(text, complete)
	var out strings.Builder
	at := 0
	for _, s := range spans {
		if s.from >= limit {
			break
		}
		if s.to <= at {
			continue
		}
		if s.from >= at {
			out.WriteString(text[at:s.from])
			out.WriteString(hidden)
		}
		at = s.to
	}
	if at < limit {
		out.WriteString(text[at:min(limit, len(text))])
	}
	return out.String()
}

// find gives the spans to hide, by where they begin; they may overlap.
func (r *redactor) find(text string, complete bool) []span {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var spans []span
	for _, forms := range r.forms {
		for _, form := range forms {
			for at := 0; ; {
				i := strings.Index(text[at:], form)
				if i < 0 {
					break
				}
				spans = append(spans, span{at + i, at + i + len(form)})
				at += i + 1
			}
			if complete {
				continue
			}
			for n := min(len(form)-1, len(text)); n >= minTail; n-- {
				if strings.HasSuffix(text, form[:n]) {
					spans = append(spans, span{len(text) - n, len(text)})
					break
				}
			}
		}
	}
	slices.SortFunc(spans, func(a, b span) int {
		if a.from != b.from {
			return a.from - b.from
		}
		return b.to - a.to
	})
	return spans
}
