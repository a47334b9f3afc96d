package checkpoint

// RedactedJSON is c in canonical form for logs and reports (facts 3.5): cursor, watermark and delta token are digests, the
// id list is its length; the context's fingerprints, the sequence and both times stay readable. It fails when Check does.
func (c *Checkpoint) RedactedJSON() ([]byte, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	shown := c.Resume
	for _, m := range positions(&shown) {
		if *m.value != "" && m.name != "timestamp" {
			*m.value = RedactPosition(m.name, *m.value)
		}
	}
	return appendValue(nil, members{
		{"kind", Kind},
		{"version", int64(Version)},
		{"context", c.Context.value()},
		{"resume", positionValue(shown)},
		{"recentEventIdCount", int64(len(c.RecentIDs))},
		{"savedAt", FormatTime(c.SavedAt)},
	})
}
