package checkpoint

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/conform-dev/conform/core/event"
)

// TestData runs the files under testdata: a command, its input, the exact output. Digests and canonical forms there are the
// contract's golden vectors (facts 3.4 to 3.6): records move between implementations only while every byte agrees.
func TestData(t *testing.T) {
	datadriven.Walk(t, "testdata/golden", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			run := commands[d.Cmd]
			if run == nil {
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			out, err := run(d)
			if err != nil {
				return failure(err)
			}
			return out
		})
	})
}

var commands = map[string]func(d *datadriven.TestData) (string, error){
	// canonical: one document.
	"canonical": func(d *datadriven.TestData) (string, error) {
		b, err := Canonical([]byte(d.Input))
		return string(b), err
	},
	// scope-digest: one fingerprint.
	"scope-digest": func(d *datadriven.TestData) (string, error) { return ScopeDigest(d.Input), nil },
	// redact: lines `field raw`.
	"redact": func(d *datadriven.TestData) (string, error) {
		return each(d, func(line string) (string, error) {
			field, raw, _ := strings.Cut(line, " ")
			return RedactPosition(field, raw), nil
		})
	},
	// key: one context.
	"key": func(d *datadriven.TestData) (string, error) {
		c, err := DecodeContext([]byte(d.Input))
		if err != nil {
			return "", err
		}
		return ScopeKey(c)
	},
	// sequence: lines, one JSON number each.
	"sequence": func(d *datadriven.TestData) (string, error) {
		return each(d, func(line string) (string, error) {
			if n, ok := exactSeq(line); ok {
				return strconv.FormatInt(int64(n), 10), nil
			}
			return "no sequence", nil
		})
	},
	// time: lines, one date each, quoted.
	"time": func(d *datadriven.TestData) (string, error) {
		return each(d, func(line string) (string, error) {
			text, err := strconv.Unquote(line)
			if err != nil {
				return "", err
			}
			ms, ok := ParseTime(text)
			if !ok {
				return "no date", nil
			}
			return fmt.Sprint(ms, " ", FormatTime(ms)), nil
		})
	},
	// checkpoint: one document, shown in canonical form.
	"checkpoint": func(d *datadriven.TestData) (string, error) {
		c, err := Decode([]byte(d.Input))
		if err != nil {
			return "", err
		}
		b, err := c.JSON()
		return string(b), err
	},
	// redacted: one document, shown redacted.
	"redacted": func(d *datadriven.TestData) (string, error) {
		c, err := Decode([]byte(d.Input))
		if err != nil {
			return "", err
		}
		b, err := c.RedactedJSON()
		return string(b), err
	},
	// record observed=ms: one checkpoint, shown as the record a store keeps.
	"record": func(d *datadriven.TestData) (string, error) {
		c, err := Decode([]byte(d.Input))
		if err != nil {
			return "", err
		}
		observed, err := strconv.ParseInt(d.CmdArgs[0].Vals[0], 10, 64)
		if err != nil {
			return "", err
		}
		r, err := NewRecord(&c, observed)
		if err != nil {
			return "", err
		}
		b, err := r.JSON()
		return string(b), err
	},
	// open-record: one record, opened under its own scope.
	"open-record": func(d *datadriven.TestData) (string, error) {
		r, err := DecodeRecord([]byte(d.Input))
		if err != nil {
			return "", err
		}
		c, reason := r.Open(Context{r.SourceID, r.QueryFingerprint, r.SourceVersion, r.SchemaVersion, "scope-a"})
		return fmt.Sprintf("%s sequence %d", reason, c.Resume.Seq), nil
	},
	// seal: one plan.
	"seal": func(d *datadriven.TestData) (string, error) { return SealPlan([]byte(d.Input)) },
	// plan: one plan, shown by its own fingerprint.
	"plan": func(d *datadriven.TestData) (string, error) { return PlanFingerprint([]byte(d.Input)) },
}

func each(d *datadriven.TestData, f func(line string) (string, error)) (string, error) {
	var out []string
	for line := range strings.SplitSeq(d.Input, "\n") {
		text, err := f(line)
		if err != nil {
			return "", err
		}
		out = append(out, line+" -> "+text)
	}
	return strings.Join(out, "\n"), nil
}

func failure(err error) string {
	var r *event.ResumeError
	if errors.As(err, &r) {
		return "refused: " + r.Reason.String() + ": " + r.Message
	}
	return "error: " + err.Error()
}
