package bolt_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/store"
	"github.com/conform-dev/conform/core/store/bolt"
	"github.com/conform-dev/conform/core/subscription"
	"github.com/conform-dev/conform/plugins/sse"
)

// payments is a small server: it sends a snapshot and two changes, and breaks off after each event until a client has all.
func payments() *httptest.Server {
	events := []string{
		`{"type":"snapshot","sequence":1,"features":[{"id":"p-1","feature":{"cents":500}}]}`,
		`{"type":"upsert","sequence":2,"feature":{"id":"p-2","feature":{"cents":250}}}`,
		`{"type":"upsert","sequence":3,"feature":{"id":"p-3","feature":{"cents":100}}}`,
	}
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next := 0
		if _, err := fmt.Sscanf(r.Header.Get("Last-Event-ID"), "c%d", &next); err == nil && next == len(events) {
			w.WriteHeader(http.StatusNoContent) // there will be no more
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"type\":\"status\",\"status\":\"connected\",\"streamEpoch\":\"v1\",\"headSequence\":3,\"resumed\":%t}\n\n", next > 0)
		fmt.Fprintf(w, "id: c%d\ndata: %s\n\n", next+1, events[next])
	}))
}

// A consumer that writes what it makes of an event and the checkpoint in one transaction sees the effect of each event
// exactly once: a process that dies at any moment leaves both or neither. Here every subscription ends after one event, as
// if the process had.
func ExampleStore_Put() {
	server := payments()
	defer server.Close()
	dir, err := os.MkdirTemp("", "payments-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "payments.db")

	for range 4 {
		if err := run(server.URL, path); err != nil {
			fmt.Println(err)
			return
		}
	}
	// Output:
	// snapshot 1: 1 payment booked
	// upsert 2: 2 payments booked
	// upsert 3: 3 payments booked
	// nothing new
}

// run is one life of the program.
func run(url, path string) error {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: time.Second})
	if err != nil {
		return err
	}
	defer db.Close()
	kept, err := bolt.Over(db, store.Config{})
	if err != nil {
		return err
	}
	defer kept.Close()

	var sub *subscription.Subscription
	ready := make(chan struct{})
	book := func(ctx context.Context, ev *event.Event) error {
		<-ready
		defer sub.Close() // for the example: one event in each life
		return db.Update(func(tx *bbolt.Tx) error {
			c, ok := subscription.Candidate(ctx)
			if !ok {
				return errors.New("no candidate")
			}
			booked, err := tx.CreateBucketIfNotExists([]byte("booked"))
			if err != nil {
				return err
			}
			n, err := booked.NextSequence()
			if err != nil {
				return err
			}
			plural := "s"
			if n == 1 {
				plural = ""
			}
			tx.OnCommit(func() { fmt.Printf("%s %d: %d payment%s booked\n", ev.Kind, ev.Pos.Seq, n, plural) })
			return kept.Put(tx, c)
		})
	}
	sub, err = subscription.Open(context.Background(), sse.New(), book,
		subscription.WithEndpoint(url), subscription.WithStore(kept), subscription.WithCandidates(),
		subscription.WithContext(checkpoint.Context{
			SourceID: "payments", QueryFingerprint: "all", SourceVersion: "v1", SchemaVersion: "1", AuthorizationScopeFingerprint: "everybody",
		}))
	if err != nil {
		return err
	}
	close(ready)
	err = sub.Wait()
	if sub.State().Accepted == 0 && sub.Observation().Ending.Cause.String() == "server-stop" {
		fmt.Println("nothing new")
	}
	return err
}
