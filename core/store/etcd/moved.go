package etcd

import "github.com/conform-dev/conform/core/checkpoint"

// forward says whether a document may replace one that another store put in its place: it must not lie behind it. What is
// there and no record counts for nothing. Positions compare only within one numbering, so a record of other versions
// stays: which of the two is the newer one, no number says.
func forward(there, doc []byte) bool {
	old, err := checkpoint.DecodeRecord(there)
	if err != nil {
		return true
	}
	rec, err := checkpoint.DecodeRecord(doc)
	if err != nil {
		return false
	}
	return rec.SourceVersion == old.SourceVersion && rec.SchemaVersion == old.SchemaVersion && rec.Resume.Seq >= old.Resume.Seq
}
