package event

import (
	"strings"
	"testing"
)

// document300 is a delta of 300 bytes as a server sends it.
var document300 = func() []byte {
	doc := `{"type":"delta","eventId":"evt-0000000000000042","sequence":42,"cursor":"c-000042","timestamp":"2026-11-30T12:00:00Z",` +
		`"upserts":[{"id":"incident-17","feature":{"geometry":{"type":"Point","coordinates":[7.44744,46.94809]},"properties":{"status":"open","note":""}}}]}`
	return []byte(strings.Replace(doc, `"note":""`, `"note":"`+strings.Repeat("n", 300-len(doc))+`"`, 1))
}()

func BenchmarkParse300(b *testing.B) {
	if len(document300) != 300 {
		b.Fatal(len(document300))
	}
	var e Event
	b.SetBytes(300)
	b.ReportAllocs()
	for b.Loop() {
		Parse(document300, &e)
	}
	if e.Kind != Delta || e.Pos.Seq != 42 {
		b.Fatal(e)
	}
}
