package steps

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/conform-dev/conform/simulator"
)

// fault reads one row of a table of faults: its name; when it strikes ("sequence 7, connection 2"); its parameters, one to a
// cell ("code 429"); and how often. Whether name, trigger and parameters fit together is for the simulator to say.
func fault(row map[string]string) (f simulator.Fault, err error) {
	f.Name = row["fault"]
	if at := row["at"]; at != "" {
		for part := range strings.SplitSeq(at, ", ") {
			if err := trigger(&f.At, part); err != nil {
				return f, fmt.Errorf("fault %s: %w", f.Name, err)
			}
		}
	}
	for _, column := range []string{"with", "and"} {
		if row[column] == "" {
			continue
		}
		name, value, ok := strings.Cut(row[column], " ")
		if !ok {
			return f, fmt.Errorf("fault %s: %q is no parameter and value", f.Name, row[column])
		}
		if f.With == nil {
			f.With = map[string]string{}
		}
		f.With[name] = value
	}
	switch times := row["times"]; times {
	case "":
	case "always":
		f.Times = simulator.Always
	default:
		if f.Times, err = strconv.Atoi(times); err != nil {
			return f, fmt.Errorf("fault %s: times: %w", f.Name, err)
		}
	}
	return f, nil
}

func trigger(at *simulator.At, text string) error {
	name, value, _ := strings.Cut(text, " ")
	n, err := number(value)
	switch name {
	case "request":
		at.Request = value
		return nil
	case "wire":
		at.Wire = value
		return nil
	case "connection":
		at.Connection = int(n)
	case "sequence":
		at.Sequence = n
	case "event":
		at.Event = int(n)
	case "byte":
		at.Byte = int64(n)
	default:
		return fmt.Errorf("unknown trigger %q", text)
	}
	return err
}
