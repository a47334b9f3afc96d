package storetest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/conform-dev/conform/core/store"
)

// Storage is the whole conformance suite of a storage, in one call: what store.Storage asks for, and everything that Run
// and Shipped check, with a store.Keeper on top. open gives an empty storage, and cleans up after it.
func Storage(t *testing.T, open func(t *testing.T) store.Storage) {
	t.Run("storage", func(t *testing.T) {
		for _, c := range []struct {
			name string
			run  func(t *testing.T, s store.Storage)
		}{
			{"empty: nothing is read, listed, removed", empty},
			{"what is written is read, byte for byte", bytesKept},
			{"a list begins with the least recently written", listOrder},
			{"a write removes what is beyond its limit, never itself", storageEvicts},
			{"a removal can be bound to what was read", removeOnly},
			{"what was read stays as it was", readStays},
			{"clear leaves nothing, and a storage that works", cleared},
			{"a long random run agrees with a list", likeAList},
			{"calls at once stay within the limit and leave whole documents", atOnce},
		} {
			t.Run(c.name, func(t *testing.T) { c.run(t, open(t)) })
		}
	})
	keep := func(t *testing.T, cfg store.Config) (*keeping, error) {
		under := open(t)
		k, err := store.Keep(under, cfg)
		return &keeping{k, under}, err
	}
	t.Run("store", func(t *testing.T) {
		Run(t, func(t *testing.T) store.Store {
			k, err := keep(t, store.Config{})
			if err != nil {
				t.Fatal(err)
			}
			return k
		})
	})
	t.Run("shipped", func(t *testing.T) {
		Shipped(t, Kept{
			Open: func(t *testing.T, cfg store.Config) (store.Store, error) { return keep(t, cfg) },
			Plant: func(t *testing.T, s store.Store, key string, doc []byte) {
				put(t, s.(*keeping).under, key, string(doc), 1)
			},
			Dump: func(t *testing.T, s store.Store) [][]byte {
				docs, err := s.(*keeping).under.List(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return docs
			},
		})
	})
}

// keeping is a store whose storage is at hand.
type keeping struct {
	*store.Keeper
	under store.Storage
}

func put(t *testing.T, s store.Storage, key, doc string, limit int) {
	t.Helper()
	if err := s.Write(t.Context(), key, []byte(doc), limit); err != nil {
		t.Fatalf("write %s: %v", key, err)
	}
}

func drop(t *testing.T, s store.Storage, key string, only []byte) {
	t.Helper()
	if err := s.Remove(t.Context(), key, only); err != nil {
		t.Fatalf("remove %s: %v", key, err)
	}
}

func wantDoc(t *testing.T, s store.Storage, key, want string) {
	t.Helper()
	if got, err := s.Read(t.Context(), key); err != nil || got == nil || string(got) != want {
		t.Fatalf("%s holds %.80q (%v, %v), want %.80q", key, got, got == nil, err, want)
	}
}

func wantNoDoc(t *testing.T, s store.Storage, key string) {
	t.Helper()
	if got, err := s.Read(t.Context(), key); err != nil || got != nil {
		t.Fatalf("%s holds %.80q, %v, want nothing", key, got, err)
	}
}

func wantList(t *testing.T, s store.Storage, want ...string) {
	t.Helper()
	docs, err := s.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := make([]string, len(docs))
	for i, d := range docs {
		got[i] = string(d)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("listed %.400q, want %.400q", got, want)
	}
}

func empty(t *testing.T, s store.Storage) {
	wantNoDoc(t, s, "a")
	wantList(t, s)
	drop(t, s, "a", nil)
	drop(t, s, "a", []byte("x"))
	if err := s.Clear(t.Context()); err != nil {
		t.Error(err)
	}
}

// bytesKept: also no bytes at all, all byte values, and more than the longest record (eight texts of 64 KiB, escaped).
func bytesKept(t *testing.T, s store.Storage) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	for _, doc := range []string{"x", "", string(every), string(bytes.Repeat(every, 16<<10)), "short again"} {
		put(t, s, "sha256:"+fmt.Sprintf("%064d", 7), doc, 9)
		wantDoc(t, s, "sha256:"+fmt.Sprintf("%064d", 7), doc)
		wantList(t, s, doc)
	}
}

func listOrder(t *testing.T, s store.Storage) {
	// Keys in no order of their own, so that only the order of the writes can come out.
	for _, key := range []string{"m", "a", "z", "k"} {
		put(t, s, key, key+"1", 9)
	}
	wantList(t, s, "m1", "a1", "z1", "k1")
	wantDoc(t, s, "m", "m1") // a read changes nothing
	wantList(t, s, "m1", "a1", "z1", "k1")
	put(t, s, "a", "a2", 9)
	wantList(t, s, "m1", "z1", "k1", "a2")
	put(t, s, "a", "a2", 9) // the last one again
	put(t, s, "m", "m1", 9) // with the same bytes
	wantList(t, s, "z1", "k1", "a2", "m1")
	drop(t, s, "k", nil)
	put(t, s, "k", "k2", 9)
	wantList(t, s, "z1", "a2", "m1", "k2")
}

