//go:build cgo

// Command goodata serves github.com/nlstn/go-odata over a file of sqlite, for conform to examine: one set that can be written to, and a door of
// its own to start the service anew on the same file. It needs cgo.
package main

import (
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"

	peer "github.com/nlstn/go-odata"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

// Change is the entity that the service serves, in its set Changes.
type Change struct {
	ID     int64 `json:"ID" gorm:"primarykey" odata:"key"`
	Serial int64 `json:"Serial"`
}

// service is go-odata on a file; a restart keeps the file.
type service struct {
	path       string
	persistent bool

	mu  sync.Mutex
	db  *gorm.DB
	app http.Handler
}

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "host:port")
	path := flag.String("file", "", "file of sqlite")
	persistent := flag.Bool("persistent", false, "keep track of changes in the file (PersistentChangeTracking)")
	flag.Parse()
	s := &service{path: *path, persistent: *persistent}
	err := s.boot()
	if err == nil {
		err = http.ListenAndServe(*listen, s)
	}
	fmt.Fprintln(os.Stderr, "goodata:", err)
	os.Exit(1)
}

// boot opens the file with a new service.
func (s *service) boot() error {
	db, err := gorm.Open(sqlite.Open(s.path), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return err
	}
	if err := db.AutoMigrate(&Change{}); err != nil {
		return err
	}
	app, err := peer.NewServiceWithConfig(db, peer.ServiceConfig{PersistentChangeTracking: s.persistent})
	if err != nil {
		return err
	}
	if err := app.SetLogger(slog.New(slog.DiscardHandler)); err != nil {
		return err
	}
	if err := app.RegisterEntity(&Change{}); err != nil {
		return err
	}
	if err := app.EnableChangeTracking("Changes"); err != nil {
		return err
	}
	s.db, s.app = db, app
	return nil
}

// ServeHTTP is the service, and the door that restarts it.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	if r.URL.Path == "/restart" {
		defer s.mu.Unlock()
		db, err := s.db.DB()
		if err == nil {
			err = db.Close()
		}
		if err == nil {
			err = s.boot()
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
		return
	}
	app := s.app
	s.mu.Unlock()
	app.ServeHTTP(w, r)
}
