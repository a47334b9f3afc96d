package checkpoint

import "github.com/conform-dev/conform/core/event"

// Redacted is a checkpoint as logs, reports and telemetry may show it (facts 3.5).
type Redacted struct {
	Context Context
	Resume  event.Position // cursor, watermark and delta token are digests; sequence and timestamp stay readable
	IDs     int            // how many event ids there are instead of which
	SavedAt int64          // unix milliseconds
}

// Redact hides what somebody could resume from. It fails when Check does.
func (c *Checkpoint) Redact() (Redacted, error) {
	if err := c.Check(); err != nil {
		return Redacted{}, err
	}
	shown := c.Resume
	redactPosition(&shown)
	return Redacted{Context: c.Context, Resume: shown, IDs: len(c.RecentIDs), SavedAt: c.SavedAt}, nil
}

// redactPosition puts digests where somebody could resume from.
func redactPosition(p *event.Position) {
	for _, m := range positions(p) {
		if *m.value != "" && m.name != "timestamp" {
			*m.value = RedactPosition(m.name, *m.value)
		}
	}
}

// JSON is r in canonical form.
func (r *Redacted) JSON() ([]byte, error) {
	return appendValue(nil, members{
		{"kind", Kind},
		{"version", int64(Version)},
		{"context", r.Context.value()},
		{"resume", positionValue(r.Resume)},
		{"recentEventIdCount", int64(r.IDs)},
		{"savedAt", FormatTime(r.SavedAt)},
	})
}

// RedactedJSON is c in canonical form for logs and reports (facts 3.5): cursor, watermark and delta token are digests, the
// id list is its length; the context's fingerprints, the sequence and both times stay readable. It fails when Check does.
func (c *Checkpoint) RedactedJSON() ([]byte, error) {
	r, err := c.Redact()
	if err != nil {
		return nil, err
	}
	return r.JSON()
}
