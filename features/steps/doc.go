package steps

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Word is one phrase of the vocabulary, for people.
type Word struct {
	Keyword string // Given, When or Then
	Pattern string // the regular expression that a step must match
	re      *regexp.Regexp
}

// Words lists the vocabulary in the order of Given, When, Then.
func Words() []Word {
	p := &play{}
	var out []Word
	for _, part := range []struct {
		keyword string
		phrases []phrase
	}{{"Given", p.given()}, {"When", slices.Concat(p.when(), p.laneWhen())}, {"Then", slices.Concat(p.then(), p.laneThen())}} {
		for _, ph := range part.phrases {
			out = append(out, Word{part.keyword, ph.text, regexp.MustCompile("^" + ph.text + "$")})
		}
	}
	return out
}

// lanes matches every phrase of the wake lane.
var lanes = sync.OnceValue(func() []*regexp.Regexp {
	var out []*regexp.Regexp
	for _, text := range LanePhrases() {
		out = append(out, regexp.MustCompile("^"+text+"$"))
	}
	return out
})

// OfLane says whether a step's text, without its keyword, is one of the wake lane's: no feed has it.
func OfLane(text string) bool {
	return slices.ContainsFunc(lanes(), func(re *regexp.Regexp) bool { return re.MatchString(strings.TrimSpace(text)) })
}

// Match says whether a step's text, without its keyword, is this phrase.
func (w Word) Match(text string) bool { return w.re.MatchString(strings.TrimSpace(text)) }
