package ledger

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// The vocabularies of a row. A wire or profile is a word of its author, but it must look like one.
var (
	surfaces = []string{"gate", "checkpoint", "store", "transport", "session", "sse", "websocket", "odata", "fleetwake", "plugin", "report"}
	levels   = []Level{Must, Should, May}
	actors   = []string{"gate", "store", "transport", "server", "plugin", "report"}
	// Lanes are the words for where a scenario runs.
	Lanes = []string{"virtual", "process", "container"}
)

var (
	idForm       = regexp.MustCompile(`^[A-Z][A-Z0-9]{1,9}-[0-9]{3}$`)
	word         = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)
	sentenceForm = regexp.MustCompile(`^S[1-9]-[0-9]{3}$`)
	digestForm   = regexp.MustCompile(`^[0-9a-f]{16}$`)
	decisionForm = regexp.MustCompile(`^D-[0-9]{2}$`)
	caseForm     = regexp.MustCompile(`^P-[A-Z]{2,4}-[0-9]{2}$`)
)

func (r *Row) validate() error {
	switch {
	case !idForm.MatchString(r.ID):
		return fmt.Errorf("id %q is not written like GATE-012", r.ID)
	case r.Title == "" || len(r.Title) > MaxTitle || strings.ContainsAny(r.Title, "\r\n"):
		return fmt.Errorf("title is empty, more than one line, or longer than %d bytes", MaxTitle)
	case r.Behaviour == "":
		return errors.New("behaviour is missing")
	case r.Fallback == "":
		return errors.New("fallback is missing")
	case !slices.Contains(levels, r.Level):
		return fmt.Errorf("level %q is none of %v", r.Level, levels)
	case !slices.Contains(surfaces, r.Surface):
		return fmt.Errorf("surface %q is none of %v", r.Surface, surfaces)
	case !slices.Contains(actors, r.Actor):
		return fmt.Errorf("actor %q is none of %v", r.Actor, actors)
	case len(r.Authority) == 0:
		return errors.New("authority is missing")
	case len(r.Exercised) == 0:
		return errors.New("exercised is missing: without it a scenario that did nothing would pass")
	case len(r.Evidence) == 0 && r.Exclusion == "":
		return errors.New("neither evidence nor exclusion")
	case len(r.Evidence) > 0 && r.Exclusion != "":
		return errors.New("evidence and exclusion exclude each other")
	}
	return errors.Join(r.validateLists(), r.validateParts())
}

func (r *Row) validateLists() error {
	for _, list := range []struct {
		name  string
		words []string
		empty bool
	}{{"profiles", r.Profiles, false}, {"wires", r.Wires, false}, {"lanes", r.Lanes, false}, {"requires", r.Requires, true}, {"mutants", r.Mutants, true}} {
		if len(list.words) == 0 && !list.empty {
			return fmt.Errorf("%s is missing", list.name)
		}
		for i, w := range list.words {
			if !word.MatchString(w) {
				return fmt.Errorf("%s: %q is no word of small letters, digits and hyphens", list.name, w)
			}
			if slices.Contains(list.words[:i], w) {
				return fmt.Errorf("%s: %s stands there twice", list.name, w)
			}
		}
	}
	for _, lane := range r.Lanes {
		if !slices.Contains(Lanes, lane) {
			return fmt.Errorf("lane %q is none of %v", lane, Lanes)
		}
	}
	for _, e := range r.Evidence {
		if strings.HasPrefix(e, "@") && e != r.Tag() {
			return fmt.Errorf("evidence %s: only the row's own tag or a scenario's name", e)
		}
	}
	return nil
}

func (r *Row) validateParts() error {
	for _, a := range r.Authority {
		if err := a.validate(); err != nil {
			return err
		}
	}
	for _, way := range r.OrExercised {
		if len(way) == 0 {
			return errors.New("orExercised has an empty way: it would always hold")
		}
	}
	if r.MarginMs < 1 || r.MarginMs > MaxMargin {
		return fmt.Errorf("marginMs %d is not in 1 to %d", r.MarginMs, MaxMargin)
	}
	for _, c := range slices.Concat(append([][]Condition{r.Exercised}, r.OrExercised...)...) {
		if !word.MatchString(c.Actor) || !word.MatchString(c.Kind) {
			return fmt.Errorf("exercised: actor %q and kind %q must be words of the trace", c.Actor, c.Kind)
		}
		if c.Seq != "" && c.Seq != "some" && c.Seq != "none" {
			return fmt.Errorf("exercised: seq %q is neither some nor none", c.Seq)
		}
		if c.Min < 1 || c.Min > MaxMin {
			return fmt.Errorf("exercised: min %d is not in 1 to %d", c.Min, MaxMin)
		}
	}
	for _, n := range r.NotApplicable {
		if n.Arg == "" || n.Is == "" || n.Why == "" {
			return errors.New("notApplicable needs arg, is and why")
		}
	}
	return nil
}

func (a Authority) validate() error {
	set := 0
	for _, s := range []string{a.Sentence, a.Standard, a.Decision, a.Case, a.Rule} {
		if s != "" {
			set++
		}
	}
	switch {
	case set != 1:
		return errors.New("authority: exactly one of sentence, standard, decision, case, rule")
	case a.Sentence != "" && !sentenceForm.MatchString(a.Sentence):
		return fmt.Errorf("authority: sentence %q is not written like S4-017", a.Sentence)
	case a.Sentence != "" && !digestForm.MatchString(a.Digest):
		return fmt.Errorf("authority: sentence %s needs its digest of 16 hex digits", a.Sentence)
	case a.Sentence == "" && a.Digest != "":
		return errors.New("authority: a digest belongs to a sentence")
	case a.Decision != "" && !decisionForm.MatchString(a.Decision):
		return fmt.Errorf("authority: decision %q is not written like D-06", a.Decision)
	case a.Case != "" && !caseForm.MatchString(a.Case):
		return fmt.Errorf("authority: case %q is not written like P-GATE-01", a.Case)
	}
	return nil
}
