package etcd

import (
	"context"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// minTurn is the shortest time in which a lease takes new records: leases are counted in seconds.
const minTurn = time.Second

// leases attach an age to records: etcd deletes what nobody wrote again in time, also when no store is left to do so. One
// lease takes the records of a turn, a quarter of the age; it lasts for an age and a turn. So a record lives at least
// as long as a load may use it, and at most a quarter longer, at the cost of a request per turn instead of per save. The
// exact age is the Keeper's to judge. Leases are not revoked: that would delete the records.
type leases struct {
	grant func(ctx context.Context, ttl int64) (clientv3.LeaseID, error)
	now   func() time.Time
	turn  time.Duration
	ttl   int64 // seconds

	asking chan struct{} // holds a token while nobody asks for a lease
	mu     sync.Mutex
	id     clientv3.LeaseID
	until  time.Time // the lease takes no new record from then on
}

func newLeases(age time.Duration, grant func(context.Context, int64) (clientv3.LeaseID, error)) *leases {
	turn := max(age/4, minTurn)
	l := &leases{grant: grant, now: time.Now, turn: turn, ttl: int64((age + turn + time.Second - 1) / time.Second), asking: make(chan struct{}, 1)}
	l.asking <- struct{}{}
	return l
}

// get gives the lease for a record that is written now.
func (l *leases) get(ctx context.Context) (clientv3.LeaseID, error) {
	if id := l.current(); id != clientv3.NoLease {
		return id, nil
	}
	select {
	case <-l.asking:
	case <-ctx.Done():
		return clientv3.NoLease, ctx.Err()
	}
	defer func() { l.asking <- struct{}{} }()
	if id := l.current(); id != clientv3.NoLease {
		return id, nil
	}
	began := l.now() // before the request: its time counts at the server from a later moment
	id, err := l.grant(ctx, l.ttl)
	if err != nil {
		return clientv3.NoLease, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.id, l.until = id, began.Add(l.turn)
	return id, nil
}

func (l *leases) current() clientv3.LeaseID {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now().Before(l.until) {
		return l.id
	}
	return clientv3.NoLease
}

// drop forgets a lease that the server does not know any more, for example since the process was stopped for long.
func (l *leases) drop(id clientv3.LeaseID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.id == id {
		l.until = time.Time{}
	}
}
