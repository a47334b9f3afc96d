package checkpoint

import (
	"strings"
	"unicode/utf8"
)

// Verdict is what the screen says of a text that is about to be stored (facts 4.6).
type Verdict uint8

// The three verdicts. A refused text is never rewritten: it is not stored at all.
const (
	Accepted         Verdict = iota
	CredentialShaped         // reads like the name of a credential, holds one, or hides what it is behind percent coding
	URLShaped                // a link with a user, a query or a fragment, or a piece of one
)

var verdicts = [...]string{"accepted", "credential-shaped", "url-shaped"}

// String is the word for people and reports.
func (v Verdict) String() string {
	if int(v) >= len(verdicts) {
		return verdicts[CredentialShaped]
	}
	return verdicts[v]
}

// MaxFoldRounds is how often percent coding is taken off. A text that is still coded after that hides something: refused.
const MaxFoldRounds = 4

// Screen says whether a text may be stored. It looks at the text as a person would who wants to know whether there is a
// credential in it: percent coding, case and separators do not count. The rules are those of facts 4.6 with D-27; where
// they go further than the reference is said at each.
func Screen(text string) Verdict {
	all, n := fold(text)
	if n == 0 || credential(all[n-1]) {
		return CredentialShaped
	}
	// The reference looks at the shape of the raw text alone, so that one round of percent coding hides a link. Here no
	// form may be a link that the raw text may not be.
	for _, f := range all[:n] {
		if link(f) {
			return URLShaped
		}
	}
	return Accepted
}

// forms are what a text is, with one round of percent coding less in each. It is an array since each save screens.
type forms [MaxFoldRounds + 2]string

// fold takes percent coding off, round by round. The first form is the text itself; every later one, and the last one
// always, is trimmed and in lower case. There is none, n is 0, for coding that is broken or deeper than MaxFoldRounds.
func fold(text string) (all forms, n int) {
	now := strings.ToLower(trim(text))
	all[0], n = text, 1
	for range MaxFoldRounds {
		if !coded(now) {
			if n == 1 {
				all[n], n = now, n+1
			}
			return all, n
		}
		var ok bool
		if now, ok = uncode(now); !ok {
			return all, 0
		}
		now = strings.ToLower(trim(now))
		all[n], n = now, n+1
	}
	if coded(now) {
		return all, 0
	}
	return all, n
}

// coded says whether there is a percent sign with two hex digits.
func coded(s string) bool {
	for i := 0; i+2 < len(s); i++ {
		if s[i] == '%' && hexDigit(s[i+1]) >= 0 && hexDigit(s[i+2]) >= 0 {
			return true
		}
	}
	return false
}

// uncode takes one round of percent coding off as decodeURIComponent does: every percent sign begins a code, and the codes
// next to each other are UTF-8 in themselves.
func uncode(s string) (string, bool) {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		if s[i] != '%' {
			out = append(out, s[i])
			i++
			continue
		}
		from := len(out)
		for ; i < len(s) && s[i] == '%'; i += 3 {
			if i+2 >= len(s) || hexDigit(s[i+1]) < 0 || hexDigit(s[i+2]) < 0 {
				return "", false
			}
			out = append(out, byte(hexDigit(s[i+1])<<4|hexDigit(s[i+2])))
		}
		if !utf8.Valid(out[from:]) {
			return "", false
		}
	}
	return string(out), true
}

func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// credential says whether a folded text is the name of a credential, assigns one, or holds one (D-27).
func credential(folded string) bool {
	return names(folded) || assigns(folded) || schemeWord(folded) || holdsJWT(folded)
}

// assigns says whether the first assignment in one of the text's pieces is to the name of a credential. Pieces end at
// `& ; ? # ,` and white space. White space before `=` or `:` belongs to the assignment, so that `password = x` is one; the
// reference takes that for a piece without any.
func assigns(folded string) bool {
	if !strings.ContainsAny(folded, "=:") {
		return false
	}
	isEnd := func(r rune) bool { return strings.ContainsRune("&;?#,", r) || isScriptSpace(r) }
	for rest := folded; rest != ""; {
		n := strings.IndexFunc(rest, isEnd)
		piece, after := rest, ""
		if n >= 0 {
			piece, after = rest[:n], strings.TrimLeftFunc(rest[n:], isScriptSpace)
		}
		name, _, found := cutAny(piece, "=:")
		if !found {
			found = after != "" && (after[0] == '=' || after[0] == ':')
		}
		if found && names(name) {
			return true
		}
		rest = strings.TrimLeftFunc(after, isEnd)
	}
	return false
}

func cutAny(s, marks string) (before, after string, found bool) {
	if i := strings.IndexAny(s, marks); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}

// schemeWord says whether the text begins as the value of an Authorization header does (D-27).
func schemeWord(folded string) bool {
	for _, word := range [...]string{"bearer", "basic", "digest", "negotiate"} {
		if rest, ok := strings.CutPrefix(folded, word); ok {
			r, _ := utf8.DecodeRuneInString(rest)
			return rest != "" && isScriptSpace(r)
		}
	}
	return false
}

// holdsJWT says whether there is a JWT somewhere in the text: two dots, the first part begins with what `{"` looks like in
// base64 (D-27). The text is folded, so a token whose case was changed is found too.
func holdsJWT(folded string) bool {
	const head = "eyj"
	for at := strings.Index(folded, head); at >= 0; {
		rest := base64Tail(folded[at:])
		if claims, ok := strings.CutPrefix(rest, "."); ok {
			if strings.HasPrefix(base64Tail(claims), ".") {
				return true
			}
		}
		// A later head in the same run would end at the same place: go on behind the run.
		next := strings.Index(rest, head)
		if next < 0 {
			return false
		}
		at = len(folded) - len(rest) + next
	}
	return false
}

// base64Tail is what follows the characters of base64url, padding included.
func base64Tail(s string) string {
	return strings.TrimLeft(s, "abcdefghijklmnopqrstuvwxyz0123456789-_=")
}
