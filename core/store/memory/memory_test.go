package memory

import (
	"testing"

	"github.com/conform-dev/conform/core/store"
	"github.com/conform-dev/conform/core/store/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store {
		s, err := New(store.Config{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}

func TestShipped(t *testing.T) {
	storetest.Shipped(t, storetest.Kept{
		Open: func(t *testing.T, cfg store.Config) (store.Store, error) {
			s, err := New(cfg)
			if err != nil {
				return nil, err
			}
			return s, nil
		},
		Plant: func(t *testing.T, s store.Store, key string, doc []byte) {
			if err := s.(*Store).under.Write(t.Context(), key, doc, 1); err != nil {
				t.Fatal(err)
			}
		},
		Dump: func(t *testing.T, s store.Store) [][]byte {
			var out [][]byte
			m := s.(*Store)
			for e := m.under.order.Front(); e != nil; e = e.Next() {
				out = append(out, e.Value.(document).text)
			}
			if m.Len() != len(out) || len(m.under.at) != len(out) {
				t.Fatalf("%d documents, %d by key", len(out), len(m.under.at))
			}
			return out
		},
	})
}

// TestRemoveOnlyWhatWasRead: a load that finds an old record unfit must not delete the newer one that a save put in its
// place meanwhile.
func TestRemoveOnlyWhatWasRead(t *testing.T) {
	s, err := New(store.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, u := t.Context(), s.under
	u.Write(ctx, "k", []byte("old"), 9)
	read, _ := u.Read(ctx, "k")
	u.Write(ctx, "k", []byte("new"), 9)
	u.Remove(ctx, "k", read)
	if doc, _ := u.Read(ctx, "k"); string(doc) != "new" {
		t.Errorf("got %q", doc)
	}
	u.Remove(ctx, "k", nil)
	if doc, _ := u.Read(ctx, "k"); doc != nil || s.Len() != 0 {
		t.Errorf("got %q, %d records", doc, s.Len())
	}
}
