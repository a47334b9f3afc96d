package memory

import (
	"container/list"
	"testing"

	"github.com/conform-dev/conform/core/store"
	"github.com/conform-dev/conform/core/store/storetest"
)

// TestStorage: the suite of every storage, with the field cases P-CK-01, P-CK-02, P-CK-03, P-CK-04, P-CK-05 and P-CK-08.
func TestStorage(t *testing.T) {
	storetest.Storage(t, func(t *testing.T) store.Storage {
		s := &storage{at: map[string]*list.Element{}}
		t.Cleanup(func() {
			if s.order.Len() != len(s.at) {
				t.Errorf("%d documents, %d by key", s.order.Len(), len(s.at))
			}
		})
		return s
	})
}

// TestNew: the constructor passes the settings on, and Len counts.
func TestNew(t *testing.T) {
	if _, err := New(store.Config{MaxRecords: store.CeilingMaxRecords + 1}); err == nil {
		t.Error("a setting above its ceiling is accepted")
	}
	s, err := New(store.Config{MaxRecords: 1, Now: func() int64 { return 5 }})
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range []string{"a", "b"} {
		c := storetest.At(1, 5)
		c.Context.SourceID = source
		if err := s.Save(t.Context(), c); err != nil || s.Len() != 1 {
			t.Errorf("%d records, %v", s.Len(), err)
		}
	}
	if err := s.Clear(t.Context()); err != nil || s.Len() != 0 {
		t.Errorf("%d records, %v", s.Len(), err)
	}
}
