package judge

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/conform-dev/conform/core/trace"
)

// carried are the changes of a feed that a stream brought, in the order in which they came, with their records.
func (p prefix) carried(n string) (list []int64, at []*trace.Record) {
	for _, r := range p.of(n, trace.ExaminerHeard) {
		if text, ok := r.Args["change"]; ok {
			k, _ := strconv.ParseInt(text, 10, 64)
			list, at = append(list, k), append(at, r)
		}
	}
	return list, at
}

// said is a list of changes for people: runs as `2 to 5`.
func said(list []int64) string {
	if len(list) == 0 {
		return "none"
	}
	var out []string
	for i := 0; i < len(list); {
		k := i
		for k+1 < len(list) && list[k+1] == list[k]+1 {
			k++
		}
		if k > i {
			out = append(out, fmt.Sprintf("%d to %d", list[i], list[k]))
		} else {
			out = append(out, strconv.FormatInt(list[i], 10))
		}
		i = k + 1
	}
	return strings.Join(out, ", ")
}

// span are the changes from first to last.
func span(first, last int64) []int64 {
	var out []int64
	for k := first; k <= last; k++ {
		out = append(out, k)
	}
	return out
}

func changes(p prefix, args map[string]string) seen {
	first, _ := strconv.ParseInt(args["first"], 10, 64)
	last, _ := strconv.ParseInt(args["last"], 10, 64)
	got, at := p.carried(args["n"])
	wanted, how := span(first, last), ", each once and in order"
	if args["order"] == "any" {
		got, how = slices.Sorted(slices.Values(got)), ", each once"
	}
	return seen{holds: slices.Equal(got, wanted), want: "request " + args["n"] + " with changes " + said(wanted) + how,
		got: said(got), at: numbers(at)}
}

// honest: who comes back with the id of a change gets all behind it, or is told that he does not.
func honest(p prefix, args map[string]string) seen {
	n := args["n"]
	last, _ := strconv.ParseInt(args["last"], 10, 64)
	s := seen{want: "an answer to request " + n + " that brings everything behind the id it came with, or says that something is lost"}
	asked, answered := p.of(n, trace.ExaminerAsked), p.of(n, trace.ExaminerAnswered)
	if len(asked) == 0 || len(answered) == 0 {
		s.got = "no answer"
		return s
	}
	after, _ := strconv.ParseInt(asked[0].Args["after"], 10, 64)
	got, at := p.carried(n)
	s.at = append(one(answered[0]), numbers(at)...)
	if sign := p.expired(n, asked[0], answered[0]); sign != "" {
		s.holds, s.got = true, sign
		return s
	}
	unknown := after == 0 // an id that nobody sent: there is nothing that it could go on from
	if args["order"] == "any" {
		got = slices.Sorted(slices.Values(got))
	}
	if !unknown && slices.Equal(got, span(after+1, last)) {
		s.holds, s.got = true, "nothing is lost"
		return s
	}
	s.got = fmt.Sprintf("status %s, and the stream went on with changes %s", answered[0].Status, said(got))
	if unknown {
		s.got += " for an id that nobody sent, and nothing said so"
	} else {
		s.got += fmt.Sprintf(" behind change %d, and nothing said so", after)
	}
	return s
}

// expired is the sign by which an answer says that its id is no good any more: what the subject declared, or a status that is none of
// success.
func (p prefix) expired(n string, asked, answered *trace.Record) string {
	if status, err := strconv.Atoi(answered.Status); err == nil && status >= 400 {
		return "status " + answered.Status
	}
	for _, word := range strings.Fields(setupArgs(p)["expired"]) {
		kind, what, _ := strings.Cut(word, ":")
		switch kind {
		case "status":
			if answered.Status == what {
				return "status " + what
			}
		case "other-header":
			if id, there := answered.Args["header-"+strings.ToLower(what)]; there && id != asked.ID {
				return fmt.Sprintf("header %s is %q, which is not the id that was asked with", what, id)
			}
		case "event":
			for _, r := range p.of(n, trace.ExaminerHeard) {
				if r.Type == what {
					return "event " + what
				}
			}
		}
	}
	return ""
}

// ids: without an id of its own nobody can come back behind a change.
func ids(p prefix, _ map[string]string) seen {
	of := map[string]string{} // change by id
	s := seen{holds: true, want: "an id of its own with each change", got: "each has one"}
	for _, r := range p.all(trace.Examiner, trace.ExaminerHeard) {
		k, ok := r.Args["change"]
		if !ok {
			continue
		}
		switch other, there := of[r.ID]; {
		case r.ID == "":
			return seen{want: s.want, got: "change " + k + " has none", at: one(r)}
		case there && other != k:
			return seen{want: s.want, got: fmt.Sprintf("changes %s and %s have the same", other, k), at: one(r)}
		}
		of[r.ID] = k
	}
	if len(of) == 0 {
		return seen{want: s.want, got: "no change was heard"}
	}
	return s
}
