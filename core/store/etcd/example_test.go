//go:build unix

package etcd_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/store"
	"github.com/conform-dev/conform/core/store/etcd"
	"github.com/conform-dev/conform/core/subscription"
	"github.com/conform-dev/conform/plugins/sse"
)

// A relay on one host stops, and one on another host goes on where it was: both keep their position in one cluster.
func Example() {
	endpoints, err := etcd.Endpoints() // such as https://10.0.0.1:2379, https://10.0.0.2:2379, https://10.0.0.3:2379
	if err != nil {
		fmt.Println(err)
		return
	}
	server := payments()
	defer server.Close()

	for _, host := range []string{"host-1", "host-2"} {
		server.last.Add(2) // two more things happen
		if err := relay(host, endpoints, server.URL); err != nil {
			fmt.Println(err)
			return
		}
	}
	// Output:
	// host-1: snapshot 1
	// host-1: upsert 2
	// host-2: upsert 3
	// host-2: upsert 4
}

// relay is one life of the program on one host.
func relay(host string, endpoints []string, url string) error {
	ctx := context.Background()
	kept, err := etcd.Open(ctx,
		etcd.Cluster{Endpoints: endpoints}, // and CAFile, CertFile, KeyFile, User, PasswordFile
		store.Config{OnDiagnostic: func(d store.Diagnostic) { fmt.Println(host, d.Operation, d.Reason, d.Err) }},
		etcd.Options{Prefix: "payments/checkpoints", Timeout: 30 * time.Second})
	if err != nil {
		return err
	}
	defer kept.Close()

	forward := func(_ context.Context, ev *event.Event) error {
		fmt.Printf("%s: %s %d\n", host, ev.Kind, ev.Pos.Seq)
		return nil
	}
	sub, err := subscription.Open(ctx, sse.New(), forward,
		subscription.WithEndpoint(url), subscription.WithStore(kept),
		subscription.WithContext(checkpoint.Context{
			SourceID: "payments", QueryFingerprint: "all", SourceVersion: "v1", SchemaVersion: "1", AuthorizationScopeFingerprint: "everybody",
		}))
	if err != nil {
		return err
	}
	return sub.Wait() // until the server says that there will be no more
}

// feed is a small server that sends what happened so far.
type feed struct {
	*httptest.Server
	last atomic.Int64
}

func payments() *feed {
	f := &feed{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var had int64
		_, _ = fmt.Sscanf(r.Header.Get("Last-Event-ID"), "c%d", &had)
		if had == f.last.Load() {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"type\":\"status\",\"status\":\"connected\",\"streamEpoch\":\"v1\",\"headSequence\":%d,\"resumed\":%t}\n\n", f.last.Load(), had > 0)
		for n := had + 1; n <= f.last.Load(); n++ {
			what := `"upsert","feature":{"id":"p","feature":{"cents":250}}`
			if n == 1 {
				what = `"snapshot","features":[{"id":"p","feature":{"cents":500}}]`
			}
			fmt.Fprintf(w, "id: c%d\ndata: {\"sequence\":%d,\"type\":%s}\n\n", n, n, what)
		}
	}))
	return f
}
