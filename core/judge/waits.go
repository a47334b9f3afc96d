package judge

import (
	"fmt"

	"github.com/conform-dev/conform/core/trace"
)

// waits finds the waits that ran out: what the scenario waited for did not happen.
func waits(records []trace.Record) []Finding {
	var out []Finding
	for i := range records {
		if r := &records[i]; r.Kind == trace.StageLate {
			out = append(out, Finding{Check: Late, Expected: r.Detail, Seen: fmt.Sprintf("nothing of it within %d ms", r.Ms),
				Record: i + 1, excess: 1})
		}
	}
	return out
}
