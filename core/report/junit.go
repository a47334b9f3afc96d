package report

import (
	"encoding/xml"
	"fmt"
	"strings"
	"time"

	"github.com/conform-dev/conform/core/judge"
)

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Skipped  int          `xml:"skipped,attr"`
	Time     string       `xml:"time,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name       string      `xml:"name,attr"`
	Tests      int         `xml:"tests,attr"`
	Failures   int         `xml:"failures,attr"`
	Errors     int         `xml:"errors,attr"`
	Skipped    int         `xml:"skipped,attr"`
	Time       string      `xml:"time,attr"`
	Timestamp  string      `xml:"timestamp,attr"`
	Properties []junitProp `xml:"properties>property"`
	Cases      []junitCase `xml:"testcase"`
	spent      time.Duration
}

type junitProp struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Name       string      `xml:"name,attr"`
	Class      string      `xml:"classname,attr"`
	File       string      `xml:"file,attr"`
	Line       int         `xml:"line,attr"`
	Time       string      `xml:"time,attr"`
	Properties []junitProp `xml:"properties>property"`
	Failure    *junitText  `xml:"failure,omitempty"`
	Error      *junitText  `xml:"error,omitempty"`
	Skipped    *junitText  `xml:"skipped,omitempty"`
}

type junitText struct {
	Type    string `xml:"type,attr,omitempty"`
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// JUnit is the run for CI systems: a suite per subject and lane, a case per row and scenario. Only passed cases pass:
// failed, inconclusive and not-exercised ones are failures whose type says which, error is an error, and what does not apply
// or is not supported is skipped with the reason. red may be nil.
func JUnit(run Run, red *Redactor) ([]byte, error) {
	if err := run.check(); err != nil {
		return nil, err
	}
	all := junitSuites{Name: "conform", Time: secs(run.Duration)}
	at := map[string]int{}
	for i := range run.Results {
		r := &run.Results[i]
		name := r.Subject + " over " + r.Wire + ", " + string(r.Lane) + " lane"
		if r.SelfCheck {
			name += " (self-check)"
		}
		k, ok := at[name]
		if !ok {
			k = len(all.Suites)
			at[name] = k
			all.Suites = append(all.Suites, junitSuite{Name: name, Timestamp: run.Started.UTC().Format("2006-01-02T15:04:05"),
				Properties: []junitProp{{"seed", fmt.Sprint(run.Seed)}, {"version", run.Version}, {"partial", fmt.Sprint(run.Partial)}}})
		}
		c, err := caseOf(r)
		if err != nil {
			return nil, err
		}
		all.Suites[k].add(c, r.Duration)
	}
	for i := range all.Suites {
		s := &all.Suites[i]
		s.Time = secs(s.spent)
		all.Tests += s.Tests
		all.Failures += s.Failures
		all.Errors += s.Errors
		all.Skipped += s.Skipped
	}
	body, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return nil, err
	}
	return []byte(red.Text(xml.Header + string(body) + "\n")), nil
}

func (s *junitSuite) add(c junitCase, d time.Duration) {
	s.Tests++
	s.spent += d
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
	s.Cases = append(s.Cases, c)
}

func caseOf(r *Result) (junitCase, error) {
	c := junitCase{Name: r.Row.ID + " " + r.Scenario, Class: strings.TrimSuffix(r.File, ".feature"), File: r.File, Line: r.Line, Time: secs(r.Duration),
		Properties: []junitProp{{"row", r.Row.ID}, {"level", string(r.Row.Level)}, {"outcome", string(r.Outcome.Verdict)}, {"lane", string(r.Lane)},
			{"wire", r.Wire}, {"seed", fmt.Sprint(r.Seed)}, {"authority", authorities(r.Row)}, {"repeat", r.Repeat}}}
	if k := r.Known; k != nil {
		c.Properties = append(c.Properties, junitProp{"known", k.Issue})
	}
	if len(r.Records) > 0 {
		c.Properties = append(c.Properties, junitProp{"trace", traceName(r)})
	}
	text := &junitText{Type: string(r.Outcome.Verdict), Message: r.Outcome.Why}
	if r.Known != nil {
		text.Message = "(" + r.Known.String() + ") " + text.Message
	}
	if bad(r.Outcome.Verdict) {
		var b strings.Builder
		if err := Failure(&b, r, nil); err != nil {
			return c, err
		}
		text.Text = b.String()
	}
	switch r.Outcome.Verdict {
	case judge.Passed:
	case judge.NotApplicable, judge.Unsupported:
		text.Type = ""
		text.Message = string(r.Outcome.Verdict) + ": " + text.Message
		c.Skipped = text
	case judge.Error:
		c.Error = text
	default:
		c.Failure = text
	}
	return c, nil
}

func secs(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
