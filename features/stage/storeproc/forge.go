package storeproc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"

	"go.etcd.io/bbolt"
)

// Forge replaces text in every record of a file that nobody has open, and seals the record again: it is what another program could
// have written. A record begins with one byte for its form and four for the sum of the key and of what follows.
func Forge(path string, from, to []byte) error {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: Patience})
	if err != nil {
		return err
	}
	forged := 0
	err = db.Update(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(_ []byte, b *bbolt.Bucket) error {
			var keys, values [][]byte
			err := b.ForEach(func(k, v []byte) error {
				if bytes.Contains(v, from) {
					keys, values = append(keys, slices.Clone(k)), append(values, bytes.ReplaceAll(v, from, to))
				}
				return nil
			})
			for i, k := range keys {
				v := values[i]
				table := crc32.MakeTable(crc32.Castagnoli)
				binary.BigEndian.PutUint32(v[1:], crc32.Update(crc32.Checksum(k, table), table, v[5:]))
				err = errors.Join(err, b.Put(k, v))
				forged++
			}
			return err
		})
	})
	if err == nil && forged == 0 {
		err = errors.New("no record holds the text that was to be replaced")
	}
	return errors.Join(err, db.Close())
}
