package subscription_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/subscription"
	"github.com/conform-dev/conform/core/transport"
)

// BenchmarkFollow measures one event on its way from an in-process transport through session, gate and consumer.
func BenchmarkFollow(b *testing.B) { follow(b) }

// BenchmarkFollowTelemetry is the same with a reader of samples that keeps up as well as it can: what it takes from delivery
// is the copy of a moment, and a share of the processor.
func BenchmarkFollowTelemetry(b *testing.B) {
	var last subscription.Sample
	follow(b, subscription.WithContext(testContext()), subscription.WithTelemetry(func(s subscription.Sample) { last = s }))
	if last.Accepted != uint64(b.N) {
		b.Fatalf("the last sample shows %d of %d events", last.Accepted, b.N)
	}
	b.ReportMetric(float64(last.Missed)/float64(b.N), "missed/op")
}

func follow(b *testing.B, opts ...subscription.Option) {
	docs := make([][]byte, b.N)
	for i := range docs {
		kind := "delta"
		if i == 0 {
			kind = `snapshot","features":[],"x":"`
		}
		docs[i] = fmt.Appendf(nil, `{"type":"%s","sequence":%d,"eventId":"event-%08d"}`, kind, i, i)
	}
	w := newWire(func(_ context.Context, _ transport.Attempt, to transport.Sink) error {
		connected(to, transport.No)
		for _, doc := range docs {
			if err := to.Document(transport.Document{JSON: doc}); err != nil {
				return err
			}
		}
		return nil
	})
	all, n := make(chan struct{}), 0
	b.ReportAllocs()
	b.ResetTimer()
	s, err := subscription.Open(b.Context(), w, func(context.Context, *event.Event) error {
		if n++; n == b.N {
			close(all)
		}
		return nil
	}, opts...)
	if err != nil {
		b.Fatal(err)
	}
	select {
	case <-all:
	case <-waited(s):
		b.Fatal("ended early")
	}
	b.StopTimer()
	s.Close()
	if err := s.Wait(); err != nil {
		b.Fatal(err)
	}
}

func waited(s *subscription.Subscription) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		_ = s.Wait()
		close(done)
	}()
	return done
}
