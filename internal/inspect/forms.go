package inspect

import (
	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/event"
)

// named is a text of a document and the path of its member.
type named struct{ path, text string }

// positionTexts are the positions that the redacted form hides.
func positionTexts(p event.Position) []named {
	return []named{{"resume.cursor", p.Cursor}, {"resume.watermark", p.Watermark}, {"resume.deltaToken", p.DeltaToken}}
}

// forms fills in the two forms and the digests. shown are the texts that both forms have, hidden those of the canonical one
// only. A form with a text that no store would keep is not shown: what looks like a secret is treated as one.
func (a *stored) forms(p event.Position, shown, hidden []named, canonical, redacted func() ([]byte, error)) {
	for _, m := range positionTexts(p) {
		if m.text == "" {
			continue
		}
		switch m.path {
		case "resume.cursor":
			a.Digests.Cursor = checkpoint.RedactPosition("cursor", m.text)
		case "resume.watermark":
			a.Digests.Watermark = checkpoint.RedactPosition("watermark", m.text)
		case "resume.deltaToken":
			a.Digests.DeltaToken = checkpoint.RedactPosition("deltaToken", m.text)
		}
	}
	text, err := canonical()
	if err != nil {
		a.Error = message(err)
		return
	}
	if a.Digests.Canonical, err = checkpoint.CanonicalDigest(text); err != nil {
		a.Error = message(err)
		return
	}
	if a.mayShow("canonical", append(shown, hidden...)) {
		a.Canonical = text
	}
	if a.mayShow("redacted", shown) {
		if a.Redacted, err = redacted(); err != nil {
			a.Error = message(err)
		}
	}
}

func (a *stored) mayShow(form string, texts []named) bool {
	for _, m := range texts {
		if checkpoint.Screen(m.text) != checkpoint.Accepted {
			if a.Withheld == nil {
				a.Withheld = map[string]string{}
			}
			a.Withheld[form] = m.path
			return false
		}
	}
	return true
}
