package etcd

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/conform-dev/conform/core/store"
	"github.com/conform-dev/conform/core/store/storetest"
)

// shared is one cluster of three members for all tests that break nothing.
var shared struct {
	once sync.Once
	*members
	err error
}

var prefixes atomic.Int64

func cluster(t testing.TB) *members {
	t.Helper()
	shared.once.Do(func() { shared.members, shared.err = startMembers(3, "nosync") })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.members
}

func endShared() error {
	if shared.members == nil {
		return nil
	}
	return shared.members.end()
}

// fresh are the options of a store whose prefix nobody has used.
func fresh() Options {
	return Options{Prefix: fmt.Sprint("test/", prefixes.Add(1)), Timeout: readyTime}
}

func over(t testing.TB, c *clientv3.Client, cfg store.Config, opt Options) *Store {
	t.Helper()
	s, err := Over(c, cfg, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestStorage: the suite of every storage, with the field cases P-CK-01, P-CK-02, P-CK-03, P-CK-04, P-CK-05 and P-CK-08.
func TestStorage(t *testing.T) {
	c := cluster(t).client(t)
	storetest.Storage(t, func(t *testing.T) store.Storage { return over(t, c, store.Config{}, fresh()).under })
}

// TestStore: the store itself, over a client of its own.
func TestStore(t *testing.T) {
	m := cluster(t)
	m.client(t) // it answers
	storetest.Run(t, func(t *testing.T) store.Store {
		s, err := Open(t.Context(), Cluster{Endpoints: m.endpoints()}, store.Config{}, fresh())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	})
}