func storageEvicts(t *testing.T, s store.Storage) {
	for _, key := range []string{"e", "d", "c", "b", "a"} {
		put(t, s, key, key, 4)
	}
	wantList(t, s, "d", "c", "b", "a")
	put(t, s, "d", "d2", 4) // nothing has to go for what is there already
	wantList(t, s, "c", "b", "a", "d2")
	put(t, s, "x", "x", 2) // a lower limit than before: more than one goes
	wantList(t, s, "d2", "x")
	put(t, s, "a", "a2", 1)
	wantList(t, s, "a2")
	for _, gone := range []string{"b", "c", "d", "e", "x"} {
		wantNoDoc(t, s, gone)
	}
}

// removeOnly: a load that finds an old record unfit must not delete the newer one that a save put in its place meanwhile.
func removeOnly(t *testing.T, s store.Storage) {
	put(t, s, "k", "old", 9)
	put(t, s, "other", "stays", 9)
	read, err := s.Read(t.Context(), "k")
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, "k", "new", 9)
	drop(t, s, "k", read)
	drop(t, s, "k", []byte{})
	wantDoc(t, s, "k", "new")
	drop(t, s, "k", []byte("new"))
	wantNoDoc(t, s, "k")
	put(t, s, "k", "again", 9)
	drop(t, s, "k", nil)
	wantNoDoc(t, s, "k")
	wantList(t, s, "stays")
}

func readStays(t *testing.T, s store.Storage) {
	put(t, s, "k", "first", 9)
	read, err := s.Read(t.Context(), "k")
	if err != nil {
		t.Fatal(err)
	}
	list, err := s.List(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatalf("%q, %v", list, err)
	}
	for i := range 50 {
		put(t, s, "k", fmt.Sprint("other ", i), 9)
	}
	drop(t, s, "k", nil)
	if string(read) != "first" || string(list[0]) != "first" {
		t.Errorf("what was read has become %q and %q", read, list[0])
	}
}

func cleared(t *testing.T, s store.Storage) {
	put(t, s, "a", "1", 9)
	put(t, s, "b", "2", 9)
	if err := s.Clear(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantList(t, s)
	wantNoDoc(t, s, "a")
	put(t, s, "b", "3", 1)
	wantList(t, s, "3")
}

// likeAList runs many calls, the same ones every time, and compares with the plainest storage there is.
func likeAList(t *testing.T, s store.Storage) {
	const calls, keys, limit = 400, 12, 8
	rng := rand.New(rand.NewPCG(4, 2))
	type entry struct{ key, doc string }
	var model []entry
	find := func(key string) int { return slices.IndexFunc(model, func(e entry) bool { return e.key == key }) }
	for call := range calls {
		key := fmt.Sprint("key-", rng.IntN(keys))
		at := find(key)
		switch what := rng.IntN(10); {
		case what < 6:
			doc := fmt.Sprint(key, " ", call)
			put(t, s, key, doc, limit)
			if at >= 0 {
				model = slices.Delete(model, at, at+1)
			}
			model = append(model, entry{key, doc})
			model = model[max(0, len(model)-limit):]
		case what < 8:
			var only []byte
			if rng.IntN(2) == 0 && at >= 0 {
				only = []byte(model[at].doc)
			} else if rng.IntN(2) == 0 {
				only = []byte("something else")
			}
			drop(t, s, key, only)
			if at >= 0 && (only == nil || string(only) == model[at].doc) {
				model = slices.Delete(model, at, at+1)
			}
		case at >= 0:
			wantDoc(t, s, key, model[at].doc)
		default:
			wantNoDoc(t, s, key)
		}
		if call%97 == 96 {
			if err := s.Clear(t.Context()); err != nil {
				t.Fatal(err)
			}
			model = nil
		}
		want := make([]string, len(model))
		for i, e := range model {
			want[i] = e.doc
		}
		wantList(t, s, want...)
	}
}

func atOnce(t *testing.T, s store.Storage) {
	const workers, rounds, limit = 8, 40, 5
	ctx := context.WithoutCancel(t.Context())
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range rounds {
				key := fmt.Sprint("key-", (w+i)%7)
				if err := s.Write(ctx, key, bytes.Repeat([]byte{'a' + byte(w)}, 300+w), limit); err != nil {
					t.Errorf("write: %v", err)
				}
				doc, err := s.Read(ctx, key)
				if err != nil || !whole(doc) {
					t.Errorf("read %q, %v", doc, err)
				}
				docs, err := s.List(ctx)
				if err != nil || len(docs) > limit || slices.ContainsFunc(docs, func(d []byte) bool { return !whole(d) }) {
					t.Errorf("%d documents, %v", len(docs), err)
				}
				if i%8 == 7 {
					if err := s.Remove(ctx, key, doc); err != nil {
						t.Errorf("remove: %v", err)
					}
				}
			}
		})
	}
	wg.Wait()
}

// whole says whether a document of atOnce is one that was written, or none.
func whole(doc []byte) bool {
	if len(doc) == 0 {
		return true
	}
	w := int(doc[0] - 'a')
	return len(doc) == 300+w && bytes.Count(doc, doc[:1]) == len(doc)
}
