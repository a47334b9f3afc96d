// Command mercure serves a hub of github.com/dunglas/mercure (AGPL-3.0) over a bolt file, for conform to examine: anonymous subscribers,
// one topic, and a door of its own to publish through.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"

	"github.com/dunglas/mercure"
)

// maxBody bounds a change that is published.
const maxBody = 64 << 10

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "host:port")
	file := flag.String("file", "", "bolt file of the history")
	history := flag.Uint64("history", 0, "changes kept; 0 for all")
	flag.Parse()
	if err := serve(*listen, *file, *history); err != nil {
		fmt.Fprintln(os.Stderr, "mercure:", err)
		os.Exit(1)
	}
}

func serve(listen, file string, history uint64) error {
	quiet := slog.New(slog.DiscardHandler)
	kept, err := mercure.NewBoltTransport(mercure.NewSubscriberList(1000), quiet, file, "", history, 1)
	if err != nil {
		return err
	}
	hub, err := mercure.NewHub(context.Background(), mercure.WithAnonymous(), mercure.WithTransport(kept), mercure.WithLogger(quiet),
		mercure.WithPublisherJWT([]byte("no-publisher-but-ours-has-this-key"), "HS256"))
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ready", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("POST /publish", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err == nil {
			err = hub.Publish(r.Context(), &mercure.Update{Topics: []string{"feed"}, Event: mercure.Event{Data: string(body)}})
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	mux.Handle("/.well-known/mercure", hub)
	return http.ListenAndServe(listen, mux)
}
