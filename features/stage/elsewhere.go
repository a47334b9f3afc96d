package stage

import (
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/conform-dev/conform/simulator"
	"github.com/conform-dev/conform/simulator/world"
)

// elsewhere is another origin on loopback: a redirect may lead there, and no request may follow it. Each that does is
// measured, and answered as a stream would be, so that whoever came stays.
type elsewhere struct {
	server *http.Server
	url    string
	came   atomic.Int64
}

// elsewhereLimit bounds the head of a request there: nothing good comes.
const elsewhereLimit = 5 * time.Second

func newElsewhere(b *book) (*elsewhere, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	e := &elsewhere{url: "http://" + l.Addr().String()}
	e.server = &http.Server{ReadHeaderTimeout: elsewhereLimit, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		b.add(world.CrossedRecord(int(e.came.Add(1))))
		w.Header().Set("Content-Type", "text/event-stream")
	})}
	b.add(world.CrossedRecord(0))
	go e.server.Serve(l) // ends with Close
	return e, nil
}

// aim puts the listener's address in the place of world.Elsewhere.
func (e *elsewhere) aim(faults world.FaultList) world.FaultList {
	out := make(world.FaultList, len(faults))
	for i, f := range faults {
		f.With = maps.Clone(f.With)
		if to, ok := f.With["location"]; ok {
			f.With["location"] = strings.Replace(to, world.Elsewhere, e.url, 1)
		}
		if f.With["host"] == world.ElsewhereHost {
			f.With["host"] = strings.TrimPrefix(e.url, "http://")
		}
		out[i] = f
	}
	return out
}

func (e *elsewhere) Close() error { return e.server.Close() }

// leadsElsewhere says whether a fault names world.Elsewhere.
func leadsElsewhere(faults []simulator.Fault) bool {
	return slices.ContainsFunc(faults, func(f simulator.Fault) bool {
		return strings.HasPrefix(f.With["location"], world.Elsewhere) || f.With["host"] == world.ElsewhereHost
	})
}
