//go:build cgo

package odata

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	peer "github.com/nlstn/go-odata"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

// Incident is the entity that the server serves, in its set Incidents.
type Incident struct {
	ID    int64  `json:"ID" gorm:"primarykey" odata:"key"`
	State string `json:"State"`
	Level int64  `json:"Level"`
}

const set = "/Incidents"

// setup is how the server is run.
type setup struct {
	persistent bool                            // its own PersistentChangeTracking
	page       int                             // rows of a page; 0: one page
	fix        func(http.Handler) http.Handler // stands in front of it
}

// server is go-odata over a file of sqlite, and the publisher that writes to it. A restart keeps the file and the address.
type server struct {
	t       testing.TB
	with    setup
	path    string
	addr    string
	db      *gorm.DB
	app     http.Handler // the service alone: the publisher's way in
	http    *http.Server
	mu      sync.Mutex
	asked   []exchange
	between func()             // runs after each answer was made and before it is sent; nil: nothing
	list    map[int64]Incident // what the publisher wrote and the service said yes to
}

// exchange is one answer that the follower got.
type exchange struct {
	query string
	code  int
	body  page
}

type page struct {
	Value []json.RawMessage `json:"value"`
	Next  string            `json:"@odata.nextLink"`
	Delta string            `json:"@odata.deltaLink"`
}

// serve starts a server whose publisher has written rows incidents, numbered from 1, before anybody asks.
func serve(t testing.TB, path string, with setup, rows int) *server {
	t.Helper()
	s := &server{t: t, with: with, path: path, addr: "127.0.0.1:0", list: map[int64]Incident{}}
	s.boot()
	t.Cleanup(s.stop)
	for i := range rows {
		s.put(Incident{ID: int64(i + 1), State: "open", Level: 1})
	}
	s.listen()
	return s
}

// boot opens the file with a new service, which does not listen yet.
func (s *server) boot() {
	s.t.Helper()
	db, err := gorm.Open(sqlite.Open(s.path), &gorm.Config{Logger: logger.Discard})
	s.must(err)
	s.must(db.AutoMigrate(&Incident{}))
	service, err := peer.NewServiceWithConfig(db, peer.ServiceConfig{PersistentChangeTracking: s.with.persistent})
	s.must(err)
	s.must(service.SetLogger(slog.New(slog.DiscardHandler)))
	s.must(service.RegisterEntity(&Incident{}))
	s.must(service.EnableChangeTracking("Incidents"))
	if s.with.page > 0 {
		s.must(service.SetEntityDefaultMaxTop("Incidents", s.with.page))
	}
	s.db, s.app = db, service
}

func (s *server) listen() {
	s.t.Helper()
	l, err := net.Listen("tcp", s.addr)
	s.must(err)
	s.addr = l.Addr().String()
	h := s.app
	if s.with.fix != nil {
		h = s.with.fix(h)
	}
	s.http = &http.Server{Handler: s.record(h)}
	go s.http.Serve(l)
}

// stop ends the process, as far as the file and the network can tell.
func (s *server) stop() {
	s.http.Close()
	db, err := s.db.DB()
	s.must(err)
	s.must(db.Close())
}

// restart stops the server and starts it on the same file and address. first is what the publisher writes before the new one listens.
func (s *server) restart(first func()) {
	s.t.Helper()
	s.stop()
	s.boot()
	first()
	s.listen()
}

// record keeps what the follower is answered.
func (s *server) record(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := httptest.NewRecorder()
		h.ServeHTTP(got, r)
		e := exchange{query: r.URL.RawQuery, code: got.Code}
		_ = json.Unmarshal(got.Body.Bytes(), &e.body) // an error has no page
		s.mu.Lock()
		s.asked = append(s.asked, e)
		s.mu.Unlock()
		if s.between != nil {
			s.between()
		}
		pass(w, got, got.Body.Bytes())
	})
}

func (s *server) exchanges() []exchange {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]exchange(nil), s.asked...)
}

func pass(w http.ResponseWriter, got *httptest.ResponseRecorder, body []byte) {
	for name, values := range got.Header() {
		if name != "Content-Length" {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(got.Code)
	w.Write(body)
}

// put creates or changes an incident.
func (s *server) put(i Incident) {
	s.t.Helper()
	body, _ := json.Marshal(i)
	if _, is := s.list[i.ID]; is {
		s.write("PATCH", one(i.ID), fmt.Sprintf(`{"State":%q,"Level":%d}`, i.State, i.Level))
	} else {
		s.write("POST", set, string(body))
	}
	s.list[i.ID] = i
}

func (s *server) remove(id int64) {
	s.t.Helper()
	s.write("DELETE", one(id), "")
	delete(s.list, id)
}

func one(id int64) string { return fmt.Sprintf("%s(%d)", set, id) }

func (s *server) write(method, path, body string) {
	s.t.Helper()
	r := httptest.NewRequest(method, "http://"+s.addr+path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.app.ServeHTTP(w, r)
	if w.Code/100 != 2 {
		s.t.Fatalf("the publisher's %s %s: %d %s", method, path, w.Code, w.Body)
	}
}

func (s *server) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// oneDeltaLink is the fix of a paged snapshot: the position at the first page is carried to the last page, which alone names it.
// What changed while the pages were read is then in the first delta.
func oneDeltaLink(h http.Handler) http.Handler {
	const carried = "from" // an option of our own, which OData allows
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		from := query.Get(carried)
		query.Del(carried)
		r = r.Clone(r.Context())
		r.URL.RawQuery = query.Encode()
		got := httptest.NewRecorder()
		h.ServeHTTP(got, r)
		var body map[string]json.RawMessage
		if got.Code != http.StatusOK || json.Unmarshal(got.Body.Bytes(), &body) != nil {
			pass(w, got, got.Body.Bytes())
			return
		}
		text := func(name string) (v string) { _ = json.Unmarshal(body[name], &v); return v }
		link := text("@odata.deltaLink")
		if from != "" {
			link = from
		}
		delete(body, "@odata.deltaLink")
		if next := text("@odata.nextLink"); next != "" {
			body["@odata.nextLink"] = json.RawMessage(strconv.Quote(next + "&" + carried + "=" + url.QueryEscape(link)))
		} else if link != "" {
			body["@odata.deltaLink"] = json.RawMessage(strconv.Quote(link))
		}
		out, _ := json.Marshal(body)
		pass(w, got, out)
	})
}

// gone is the fix of the status: a position that the service does not know is 410.
func gone(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := httptest.NewRecorder()
		h.ServeHTTP(got, r)
		if got.Code == http.StatusBadRequest && r.URL.Query().Has("$deltatoken") {
			got.Code = http.StatusGone
		}
		body, _ := io.ReadAll(got.Body)
		pass(w, got, body)
	})
}
