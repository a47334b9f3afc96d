//go:build unix

package etcd

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/store"
	"github.com/conform-dev/conform/core/store/bolt"
	"github.com/conform-dev/conform/core/store/storetest"
)

// benchTime is one round of one side; rounds of all sides alternate, and the medians count.
const (
	benchTime   = 400 * time.Millisecond
	benchRounds = 5
)

// BenchmarkSave saves in 1, 8 and 64 scopes at once: in three members of etcd that sync what they write, in a bbolt file, and,
// as the bare means, by plain puts of encoded records with the same client. It prints the median rates and ratios.
func BenchmarkSave(b *testing.B) {
	m, err := startMembers(3, "sync")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := m.end(); err != nil {
			b.Error(err)
		}
	})
	c := m.client(b)
	for _, n := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("scopes=%d", n), func(b *testing.B) {
			cfg := store.Config{MaxRecords: store.CeilingMaxRecords, OnDiagnostic: func(d store.Diagnostic) { b.Error(d.Err, d.Err.Cause) }}
			ours := over(b, c, cfg, fresh())
			file, err := bolt.Open(filepath.Join(b.TempDir(), "store.db"), cfg, bolt.Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer file.Close()
			sides := [3]struct {
				save  func(scope int, seq event.Seq) error
				rates []float64
			}{
				{save: func(scope int, seq event.Seq) error { return ours.Save(b.Context(), benchCheckpoint(scope, seq)) }},
				{save: func(scope int, seq event.Seq) error { return file.Save(b.Context(), benchCheckpoint(scope, seq)) }},
				{save: benchPuts(b, c, fresh().Prefix)},
			}
			for b.Loop() {
				for range benchRounds {
					for i := range sides {
						sides[i].rates = append(sides[i].rates, benchRate(b, n, sides[i].save))
					}
				}
			}
			var medians [3]float64
			for i := range sides {
				slices.Sort(sides[i].rates)
				medians[i] = sides[i].rates[len(sides[i].rates)/2]
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(medians[0], "saves/s")
			b.ReportMetric(medians[1], "bolt/s")
			b.ReportMetric(medians[2], "bare-puts/s")
			b.ReportMetric(medians[0]/medians[1], "of-bolt")
			b.ReportMetric(medians[0]/medians[2], "of-bare-puts")
		})
	}
}

// benchRate runs the writers, each in a scope of its own, and gives saves per second.
func benchRate(b *testing.B, writers int, save func(scope int, seq event.Seq) error) float64 {
	var done atomic.Int64
	var all sync.WaitGroup
	began := time.Now()
	for w := range writers {
		all.Go(func() {
			for seq := event.Seq(1); time.Since(began) < benchTime; seq++ {
				if err := save(w, seq); err != nil {
					b.Error(err)
					return
				}
				done.Add(1)
			}
		})
	}
	all.Wait()
	return float64(done.Load()) / time.Since(began).Seconds()
}

func benchCheckpoint(scope int, seq event.Seq) checkpoint.Checkpoint {
	c := storetest.At(41, time.Now().UnixMilli())
	c.Context.SourceID, c.Resume.Seq = fmt.Sprint("source-", scope), seq
	return c
}

// benchPuts puts a record that is encoded already, without a condition or a lease.
func benchPuts(b *testing.B, c *clientv3.Client, prefix string) func(int, event.Seq) error {
	cp := benchCheckpoint(0, 41)
	rec, err := checkpoint.NewRecord(&cp, cp.SavedAt)
	if err != nil {
		b.Fatal(err)
	}
	doc, err := rec.JSON()
	if err != nil {
		b.Fatal(err)
	}
	return func(scope int, _ event.Seq) error {
		_, err := c.Put(b.Context(), fmt.Sprintf("%s/%d", prefix, scope), string(doc))
		return err
	}
}
