//go:build cgo

package odata

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/subscription"
	"github.com/conform-dev/conform/plugins/odata"
)

func file(t testing.TB) string { return filepath.Join(t.TempDir(), "incidents.sqlite") }

// TestFollows is what go-odata does right as it comes, and with each fix: a snapshot, changes, deletes, and a resume by delta token.
func TestFollows(t *testing.T) {
	for name, with := range map[string]setup{
		"as it comes":            {},
		"persistent tracking":    {persistent: true},
		"one delta link":         {fix: oneDeltaLink},
		"one delta link, paging": {fix: oneDeltaLink, page: 2},
		"410":                    {fix: gone},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, file(t), with, 5)
			c := newConsumer(t)
			sub := c.follow(s)
			c.until(5, "open")
			s.put(Incident{ID: 2, State: "shut", Level: 2})
			c.until(2, "shut")
			s.remove(3)
			c.until(3, "")
			s.put(Incident{ID: 3, State: "again"})
			c.until(3, "again")
			c.leave(sub)
			s.put(Incident{ID: 1, State: "shut", Level: 3}) // nobody follows
			s.remove(4)
			s.put(Incident{ID: 6, State: "new"})
			sub = c.follow(s)
			c.until(6, "new")
			if wrong := c.wrong(s); wrong != nil {
				t.Errorf("%q", wrong)
			}
			if _, seen := c.told(); strings.Count(seen, "snapshot") != 1 || strings.Count(seen, "delta") != 4 {
				t.Errorf("seen %s", seen)
			}
			if st := sub.State(); st.Gaps != 0 || st.Duplicates != 0 {
				t.Errorf("%+v", st)
			}
		})
	}
}

// TestPaging: the first page of a paged snapshot has a next link and a delta link, and the last page has neither. A client that takes the
// delta link leaves out all pages but the first; one that reads on, as conform does, is left without a way to follow changes.
func TestPaging(t *testing.T) {
	s := serve(t, file(t), setup{page: 2}, 5)
	c := newConsumer(t)
	err := c.over(c.follow(s))
	notes, _ := c.told()
	for _, want := range []string{"delta-link-beside-next-link: page 1", "no-delta-link"} {
		if !strings.Contains(notes, want) {
			t.Errorf("notes %q do not say %q", notes, want)
		}
	}
	if err == nil || !strings.Contains(err.Error(), "no-delta-link") {
		t.Errorf("ended with %v", err)
	}
	if wrong := c.wrong(s); wrong != nil {
		t.Errorf("the snapshot itself: %q", wrong)
	}
	pages := s.exchanges()
	if len(pages) != 3 || pages[0].body.Next == "" || pages[0].body.Delta == "" || pages[2].body.Delta != "" {
		t.Fatalf("the service does not have the fault: %+v", pages)
	}
	s.put(Incident{ID: 1, State: "shut"})
	lost := c.wrong(s)
	if len(lost) != 1 {
		t.Errorf("%q", lost)
	}
	t.Logf("finding paging: page 1 has %d of 5 rows, a nextLink and a deltaLink, page 3 has no deltaLink; conform says %s; lost: %s", len(pages[0].body.Value), notes, strings.Join(lost, ", "))
}

// TestPagingFixed: one delta link, at the last page, whose position is the first page's.
func TestPagingFixed(t *testing.T) {
	for name, with := range map[string]setup{"one page": {}, "one delta link": {page: 2, fix: oneDeltaLink}} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, file(t), with, 0)
			for i := range 5 {
				s.put(Incident{ID: int64(i + 1), State: "open"})
			}
			changed := false
			s.between = func() { // the first page is read: a change of its row is in no later page
				if !changed {
					changed = true
					s.put(Incident{ID: 1, State: "shut"})
				}
			}
			c := newConsumer(t)
			c.follow(s)
			c.until(1, "shut")
			s.put(Incident{ID: 6, State: "new"})
			c.until(6, "new")
			if wrong := c.wrong(s); wrong != nil {
				t.Errorf("%q", wrong)
			}
			if notes, _ := c.told(); notes != "" {
				t.Errorf("notes %q", notes)
			}
		})
	}
}

// restarted lets a consumer see three changes, restarts the service, which is written to before anybody asks it, and then writes one more
// incident, the sentinel. Changes come in order, so whatever is not there when the sentinel is will never come. With its default, in-memory
// tracker the service counts from 0 again: the old token is answered with 200, no changes and a token that is older.
func restarted(t *testing.T, with setup, away bool) (*server, *consumer) {
	s := serve(t, file(t), with, 3)
	c := newConsumer(t)
	sub := c.follow(s)
	c.until(3, "open")
	for _, state := range []string{"one", "two", "three"} {
		s.put(Incident{ID: 1, State: state})
		c.until(1, state)
	}
	if away {
		c.leave(sub)
	}
	s.restart(func() {
		s.put(Incident{ID: 2, State: "meanwhile"})
		s.remove(3)
	})
	before := len(s.exchanges())
	if away {
		sub = c.follow(s)
	}
	for n := 0; n == 0; n = len(s.exchanges()) - before { // an answer of the new service was taken
		c.poll()
	}
	s.put(Incident{ID: 9, State: "sentinel"})
	c.until(9, "sentinel")
	if st := sub.State(); st.Gaps != 0 {
		t.Errorf("%+v", st)
	}
	return s, c
}

