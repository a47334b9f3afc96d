package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"slices"
	"strings"

	"github.com/conform-dev/conform/core/judge"
)

// Redacted stands where a secret stood.
const Redacted = "[REDACTED]"

// MaxSecrets bounds what a redactor knows: a run has a handful of credentials and one planted secret per scenario.
const MaxSecrets = 10000

// Redactor takes known secrets out of everything that is written (law 7). Secrets shorter than judge.MinSecret cannot be told
// from ordinary words; whoever uses such a one has none.
type Redactor struct {
	pairs []string
	known int
}

// NewRedactor knows the given secrets. Canaries of the traces are added by Write.
func NewRedactor(secrets ...string) *Redactor {
	r := &Redactor{}
	for _, s := range secrets {
		r.add(s, Redacted)
	}
	return r
}

// add makes r replace every form of a secret.
func (r *Redactor) add(secret, mark string) {
	if len(secret) < judge.MinSecret || secret == mark || r.known >= MaxSecrets {
		return
	}
	r.known++
	forms := judge.Forms(secret)
	if quoted, err := json.Marshal(secret); err == nil {
		forms = append(forms, strings.Trim(string(quoted), `"`))
	}
	var plain bytes.Buffer
	enc := json.NewEncoder(&plain)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(secret); err == nil {
		forms = append(forms, strings.Trim(plain.String(), "\"\n"))
	}
	var escaped bytes.Buffer
	if err := xml.EscapeText(&escaped, []byte(secret)); err == nil {
		forms = append(forms, escaped.String())
	}
	slices.Sort(forms)
	for _, f := range slices.Compact(forms) {
		r.pairs = append(r.pairs, f, mark)
	}
}

// canaries adds the secrets that the traces of a run planted.
func (r *Redactor) canaries(run *Run) *Redactor {
	out := &Redactor{pairs: slices.Clone(r.pairs), known: r.known}
	seen := map[string]bool{}
	for i := range run.Results {
		for _, secret := range judge.Canaries(run.Results[i].Records) {
			if !seen[secret] {
				seen[secret] = true
				out.add(secret, judge.Masked)
			}
		}
	}
	return out
}

// replacer tries longer forms first, so that a secret which holds another one is taken out whole.
func (r *Redactor) replacer() *strings.Replacer {
	type pair struct{ form, mark string }
	var all []pair
	for i := 0; i+1 < len(r.pairs); i += 2 {
		all = append(all, pair{r.pairs[i], r.pairs[i+1]})
	}
	slices.SortStableFunc(all, func(a, b pair) int { return len(b.form) - len(a.form) })
	var flat []string
	for _, p := range all {
		flat = append(flat, p.form, p.mark)
	}
	return strings.NewReplacer(flat...)
}

// Text is text without known secrets.
func (r *Redactor) Text(text string) string {
	if r == nil || len(r.pairs) == 0 {
		return text
	}
	return r.replacer().Replace(text)
}
