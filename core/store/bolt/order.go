package bolt

import (
	"bytes"
	"container/list"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"

	"go.etcd.io/bbolt"
)

// A value is a head and the document. The head holds the form's number, a checksum over the rest with the key, and the
// number of the write, which rises with each: it is what the order is rebuilt from, since a clock may step back.
const (
	valueForm = 1
	headBytes = 1 + 4 + 8
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func encode(key []byte, number uint64, doc []byte) []byte {
	v := make([]byte, headBytes, headBytes+len(doc))
	v[0] = valueForm
	binary.BigEndian.PutUint64(v[5:], number)
	v = append(v, doc...)
	binary.BigEndian.PutUint32(v[1:], sum(key, v))
	return v
}

func sum(key, v []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, v[5:])
}

// decode gives the number of the write and the document, which is a part of v.
func decode(key, v []byte) (number uint64, doc []byte, err error) {
	if len(v) < headBytes || v[0] != valueForm || binary.BigEndian.Uint32(v[1:]) != sum(key, v) {
		return 0, nil, fmt.Errorf("bolt: a record is %w", ErrCorrupt)
	}
	return binary.BigEndian.Uint64(v[5:]), v[headBytes:], nil
}

// entry is one key of the bucket; number 0 and no document if its value is corrupt.
type entry struct {
	key    []byte
	number uint64
	doc    []byte
}

func oldestFirst(a, b entry) int {
	switch {
	case a.number < b.number:
		return -1
	case a.number > b.number:
		return 1
	}
	return bytes.Compare(a.key, b.key)
}

// maxEntries bounds a walk through the bucket: pages of a corrupt file may form a ring.
const maxEntries = 1 << 16

func scan(b *bbolt.Bucket, f func(entry)) error {
	n := 0
	return b.ForEach(func(k, v []byte) error {
		if n++; n > maxEntries {
			return fmt.Errorf("bolt: more than %d keys: %w", maxEntries, ErrCorrupt)
		}
		e := entry{key: k}
		if number, doc, err := decode(k, v); err == nil {
			e.number, e.doc = number, doc
		}
		f(e)
		return nil
	})
}

// order is the keys in the order in which they were last written, oldest in front. It is valid for one state of the
// bucket, which the bucket's sequence names: each change raises it, and a transaction that is rolled back takes it back.
type order struct {
	list  list.List // of string
	at    map[string]*list.Element
	stamp uint64
}

// sync makes the order that of b, by reading the bucket if a transaction was rolled back or is the first.
func (o *order) sync(b *bbolt.Bucket) error {
	if o.at != nil && o.stamp == b.Sequence() {
		return nil
	}
	var all []entry
	if err := scan(b, func(e entry) { all = append(all, e) }); err != nil {
		return err
	}
	slices.SortFunc(all, oldestFirst)
	o.list.Init()
	o.at = make(map[string]*list.Element, len(all))
	for _, e := range all {
		o.at[string(e.key)] = o.list.PushBack(string(e.key))
	}
	o.stamp = b.Sequence()
	return nil
}

// next begins a change: the order fits b, and the change has a number.
func (o *order) next(b *bbolt.Bucket) (uint64, error) {
	if err := o.sync(b); err != nil {
		return 0, err
	}
	number, err := b.NextSequence()
	o.stamp = number
	return number, err
}

// drop takes a key out of the order and the bucket.
func (o *order) drop(b *bbolt.Bucket, e *list.Element) error {
	key := o.list.Remove(e).(string)
	delete(o.at, key)
	return b.Delete([]byte(key))
}

// put writes a document and evicts the oldest keys above the limit.
func put(o *order, b *bbolt.Bucket, r *request) error {
	number, err := o.next(b)
	if err != nil {
		return err
	}
	if err := b.Put(r.key, encode(r.key, number, r.doc)); err != nil {
		o.at = nil
		return err
	}
	if e := o.at[string(r.key)]; e != nil {
		o.list.MoveToBack(e)
	} else {
		o.at[string(r.key)] = o.list.PushBack(string(r.key))
	}
	for o.list.Len() > r.limit {
		if err := o.drop(b, o.list.Front()); err != nil {
			o.at = nil
			return err
		}
	}
	return nil
}

// remove deletes a key, if it is there and holds what is wanted.
func remove(o *order, b *bbolt.Bucket, r *request) error {
	v := b.Get(r.key)
	if v == nil {
		return nil
	}
	if r.doc != nil {
		if _, doc, err := decode(r.key, v); err != nil || !bytes.Equal(doc, r.doc) {
			return nil
		}
	}
	if _, err := o.next(b); err != nil {
		return err
	}
	if e := o.at[string(r.key)]; e != nil {
		return o.drop(b, e)
	}
	return b.Delete(r.key)
}

// wipe deletes every key.
func wipe(o *order, b *bbolt.Bucket, _ *request) error {
	if _, err := o.next(b); err != nil {
		return err
	}
	for o.list.Len() > 0 {
		if err := o.drop(b, o.list.Front()); err != nil {
			o.at = nil
			return err
		}
	}
	return nil
}
