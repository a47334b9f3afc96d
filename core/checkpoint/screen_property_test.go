package checkpoint

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// codeAll percent-codes every byte of s.
func codeAll(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		fmt.Fprintf(&b, "%%%02x", s[i])
	}
	return b.String()
}

// runes draws a text of some characters.
func runes(alphabet string, least, most int) *rapid.Generator[string] {
	return rapid.StringOfN(rapid.RuneFrom([]rune(alphabet)), least, most, -1)
}

const (
	alnum = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	base  = alnum + "-_"
	// separators may stand anywhere in a name that is the whole text; those of inName also in the name of an assignment.
	separators = inName + "&;?#,=: \t"
	inName     = "-_.$/|~!*'\"()[]{}éß\u0301"
	spaces     = " \t\v\f\u00a0\u3000\ufeff"
)

// planted is a text with a credential in it, in one of the ways that the issue of the screen names.
func planted(t *rapid.T) string {
	switch rapid.SampledFrom([]string{"whole", "assigned", "user", "query", "fragment", "scheme", "jwt"}).Draw(t, "way") {
	case "whole":
		return spread(t, credentialName(t), separators)
	case "assigned":
		head := ""
		if rapid.Bool().Draw(t, "in a later piece") {
			head = runes(base+inName+separators, 0, 12).Draw(t, "head") + runes("&;?#,"+spaces, 1, 2).Draw(t, "end")
		}
		name := spread(t, credentialName(t), inName)
		gap := runes(spaces, 0, 2).Draw(t, "gap")
		return head + name + gap + rapid.SampledFrom([]string{"=", ":"}).Draw(t, "is") + rapid.StringN(0, 10, -1).Draw(t, "value")
	case "user":
		user := runes(base, 1, 8).Draw(t, "user")
		if rapid.Bool().Draw(t, "with password") {
			user = runes(base, 0, 8).Draw(t, "name") + ":" + user
		}
		return link0(t) + "://" + user + "@" + host(t) + path(t)
	case "query":
		return link0(t) + "://" + host(t) + path(t) + "?" + runes(base+"=&", 1, 12).Draw(t, "query")
	case "fragment":
		return link0(t) + "://" + host(t) + path(t) + "#" + runes(base+"=&?", 1, 12).Draw(t, "fragment")
	case "scheme":
		word := rapid.SampledFrom([]string{"Bearer", "Basic", "Digest", "Negotiate"}).Draw(t, "word")
		return word + runes(spaces, 1, 3).Draw(t, "space") + runes(base+".=", 1, 12).Draw(t, "credential")
	}
	around := runes(base+separators+inName, 0, 8)
	jwt := "eyJ" + runes(base, 0, 12).Draw(t, "header") + "." + runes(base, 0, 12).Draw(t, "claims") + "." + runes(base, 0, 12).Draw(t, "signature")
	return around.Draw(t, "before") + jwt + around.Draw(t, "behind")
}

func link0(t *rapid.T) string {
	return rapid.SampledFrom([]string{"https", "http", "wss", "ftp", "foo", "cursor:https", "file"}).Draw(t, "link")
}

func host(t *rapid.T) string {
	return rapid.SampledFrom([]string{"example.test", "h", "10.0.0.1", "[::1]:8443", "exämple.test", "h:80"}).Draw(t, "host")
}

func path(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "/", "/a/b", "/@here"}).Draw(t, "path")
}

// credentialName is a name that the vocabulary of facts 4.6 has, written down here a second time.
func credentialName(t *rapid.T) string {
	exact := strings.Fields("auth awsaccesskeyid bearer code credentials expires googleaccessid jwt key keypairid passwd policy pwd sas session sessionid sig")
	tails := strings.Fields("accountkey accesskey apikey authorization consumerkey cookie credential encryptionkey masterkey passphrase password privatekey secret secretkey signingkey signature storagekey subscriptionkey token")
	more := runes(alnum, 0, 8)
	switch rapid.IntRange(0, 2).Draw(t, "kind") {
	case 0:
		return rapid.SampledFrom(exact).Draw(t, "word")
	case 1:
		return more.Draw(t, "before") + rapid.SampledFrom(tails).Draw(t, "tail")
	}
	return rapid.SampledFrom([]string{"xamz", "xgoog"}).Draw(t, "head") + more.Draw(t, "after")
}

