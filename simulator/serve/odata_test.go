package serve

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/simulator"
)

// collection asks for the OData collection, or for a link.
func (s *site) collection(link string) (*http.Response, []byte, error) {
	s.t.Helper()
	if !strings.HasPrefix(link, "http") {
		link = s.ODataURL() + link
	}
	req, err := http.NewRequestWithContext(s.ctx, http.MethodGet, link, nil)
	s.must(err)
	req.Header.Set("Prefer", "odata.track-changes")
	res, err := s.client.Do(req)
	s.must(err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return res, body, err
}

// TestOData: a client reads a snapshot in pages, and a change behind it, from links that are made of the origin that it called.
func TestOData(t *testing.T) {
	for _, secure := range []bool{false, true} {
		s := openWith(t, Options{TLS: secure, Simulator: simulator.Options{Rows: 3, ODataPageSize: 2, Schedule: simulator.Schedule{Faults: []simulator.Fault{
			{Name: "link-form", At: simulator.At{Wire: simulator.OData}, Times: simulator.Always}}}}})
		type page struct {
			Value []struct{ ID, Reason string }
			Next  string `json:"@odata.nextLink"`
			Delta string `json:"@odata.deltaLink"`
		}
		read := func(link string) (p page) {
			res, body, err := s.collection(link)
			s.must(err)
			s.must(json.Unmarshal(body, &p))
			if res.StatusCode != 200 || res.Header.Get("OData-Version") != "4.0" {
				t.Fatalf("%d %v", res.StatusCode, res.Header)
			}
			if l := p.Next + p.Delta; !strings.HasPrefix(l, s.ODataURL()+"?$") {
				t.Fatalf("link %q of %s", l, s.ODataURL())
			}
			return p
		}
		first := read("")
		s.change(simulator.Change{Kind: event.Delete, Deletes: []string{"2"}, Reason: "changed"})
		second := read(first.Next)
		third := read(second.Delta)
		if len(first.Value) != 2 || len(second.Value) != 1 || second.Value[0].ID != "3" || len(third.Value) != 1 || third.Value[0].Reason != "changed" {
			t.Errorf("pages %+v %+v %+v", first, second, third)
		}
		if got := s.State().OData; got == nil || got.Requests != 3 || got.Snapshots != 1 || got.Rounds != 1 {
			t.Errorf("state %+v", got)
		}
	}
}

func (s *site) change(c simulator.Change) {
	s.must(s.Do(func(sim *simulator.Simulator, now simulator.Now) error {
		_, err := sim.Publish(now, c)
		return err
	}))
}

// TestODataCut: a page that is cut never looks like one that ended.
func TestODataCut(t *testing.T) {
	s := open(t, simulator.Options{})
	for _, with := range []map[string]string{nil, {"as": "reset"}} {
		s.must(s.Add(simulator.Fault{Name: "cut", At: simulator.At{Wire: simulator.OData}, With: with}))
		_, body, err := s.collection("")
		if err == nil || with == nil && !errors.Is(err, io.ErrUnexpectedEOF) || !json.Valid(body) {
			t.Errorf("%v: %v behind %d bytes", with, err, len(body))
		}
	}
}

// TestODataPublishReason: the control API takes the reason of a delete.
func TestODataPublishReason(t *testing.T) {
	s := open(t, simulator.Options{})
	for _, c := range []struct {
		body string
		want int
	}{
		{`{"changes":[{"type":"delete","id":"1","reason":"changed"}]}`, 200},
		{`{"changes":[{"type":"delete","id":"1","reason":"gone"}]}`, 400},
		{`{"changes":[{"type":"upsert","id":"1","feature":{},"reason":"changed"}]}`, 400},
	} {
		res := s.play(`$ curl -X POST -H 'Content-Type: application/json' -d '` + c.body + `' ` + s.ControlURL() + `/publish`)
		_ = res.Body.Close()
		if res.StatusCode != c.want {
			t.Errorf("%s: %d, want %d", c.body, res.StatusCode, c.want)
		}
	}
	_, body, err := s.collection("?$deltatoken=t-7-0")
	s.must(err)
	if !strings.Contains(string(body), `"reason":"changed"`) {
		t.Errorf("%s", body)
	}
}
