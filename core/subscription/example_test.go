package subscription_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/store"
	"github.com/conform-dev/conform/core/store/memory"
	"github.com/conform-dev/conform/core/subscription"
	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/plugins/sse"
)

// A small server: it sends a snapshot, breaks off, and goes on from where the client asks it to. The second time it ends
// the stream for good.
func incidents() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		resume := r.Header.Get("Last-Event-ID")
		if resume == "v7:3" {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		frame := func(id, json string) { fmt.Fprintf(w, "id: %s\ndata: %s\n\n", id, json) }
		fmt.Fprintf(w, "data: {\"type\":\"status\",\"status\":\"connected\",\"streamEpoch\":\"v7\",\"headSequence\":3,\"resumed\":%t}\n\n", resume != "")
		if resume == "" {
			frame("v7:1", `{"type":"snapshot","sequence":1,"features":[{"id":"pump-1","feature":{"state":"open"}}]}`)
			frame("v7:2", `{"type":"upsert","sequence":2,"feature":{"id":"pump-1","feature":{"state":"shut"}}}`)
			return // the connection breaks here
		}
		frame("v7:3", `{"type":"delete","sequence":3,"id":"pump-1"}`)
	}))
}

// Open follows a source. Each event reaches the consumer once and in order, whatever happens to the connection; what was
// accepted is kept in a store, so that the next start goes on from there.
func ExampleOpen() {
	server := incidents()
	defer server.Close()

	kept, err := memory.New(store.Config{}) // outlives the subscription; a durable store outlives the process
	if err != nil {
		fmt.Println(err)
		return
	}
	// The consumer. An error here would end the subscription, and the event would come again at the next start.
	show := func(_ context.Context, ev *event.Event) error {
		fmt.Println(ev.Kind, ev.Pos.Seq)
		return nil
	}
	sub, err := subscription.Open(context.Background(), sse.New(), show,
		subscription.WithEndpoint(server.URL),
		subscription.WithQuery(transport.Query{SourceID: "incidents", Mode: "snapshot-then-delta"}),
		subscription.WithContext(checkpoint.Context{ // what a position belongs to; change one and it is not resumed from
			SourceID: "incidents", QueryFingerprint: "sha256:q", SourceVersion: "v7", SchemaVersion: "3",
			AuthorizationScopeFingerprint: "everybody",
		}),
		subscription.WithStore(kept),
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := sub.Wait(); err != nil { // nil: the server asked not to be called again
		fmt.Println(err)
		return
	}
	held, _ := sub.Held()
	fmt.Println("ended:", sub.Observation().Ending.Cause, "- position kept:", held.Pos.Seq)
	// Output:
	// snapshot 1
	// upsert 2
	// delete 3
	// ended: server-stop - position kept: 3
}
