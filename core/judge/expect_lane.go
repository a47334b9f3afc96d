package judge

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/trace"
)

// lane holds what a fleet-wake lane shows against each argument. What it does not show is empty.
func lane(p prefix, args map[string]string) seen {
	r := p.client().last(trace.Session, trace.SessionLane)
	names := slices.Sorted(maps.Keys(args))
	var want, got []string
	holds := r != nil
	for _, name := range names {
		want = append(want, name+" "+strconv.Quote(args[name]))
		if r == nil {
			continue
		}
		is := r.Args[name]
		switch name {
		case "status":
			is = r.Status
		case "reason":
			is = r.Detail
		}
		got = append(got, name+" "+strconv.Quote(is))
		holds = holds && is == args[name]
	}
	if r == nil {
		return seen{want: "the lane shows " + strings.Join(want, ", "), got: "there is no lane"}
	}
	return seen{holds: holds, want: "the lane shows " + strings.Join(want, ", "), got: strings.Join(got, ", "), at: one(r)}
}

// pollDigest is the type of a server's record of a poll that it answered.
const pollDigest = "poll-digest"

func (p prefix) polls() []*trace.Record {
	return slices.DeleteFunc(p.all(trace.Server, trace.ServerSent), func(r *trace.Record) bool { return r.Type != pollDigest })
}

func polls(p prefix, args map[string]string) seen {
	all := p.polls()
	holds, want, _ := bounds(int64(len(all)), args, "polls")
	return seen{holds: holds, want: "the server answered " + want, got: fmt.Sprintf("%d polls", len(all)), at: numbers(all)}
}

func poll(p prefix, args map[string]string) seen {
	n, _ := strconv.Atoi(args["n"])
	want := "poll " + args["n"]
	for _, name := range []string{"since", "id"} {
		if v, ok := args[name]; ok {
			want += " " + name + " " + v
		}
	}
	all := p.polls()
	if n < 1 || n > len(all) {
		return seen{want: want, got: fmt.Sprintf("%d polls", len(all)), at: numbers(all)}
	}
	r := all[n-1]
	since, asked := args["since"]
	id, named := args["id"]
	holds := (!asked || since == r.Args["since"]) && (!named || id == r.ID)
	return seen{holds: holds, want: want, got: fmt.Sprintf("poll %d since %s id %s", n, r.Args["since"], r.ID), at: one(r)}
}

// bearers counts the credentials that a request brought, as the server read them.
func bearers(p prefix, args map[string]string) seen {
	n, _ := strconv.Atoi(args["n"])
	want := fmt.Sprintf("request %s brought %s credential of class %s and nothing else", args["n"], args["count"], args["class"])
	all := p.all(trace.Server, trace.ServerRequest)
	if n < 1 || n > len(all) {
		return seen{want: want, got: fmt.Sprintf("%d requests", len(all)), at: numbers(all)}
	}
	r := all[n-1]
	holds := r.Args["bearers"] == args["count"] && r.Args["class"] == args["class"] && r.Args["beside"] == ""
	return seen{holds: holds, want: want, got: fmt.Sprintf("%s of class %s, beside it %q", r.Args["bearers"], r.Args["class"], r.Args["beside"]), at: one(r)}
}

// laneWitness holds what a lane counts against what the server wrote: a lane that counts more wakes than were sent, or holds a mark that
// no frame and no answer named, made something up.
func laneWitness(records []trace.Record) []Finding {
	sent, newest := 0, event.Seq(0)
	known := false
	var out []Finding
	for i := range records {
		r := &records[i]
		switch {
		case r.Actor == trace.Server && r.Kind == trace.ServerRequest:
			known = true
		case r.Actor == trace.Server && r.Kind == trace.ServerSent && (r.Type == "wake" || r.Type == "raw"):
			sent++
			newest = max(newest, r.Seq)
			if r.Type == "raw" { // bytes of a scenario's own: what they name is not known
				newest = event.MaxSeq
			}
		case r.Actor == trace.Server && r.Kind == trace.ServerSent && r.Type == pollDigest:
			newest = max(newest, r.Seq)
		case known && r.Actor == trace.Session && r.Kind == trace.SessionLane:
			wakes, _ := strconv.Atoi(r.Args["wakes"])
			mark, err := trace.ParseSeq(r.Args["mark"])
			if wakes > sent {
				out = append(out, Finding{Check: Witness, Expected: fmt.Sprintf("at most the %d wakes that the server wrote", sent),
					Seen: fmt.Sprintf("%d", wakes), Record: r.N})
			}
			if err != nil || mark > newest {
				out = append(out, Finding{Check: Witness, Expected: fmt.Sprintf("a mark that the server named, at most %d", newest),
					Seen: r.Args["mark"], Record: r.N})
			}
		}
	}
	return out
}
