package judge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/conform-dev/conform/core/trace"
)

// Words for the value of a member or header that is not written out.
const (
	valueAbsent = "absent"
	valueNumber = "a number"
	valueText   = "a text"
)

// of are the examiner's records of one kind that belong to request n.
func (p prefix) of(n string, kind trace.Kind) []*trace.Record {
	return slices.DeleteFunc(p.all(trace.Examiner, kind), func(r *trace.Record) bool { return strconv.FormatUint(uint64(r.Epoch), 10) != n })
}

// answer holds the answer to a request of the examiner against what a scenario says about it.
func answer(p prefix, args map[string]string) seen {
	n := args["n"]
	got := p.of(n, trace.ExaminerAnswered)
	if len(got) == 0 {
		return seen{want: "an answer to request " + n, got: fmt.Sprintf("%d requests, none of them with that answer", len(p.all(trace.Examiner, trace.ExaminerAsked)))}
	}
	r := got[0]
	s := seen{holds: true, at: one(r)}
	var want, is []string
	hold := func(ok bool, wanted, found string) {
		s.holds = s.holds && ok
		want, is = append(want, wanted), append(is, found)
	}
	if status, ok := args["status"]; ok {
		hold(slices.Contains(strings.Split(status, " or "), r.Status), "status "+status, "status "+r.Status)
	}
	if body, ok := args["body"]; ok {
		hold(body == r.Detail, "body "+strconv.Quote(body), "body "+strconv.Quote(r.Detail))
	}
	if name, ok := args["member"]; ok {
		found := member(r.Detail, name)
		hold(fits(found, args["value"]), name+" "+args["value"], name+" "+found)
	}
	if name, ok := args["header"]; ok {
		found, there := r.Args["header-"+strings.ToLower(name)]
		if !there {
			found = valueAbsent
		}
		hold(found == args["value"], "header "+name+" "+args["value"], "header "+name+" "+found)
	}
	if media, ok := args["media"]; ok {
		whole := r.Args["header-content-type"]
		essence, _, _ := strings.Cut(whole, ";")
		hold(strings.EqualFold(strings.TrimSpace(essence), media), "media type "+media, "Content-Type "+strconv.Quote(whole))
	}
	if text, ok := args["with"]; ok {
		hold(strings.Contains(r.Detail, text), "a body with "+strconv.Quote(text), "body "+strconv.Quote(r.Detail))
	}
	if text, ok := args["without"]; ok {
		hold(!strings.Contains(r.Detail, text), "a body without "+strconv.Quote(text), "body "+strconv.Quote(r.Detail))
	}
	s.want, s.got = "answer "+n+" with "+strings.Join(want, ", "), strings.Join(is, ", ")
	return s
}

// heard counts what a stream carried, and looks into the last one.
func heard(p prefix, args map[string]string) seen {
	n, what := args["n"], args["what"]
	all := slices.DeleteFunc(p.of(n, trace.ExaminerHeard), func(r *trace.Record) bool { return r.Type != what })
	s := seen{holds: true, at: numbers(all), got: fmt.Sprintf("%d", len(all))}
	if name, ok := args["member"]; ok {
		found := valueAbsent
		if len(all) > 0 {
			found = member(all[len(all)-1].Detail, name)
		}
		s.holds = len(all) > 0 && fits(found, args["value"])
		s.want, s.got = fmt.Sprintf("the last %s of stream %s with %s %s", what, n, name, args["value"]), fmt.Sprintf("%d of them, the last with %s", len(all), found)
		return s
	}
	var want string
	s.holds, want, _ = bounds(int64(len(all)), args, what+" on stream "+n)
	s.want = want
	return s
}

// began holds the first things on a stream against a list of `type` or `type data`.
func began(p prefix, args map[string]string) seen {
	n := args["n"]
	list := strings.Split(args["with"], ", ")
	all := p.of(n, trace.ExaminerHeard)
	s := seen{holds: len(all) >= len(list), want: "stream " + n + " begins with " + args["with"], at: numbers(all)}
	var got []string
	for i, r := range all[:min(len(all), len(list))] {
		is := r.Type
		if strings.Contains(list[i], " ") {
			is += " " + r.Detail
		}
		got = append(got, is)
		s.holds = s.holds && is == list[i]
	}
	s.got = strings.Join(got, ", ")
	if s.got == "" {
		s.got = "nothing"
	}
	return s
}

// streamIs says whether a stream was opened and has not ended.
func streamIs(p prefix, args map[string]string) seen {
	n := args["n"]
	opened := slices.ContainsFunc(p.of(n, trace.ExaminerAnswered), func(r *trace.Record) bool { return r.Status == "200" || r.Status == "101" })
	ended := p.of(n, trace.ExaminerEnded)
	is := "open"
	switch {
	case !opened:
		is = "not there"
	case len(ended) > 0:
		is = "over"
	}
	return seen{holds: is == args["is"], want: "stream " + n + " " + args["is"], got: is, at: numbers(ended)}
}

// member is the JSON text of a member of text, by names with a dot between them; valueAbsent where there is none.
func member(text, path string) string {
	raw := json.RawMessage(text)
	for _, name := range strings.Split(path, ".") {
		var object map[string]json.RawMessage
		if json.Unmarshal(raw, &object) != nil {
			return valueAbsent
		}
		next, ok := object[name]
		if !ok {
			return valueAbsent
		}
		raw = next
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return valueAbsent
	}
	return b.String()
}

// fits says whether the JSON text found is what is wanted: a word for a kind of value, or the text itself.
func fits(found, want string) bool {
	switch want {
	case valueNumber:
		var n float64
		return found != "null" && json.Unmarshal([]byte(found), &n) == nil
	case valueText:
		return strings.HasPrefix(found, `"`)
	}
	return found == want
}
