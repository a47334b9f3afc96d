package judge

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/trace"
)

func requests(p prefix, args map[string]string) seen {
	all := p.all(trace.Server, trace.ServerRequest)
	holds, want, _ := bounds(int64(len(all)), args, "requests")
	return seen{holds: holds, want: want, got: fmt.Sprintf("%d requests", len(all)), at: numbers(all)}
}

func request(p prefix, args map[string]string) seen {
	n, _ := strconv.Atoi(args["n"])
	want := "request " + args["n"]
	if from := args["from"]; from != "" {
		want += " from " + from
	}
	if status := args["status"]; status != "" {
		want += " answered with " + status
	}
	all := p.all(trace.Server, trace.ServerRequest)
	if n < 1 || n > len(all) {
		return seen{want: want, got: fmt.Sprintf("%d requests", len(all)), at: numbers(all)}
	}
	r := all[n-1]
	from := "snapshot"
	if r.Seq != event.NoSeq {
		from = strconv.FormatInt(int64(r.Seq), 10)
	}
	status := args["status"]
	if status == accepted {
		status = acceptance(r)
	}
	holds := (args["from"] == "" || args["from"] == from) && (status == "" || status == r.Status)
	return seen{holds: holds, want: want, got: fmt.Sprintf("request %d from %s answered with %s", n, from, r.Status), at: one(r)}
}

// received counts what the server heard from the client behind an upgrade.
func received(p prefix, args map[string]string) seen {
	what := strings.TrimSpace(args["what"] + " " + args["detail"])
	var all []*trace.Record
	got := []string{}
	for _, r := range p.all(trace.Server, trace.ServerReceived) {
		if r.Status == args["what"] {
			got = append(got, strings.TrimSpace(r.Status+" "+r.Detail))
			if args["detail"] == "" || r.Detail == args["detail"] {
				all = append(all, r)
			}
		}
	}
	holds := len(all) > 0
	if n, ok := args["count"]; ok {
		holds = strconv.Itoa(len(all)) == n
		what += " " + n + " times"
	}
	return seen{holds: holds, want: "the server to receive " + what, got: fmt.Sprintf("%d: %s", len(got), strings.Join(got, ", ")), at: numbers(all)}
}

func resumeTries(p prefix, args map[string]string) seen {
	var tries []*trace.Record
	for _, r := range p.all(trace.Server, trace.ServerRequest) {
		if strconv.FormatInt(int64(r.Seq), 10) == args["seq"] {
			tries = append(tries, r)
		}
	}
	return seen{holds: strconv.Itoa(len(tries)) == args["count"], want: fmt.Sprintf("%s requests with the position of %s", args["count"], args["seq"]),
		got: fmt.Sprintf("%d", len(tries)), at: numbers(tries)}
}

// moment finds a server record; nil if it has not happened.
func (p prefix) moment(text string) *trace.Record {
	m, err := trace.ParseMoment(text)
	if err != nil {
		return nil
	}
	if m.Kind != trace.ServerClosed {
		actor := trace.Server
		if m.Kind == trace.SessionConnect {
			actor = trace.Session
		}
		if all := p.all(actor, m.Kind); m.N <= len(all) {
			return all[m.N-1]
		}
		return nil
	}
	for _, r := range p.all(trace.Server, m.Kind) {
		if r.Epoch == uint32(m.N) {
			return r
		}
	}
	return nil
}

// anError is every ending that nobody asked for, whatever the wire calls it.
const anError = "an error"

// accepted is the status of a request that got what it asked for.
const accepted = "accepted"

// acceptance is the number that the wire of a request has for that: an upgrade is not accepted by 200.
func acceptance(r *trace.Record) string {
	if r.Args["wire"] == "websocket" {
		return "101"
	}
	return "200"
}

func elapsed(p prefix, args map[string]string) seen {
	from, to := p.moment(args["from"]), p.moment(args["to"])
	_, want, _ := bounds(0, args, "ms")
	want += " from " + args["from"] + " to " + args["to"]
	if from == nil || to == nil {
		missing := args["to"]
		if from == nil {
			missing = args["from"]
		}
		return seen{want: want, got: missing + " has not happened"}
	}
	ms := to.T - from.T
	holds, _, over := bounds(ms, args, "ms")
	s := seen{holds: holds, want: want, got: fmt.Sprintf("%d ms", ms), at: []int{from.N, to.N}}
	if low, err := trace.ParseSeq(args["min"]); err != nil || ms >= int64(low) {
		s.excess = over
	}
	return s
}

func faultStruck(p prefix, args map[string]string) seen {
	var struck []*trace.Record
	for _, r := range p.all(trace.Server, trace.ServerFault) {
		if r.Detail == args["name"] {
			struck = append(struck, r)
		}
	}
	n := len(struck)
	least, exact := 1, false
	if text, ok := args["count"]; ok {
		least, _ = strconv.Atoi(text)
		exact = true
	}
	s := seen{holds: n == least || !exact && n > least, want: "the fault " + args["name"] + " struck", got: fmt.Sprintf("%d times", n), at: numbers(struck)}
	if exact {
		s.want += " " + args["count"] + " times"
	}
	if n < least {
		s.check = Exercised
	}
	return s
}

func wait(p prefix, args map[string]string) seen {
	n, _ := strconv.Atoi(args["n"])
	all := p.all(trace.Session, trace.SessionWait)
	_, want, _ := bounds(0, args, "ms")
	want = "wait " + args["n"] + " of " + want
	if n < 1 || n > len(all) {
		return seen{want: want, got: fmt.Sprintf("%d waits", len(all)), at: numbers(all)}
	}
	r := all[n-1]
	holds, _, _ := bounds(r.Ms, args, "ms")
	return seen{holds: holds, want: want, got: fmt.Sprintf("%d ms", r.Ms), at: one(r)}
}

func observation(p prefix, args map[string]string) seen {
	want := "observed as " + args["status"]
	r := p.client().last(trace.Session, trace.SessionObserved)
	if r == nil {
		return seen{want: want, got: "no observation"}
	}
	return seen{holds: r.Status == args["status"], want: want, got: "observed as " + r.Status, at: one(r)}
}

func ending(p prefix, args map[string]string) seen {
	want := strings.TrimSpace("the session ended as " + args["status"] + " " + args["reason"] + " " + args["detail"])
	r := p.client().last(trace.Session, trace.SessionEnd)
	if r == nil {
		return seen{want: want, got: "it is running"}
	}
	reason, asked := args["reason"]
	status := r.Status == args["status"]
	if args["status"] == anError {
		status = r.Status != "by-caller" && r.Status != "server-stop"
	}
	holds := status && (!asked || r.Reason == reason) && strings.Contains(r.Detail, args["detail"])
	return seen{holds: holds, want: want, got: strings.TrimSpace(r.Status + " " + r.Reason + " " + r.Detail), at: one(r)}
}

func running(p prefix, _ map[string]string) seen {
	r := p.client().last(trace.Session, trace.SessionEnd)
	if r == nil {
		return seen{holds: true}
	}
	return seen{want: "the session is running", got: "it ended as " + r.Status, at: one(r)}
}
