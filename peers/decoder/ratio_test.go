package decoder

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	rounds    = 5                      // of each subject, interleaved; the median counts
	perRound  = 5                      // passes over the stream, so that a round is long enough for the clock
	viewWant  = 3                      // times the library's rate; docs/performance.md says why copies are printed and not judged
	runsEnv   = "CONFORM_DECODER_RUNS" // how often TestRatio measures, for the figures in docs/performance.md
	mostRuns  = 1000
	usualRuns = 1
)

// TestRatio measures how much faster than the library conform's decoder is: processor time of the process, garbage collection
// included, medians of five interleaved rounds. Processor time is not disturbed by what else runs on the machine, save
// through its caches and its clock rate.
func TestRatio(t *testing.T) {
	runs := usualRuns
	if v := os.Getenv(runsEnv); v != "" {
		var err error
		if runs, err = strconv.Atoi(v); err != nil || runs < 1 || runs > mostRuns {
			t.Fatalf("%s: %q is not in 1 to %d", runsEnv, v, mostRuns)
		}
	}
	all := stream(events)
	var views, copied []float64
	for range runs {
		rates := measure(t, all)
		views, copied = append(views, rates[0]/rates[2]), append(copied, rates[1]/rates[2])
		t.Logf("valid until the next call %.2f times the library, copied to strings %.2f (%s)", rates[0]/rates[2], rates[1]/rates[2], figures(rates))
	}
	t.Logf("of %d runs (least, median, most): valid until the next call %s, copied to strings %s", runs, spread(views), spread(copied))
	if low := slices.Min(views); low < viewWant {
		t.Errorf("valid until the next call: %.2f times the library, want %d", low, viewWant)
	}
}

// measure is the rate of each subject in events per microsecond of processor time.
func measure(t *testing.T, all []byte) []float64 {
	t.Helper()
	spent := make([][]float64, len(subjects))
	for range rounds {
		for i, s := range subjects {
			from := processorTime(t)
			for range perRound {
				if n, _, err := s.read(bytes.NewReader(all)); n != events || err != nil {
					t.Fatalf("%s: %d events, error %v", s.name, n, err)
				}
			}
			spent[i] = append(spent[i], float64((processorTime(t) - from).Microseconds()))
		}
	}
	rates := make([]float64, len(subjects))
	for i := range spent {
		rates[i] = perRound * events / median(spent[i])
	}
	return rates
}

func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

func spread(v []float64) string {
	return fmt.Sprintf("%.2f, %.2f, %.2f", slices.Min(v), median(v), slices.Max(v))
}

func figures(rates []float64) string {
	var out []string
	for i, s := range subjects {
		out = append(out, fmt.Sprintf("%s %.2f M/s", s.name, rates[i]))
	}
	return strings.Join(out, ", ")
}
