package features

import (
	"context"
	"testing"

	"github.com/conform-dev/conform/core/trace"
)

// TestParallel: scenarios that are played at once come back in the order of their files and lines, whole, with the traces
// that they have alone; progress is told one call at a time.
func TestParallel(t *testing.T) {
	begun, over, inside := 0, 0, 0
	opt := Options{Lane: trace.Virtual, Wire: "sse", Seed: 5, Progress: func(_ Scenario, done *ScenarioRun) {
		if inside++; inside != 1 {
			t.Error("two calls at once")
		}
		if begun++; done != nil {
			begun, over = begun-2, over+1
		}
		inside--
	}}
	alone, err := Run(context.Background(), opt)
	if err != nil || len(alone) == 0 || over != len(alone) || begun != 0 {
		t.Fatalf("%d runs, %d over, %d open: %v", len(alone), over, begun, err)
	}
	opt.Parallel = 4
	together, err := Run(context.Background(), opt)
	if err != nil || len(together) != len(alone) {
		t.Fatalf("%d runs, %v", len(together), err)
	}
	for i := range alone {
		a, b := alone[i], together[i]
		x, err := trace.Hash(a.Records)
		if err != nil {
			t.Fatal(err)
		}
		if y, err := trace.Hash(b.Records); err != nil || x != y || a.Scenario.Where() != b.Scenario.Where() {
			t.Errorf("run %d: %s alone, %s together, or another trace", i, a.Scenario.Where(), b.Scenario.Where())
		}
	}
	for _, n := range []int{-1, MaxParallel + 1} {
		opt.Parallel = n
		if _, err := Run(context.Background(), opt); err == nil {
			t.Errorf("parallel %d was taken", n)
		}
	}
}