// spread puts separators between the characters of a name.
func spread(t *rapid.T, name, separators string) string {
	var b strings.Builder
	for i, r := range name {
		if i > 0 && rapid.IntRange(0, 3).Draw(t, "apart") == 0 {
			b.WriteString(runes(separators, 1, 2).Draw(t, "separator"))
		}
		b.WriteRune(r)
	}
	return b.String()
}

// disguised mixes the case of a text and codes parts of it, up to four times over.
func disguised(t *rapid.T, text string) string {
	if rapid.Bool().Draw(t, "mix case") {
		text = strings.Map(func(r rune) rune {
			if r < 0x80 && rapid.Bool().Draw(t, "upper") {
				return []rune(strings.ToUpper(string(r)))[0]
			}
			return r
		}, text)
	}
	for round := range rapid.IntRange(0, MaxFoldRounds).Draw(t, "rounds") {
		if round == 0 && strings.ContainsRune(text, '%') {
			break // the text has codes of its own
		}
		every := rapid.IntRange(1, 4).Draw(t, "every")
		var b strings.Builder
		for _, r := range text {
			// A percent sign has to be coded, or it would begin a code of its own.
			if r == '%' || every == 1 || rapid.IntRange(1, every).Draw(t, "code") == 1 {
				b.WriteString(codeAll(string(r)))
			} else {
				b.WriteRune(r)
			}
		}
		text = b.String()
	}
	return text
}

// plantedIsRefused is the property: nothing that carries a credential as whole name, as name of the first assignment of a
// piece, in a URL's user, query or fragment, after a scheme word or as a JWT is accepted, whatever its case, its separators
// and up to four rounds of percent coding.
func plantedIsRefused(t *rapid.T) {
	text := planted(t)
	if dressed := disguised(t, text); Screen(dressed) == Accepted {
		t.Fatalf("%q is accepted, written as %q", text, dressed)
	}
}

// harmlessIsAccepted: the accepted texts of the table stay accepted in any case, in up to four rounds of percent coding and
// with white space around them. Links stay uncoded here: half a code makes them something else.
func harmlessIsAccepted(lines []verdictLine) func(t *rapid.T) {
	var fine []string
	for _, line := range lines {
		if line.want == Accepted.String() {
			fine = append(fine, line.text)
		}
	}
	return func(t *rapid.T) {
		text := rapid.SampledFrom(fine).Draw(t, "text")
		dressed := text
		if !strings.ContainsAny(text, "?#@") {
			dressed = disguised(t, text)
		}
		dressed = runes(" \t", 0, 2).Draw(t, "before") + dressed + runes(" \t", 0, 2).Draw(t, "behind")
		if v := Screen(dressed); v != Accepted {
			t.Fatalf("%q is %v, written as %q", text, v, dressed)
		}
	}
}

func TestPlantedIsRefused(t *testing.T) { rapid.Check(t, plantedIsRefused) }

func TestHarmlessIsAccepted(t *testing.T) { rapid.Check(t, harmlessIsAccepted(verdictLines(t))) }

func FuzzPlanted(f *testing.F) { f.Fuzz(rapid.MakeFuzz(plantedIsRefused)) }

// FuzzScreen: no text makes the screen panic or hang; one round of percent coding more never makes a refused text
// acceptable; and the spaces around a text are no part of it.
func FuzzScreen(f *testing.F) {
	for _, line := range verdictLines(f) {
		f.Add(line.text)
	}
	f.Add("https://[::1%25]/\x00%")
	f.Fuzz(func(t *testing.T, text string) {
		v := Screen(text)
		if Screen(text) != v {
			t.Fatal("not a function")
		}
		if v != Accepted && Screen(codeAll(text)) == Accepted {
			t.Fatalf("%q is %v, coded it is accepted", text, v)
		}
		if again := Screen(strings.Trim(text, " ")); again != v {
			t.Fatalf("%q is %v, without spaces around it %v", text, v, again)
		}
	})
}
