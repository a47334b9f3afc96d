package steps

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/cucumber/godog"

	"github.com/conform-dev/conform/simulator/world"
)

// given are the phrases that describe the world before the client is there.
func (p *play) given() []phrase {
	return []phrase{
		{`(?:a feed of (\d+) records|the feed that every wire is run against)`, func(n string) (err error) {
			if p.setup.Cross = n == ""; !p.setup.Cross {
				p.setup.Records, err = strconv.Atoi(n)
			}
			return err
		}},
		{`the server keeps the last (\d+) changes`, func(n string) (err error) {
			p.setup.Retention, err = strconv.Atoi(n)
			return err
		}},
		{`these faults:`, func(ctx context.Context, t *godog.Table) error {
			rows, err := table(t, "fault", "at", "with", "and", "times")
			for _, r := range rows {
				f, err := fault(r)
				switch {
				case err != nil:
					return err
				case !p.served:
					p.setup.Faults = append(p.setup.Faults, f)
				default: // in the middle of a scenario they are added to what is left
					err = p.stage.Fault(ctx, f)
				}
				if err != nil {
					return err
				}
			}
			return err
		}},
		{`these settings:`, func(t *godog.Table) error {
			rows, err := table(t, "setting", "value")
			for _, r := range rows {
				if err := p.setup.Set(r["setting"], r["value"]); err != nil {
					return err
				}
			}
			return err
		}},
		{`a stored position at (\d+)(?: of (an older stream|another source|another query|another schema|another viewer|another format|a damaged record|another wire|an hour ago|tomorrow))?`, func(at, of string) error {
			seq, err := number(at)
			s := &world.Stored{Seq: seq}
			switch other, _ := strings.CutPrefix(of, "another "); of {
			case "an older stream":
				s.Version = world.Version - 1
			case "another wire":
				s.Wire = true
			case "another format", "a damaged record":
				s.Damage = of
			case "an hour ago":
				s.Age = time.Hour.Milliseconds()
			case "tomorrow":
				s.Age = -24 * time.Hour.Milliseconds()
			default:
				s.Other = other
			}
			p.setup.Stored = s
			return err
		}},
	}
}