// TestRestart: what was changed before the follower came back is lost for good, and nothing on the wire says so.
func TestRestart(t *testing.T) {
	for name, away := range map[string]bool{"away": true, "polling": false} {
		t.Run(name, func(t *testing.T) {
			s, c := restarted(t, setup{}, away)
			lost := c.wrong(s)
			if len(lost) != 2 {
				t.Fatalf("%q", lost)
			}
			var silent, older string
			versions := []int{}
			for _, e := range s.exchanges() {
				if e.body.Delta == "" {
					continue
				}
				v := versionOf(t, e.body.Delta)
				if n := len(versions); n > 0 && v < versions[n-1] && e.code == http.StatusOK && len(e.body.Value) == 0 {
					silent, older = "200 with no changes", "a token of an older version"
					t.Logf("version %d was held, and version %d was given", versions[n-1], v)
				}
				versions = append(versions, v)
			}
			if silent == "" {
				t.Fatalf("the service does not have the fault: versions %d", versions)
			}
			notes, seen := c.told()
			if strings.Count(seen, "snapshot") != 1 {
				t.Errorf("the loss was noticed: seen %s, notes %s", seen, notes)
			}
			t.Logf("finding restart: %s and %s; lost: %s; seen %s", silent, older, strings.Join(lost, ", "), seen)
		})
	}
}

// TestRestartFixed: with PersistentChangeTracking nothing is lost.
func TestRestartFixed(t *testing.T) {
	for name, away := range map[string]bool{"away": true, "polling": false} {
		t.Run(name, func(t *testing.T) {
			s, c := restarted(t, setup{persistent: true}, away)
			if wrong := c.wrong(s); wrong != nil {
				t.Errorf("%q", wrong)
			}
			if _, seen := c.told(); strings.Count(seen, "snapshot") != 1 {
				t.Errorf("seen %s", seen)
			}
		})
	}
}

// from is a position whose token the service does not know.
func from(t testing.TB) subscription.Option {
	return subscription.WithCheckpoint(checkpoint.Checkpoint{Context: place, Resume: event.Position{Seq: 7, DeltaToken: "of-another-service"}})
}

// TestUnknownToken: a token that the service does not know is 400, where 410 is due. A 400 says that the request was wrong, so a client may
// not answer it with a snapshot by itself: it ends.
func TestUnknownToken(t *testing.T) {
	s := serve(t, file(t), setup{}, 2)
	c := newConsumer(t)
	err := c.over(c.follow(s, from(t)))
	if err == nil || !strings.Contains(err.Error(), "400") {
		t.Errorf("ended with %v", err)
	}
	lost := c.wrong(s)
	if len(lost) != 2 || s.exchanges()[0].code != http.StatusBadRequest {
		t.Fatalf("%q, %+v", lost, s.exchanges())
	}
	t.Logf("finding unknown token: 400; conform says %v; lost: %s", err, strings.Join(lost, ", "))
}

// TestUnknownTokenFixed: with 410, and with a follower that was told what the service means by 400, a snapshot follows.
func TestUnknownTokenFixed(t *testing.T) {
	options := map[string]string{odata.OptionOrder: odata.RequestChain, odata.OptionRows: odata.RowsEntity, odata.OptionKey: "ID", odata.OptionPollIntervalMs: "20", odata.OptionExpiredStatus: "400"}
	for _, row := range []struct {
		name string
		with setup
		more []subscription.Option
		says string
	}{
		{"410", setup{fix: gone}, nil, "status 410"},
		{"expiredStatus", setup{}, []subscription.Option{subscription.WithTransportOptions(options)}, "status 400"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := serve(t, file(t), row.with, 2)
			c := newConsumer(t)
			c.follow(s, append(row.more, from(t))...)
			c.until(2, "open")
			s.put(Incident{ID: 1, State: "shut"})
			c.until(1, "shut")
			if wrong := c.wrong(s); wrong != nil {
				t.Errorf("%q", wrong)
			}
			if notes, _ := c.told(); !strings.Contains(notes, row.says) {
				t.Errorf("notes %q", notes)
			}
		})
	}
}

// large is the least whole number that a float64 does not hold.
const large = 1<<53 + 1

// numbers has a change with a large number read after the server was restarted, or not.
func numbers(t *testing.T, restart bool) []string {
	s := serve(t, file(t), setup{persistent: true}, 1)
	c := newConsumer(t)
	sub := c.follow(s)
	c.until(1, "open")
	c.leave(sub)
	// The row is in the file before the service is asked to change it, since the service reads what it is sent as float64, too.
	s.list[2] = Incident{ID: 2, State: "large", Level: large}
	s.must(s.db.Create(&Incident{ID: 2, State: "open", Level: large}).Error)
	s.write("PATCH", one(2), `{"State":"large"}`)
	var is Incident
	if s.must(s.db.First(&is, 2).Error); is != s.list[2] {
		t.Fatalf("the service itself holds %+v", is)
	}
	if restart {
		s.restart(func() {})
	}
	c.follow(s)
	c.until(2, "large")
	return c.wrong(s)
}

// TestLargeNumber: the persistent tracker reads its own history back as float64, so a whole number above 2^53 in a change from before the
// restart comes as another number.
func TestLargeNumber(t *testing.T) {
	wrong := numbers(t, true)
	if len(wrong) != 1 {
		t.Fatalf("the service does not have the fault: %q", wrong)
	}
	t.Logf("finding large number: %s", wrong[0])
}

// TestLargeNumberNotReadBack: without the restart the same change is exact. The service has no setting that mends this; a property that is text would do.
func TestLargeNumberNotReadBack(t *testing.T) {
	if wrong := numbers(t, false); wrong != nil {
		t.Errorf("%q", wrong)
	}
}
