package probe

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/cucumber/godog"

	"github.com/conform-dev/conform/core/trace"
)

// which is how a phrase names an answer or a stream.
const which = `(?:answer|stream) (\d+)`

// lastOne is the newest answer.
const lastOne = `(answer \d+|the last answer)`

// quoted is one of a list of words in quotation marks.
var quoted = regexp.MustCompile(`"([^"]+)"`)

// then are the phrases that say what should have come back.
func (p *Probe) then() []phrase {
	return []phrase{
		{lastOne + ` has status (\S+(?: or \S+)*)`, func(n, status string) error { return p.expect(trace.ExpectAnswer, "n", p.number(n), "status", status) }},
		{lastOne + ` has status (\S+) and this body:`, func(n, status string, d *godog.DocString) error {
			return p.expect(trace.ExpectAnswer, "n", p.number(n), "status", status, "body", p.named(strings.TrimSpace(d.Content)))
		}},
		{lastOne + ` says:`, func(n string, t *godog.Table) error {
			return p.members(t, trace.ExpectAnswer, "n", p.number(n))
		}},
		{lastOne + ` has the header ([A-Za-z-]+) with "(.+)"`, func(n, name, value string) error {
			return p.expect(trace.ExpectAnswer, "n", p.number(n), "header", name, "value", value)
		}},
		{lastOne + ` has the media type (\S+)`, func(n, media string) error {
			return p.expect(trace.ExpectAnswer, "n", p.number(n), "media", media)
		}},
		{lastOne + ` has no header ([A-Za-z-]+)`, func(n, name string) error {
			return p.expect(trace.ExpectAnswer, "n", p.number(n), "header", name, "value", "absent")
		}},
		{which + ` began with (.+)`, func(n, with string) error { return p.expect(trace.ExpectBegan, "n", n, "with", with) }},
		{lastOne + ` (speaks|does not speak) of (".+")`, func(n, how, list string) error {
			name := map[string]string{"speaks": "with", "does not speak": "without"}[how]
			for _, word := range quoted.FindAllStringSubmatch(list, -1) {
				if err := p.expect(trace.ExpectAnswer, "n", p.number(n), name, word[1]); err != nil {
					return err
				}
			}
			return nil
		}},
		{`the last (state|wake) of (stream \d+|the last stream) says:`, func(what, n string, t *godog.Table) error {
			return p.members(t, trace.ExpectHeard, "n", p.number(strings.Replace(n, "stream ", "answer ", 1)), "what", what)
		}},
		{`stream (\d+) heard (?:(exactly|at least|at most|fewer than) )(\d+) (wake|state|comment)s?`, func(n, how, times, what string) error {
			name := map[string]string{"exactly": "count", "at least": "min", "at most": "max", "fewer than": "max"}[how]
			if how == "fewer than" {
				m, _ := strconv.Atoi(times)
				times = strconv.Itoa(max(m-1, 0))
			}
			return p.expect(trace.ExpectHeard, "n", n, "what", what, name, times)
		}},
		{`stream (\d+) is (still open|over by now)`, func(n, is string) error {
			return p.expect(trace.ExpectStream, "n", n, "is", map[string]string{"still open": "open", "over by now": "over"}[is])
		}},
	}
}

// number is the number of an answer as people name it.
func (p *Probe) number(text string) string {
	if n, ok := strings.CutPrefix(text, "answer "); ok && n != "" {
		return n
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return strconv.Itoa(p.asked)
}

// expect records an expectation; args come in pairs of name and value.
func (p *Probe) expect(e trace.Expectation, pairs ...string) error {
	args := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		args[pairs[i]] = pairs[i+1]
	}
	return p.Expect(e, args)
}

// members records one expectation for each row of a table.
func (p *Probe) members(t *godog.Table, e trace.Expectation, pairs ...string) error {
	rows, err := table(t, "member", "value")
	if err != nil {
		return err
	}
	for _, row := range rows {
		if err := p.expect(e, append(pairs, "member", row["member"], "value", p.named(row["value"]))...); err != nil {
			return err
		}
	}
	return nil
}

// table reads a table whose first row names its columns.
func table(t *godog.Table, columns ...string) ([]map[string]string, error) {
	known := strings.Join(columns, ", ")
	if t == nil || len(t.Rows) < 2 {
		return nil, fmt.Errorf("a table with the columns %s is missing", known)
	}
	for _, c := range t.Rows[0].Cells {
		if !strings.Contains(", "+known+", ", ", "+c.Value+", ") {
			return nil, fmt.Errorf("unknown column %q, known are %s", c.Value, known)
		}
	}
	var out []map[string]string
	for _, r := range t.Rows[1:] {
		row := map[string]string{}
		for i, c := range r.Cells {
			row[t.Rows[0].Cells[i].Value] = c.Value
		}
		out = append(out, row)
	}
	return out, nil
}

// named puts in what the subject calls its people's things: {login of the viewer}, {subscription of another viewer}.
func (p *Probe) named(text string) string {
	var pairs []string
	for name, person := range p.target.People {
		pairs = append(pairs, "{login of "+name+"}", person.Login, "{subscription of "+name+"}", person.Subscription)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}
