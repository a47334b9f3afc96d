package bolt

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/store"
	"github.com/conform-dev/conform/core/store/storetest"
)

// benchTime is one round of one side; rounds of both sides alternate, and the median of their ratios counts.
const (
	benchTime   = 400 * time.Millisecond
	benchRounds = 5
)

// BenchmarkSave saves in 1, 8, 64 and 256 scopes at once, and does the same with the bare means in turn: a loop that
// overwrites one record in a file and syncs it, and a goroutine that puts encoded records which wait into one bbolt
// transaction. It prints the median rates of five rounds each, and ratios.
func BenchmarkSave(b *testing.B) {
	for _, n := range []int{1, 8, 64, 256} {
		b.Run(fmt.Sprintf("scopes=%d", n), func(b *testing.B) {
			dir := b.TempDir()
			s, err := Open(filepath.Join(dir, "store.db"), store.Config{MaxRecords: store.CeilingMaxRecords, OnDiagnostic: func(d store.Diagnostic) { b.Error(d.Err, d.Err.Cause) }}, Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			bare := newBare(b, filepath.Join(dir, "bare.db"))
			defer bare.close()
			sides := [3]struct {
				save  func(scope int, seq event.Seq) error
				rates []float64
			}{
				{save: func(scope int, seq event.Seq) error { return s.Save(b.Context(), benchCheckpoint(scope, seq)) }},
				{save: bare.save},
				{save: syncLoop(b, filepath.Join(dir, "sync"))},
			}
			for b.Loop() {
				for range benchRounds {
					for i := range sides {
						writers := n
						if i == 2 {
							writers = 1
						}
						sides[i].rates = append(sides[i].rates, rate(b, writers, sides[i].save))
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
			b.ReportMetric(medians[1], "bare-group/s")
			b.ReportMetric(medians[2], "fdatasync/s")
			b.ReportMetric(medians[0]/medians[1], "of-bare-group")
			b.ReportMetric(medians[0]/medians[2], "of-fdatasync")
		})
	}
}

// rate runs the writers, each in a scope of its own, and gives saves per second.
func rate(b *testing.B, writers int, save func(scope int, seq event.Seq) error) float64 {
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
	c := benchPosition
	c.Context, c.Resume.Seq, c.SavedAt = benchScopes[scope], seq, time.Now().UnixMilli()
	return c
}

var benchPosition = storetest.At(41, 0)

var benchScopes = func() (out [256]checkpoint.Context) {
	for i := range out {
		out[i] = storetest.Scope()
		out[i].SourceID = fmt.Sprint("source-", i)
	}
	return out
}()

// benchRecord is what the store writes of a checkpoint.
func benchRecord(b *testing.B, scope int) (key, doc []byte) {
	c := benchCheckpoint(scope, 41)
	rec, err := checkpoint.NewRecord(&c, c.SavedAt)
	if err != nil {
		b.Fatal(err)
	}
	text, err := rec.JSON()
	if err != nil {
		b.Fatal(err)
	}
	return []byte(rec.Key), encode([]byte(rec.Key), 1, text)
}

// bare is a group commit of records that are encoded already, and nothing else.
type bare struct {
	db    *bbolt.DB
	queue chan bareRequest
	keys  [256][]byte
	docs  [256][]byte
}

type bareRequest struct {
	scope int
	done  chan error
}

func newBare(b *testing.B, path string) *bare {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: time.Second, FreelistType: bbolt.FreelistMapType, NoStatistics: true})
	if err != nil {
		b.Fatal(err)
	}
	g := &bare{db: db, queue: make(chan bareRequest, maxBatch)}
	for i := range g.keys {
		g.keys[i], g.docs[i] = benchRecord(b, i)
	}
	go g.run()
	return g
}

func (g *bare) run() {
	for first := range g.queue {
		batch := []bareRequest{first}
		for len(g.queue) > 0 {
			batch = append(batch, <-g.queue)
		}
		err := g.db.Update(func(tx *bbolt.Tx) error {
			bucket, err := tx.CreateBucketIfNotExists(bucketName)
			if err != nil {
				return err
			}
			for _, r := range batch {
				if err := bucket.Put(g.keys[r.scope], g.docs[r.scope]); err != nil {
					return err
				}
			}
			return nil
		})
		for _, r := range batch {
			r.done <- err
		}
	}
}

func (g *bare) save(scope int, _ event.Seq) error {
	done := make(chan error, 1)
	g.queue <- bareRequest{scope, done}
	return <-done
}

func (g *bare) close() {
	close(g.queue)
	g.db.Close()
}

// syncLoop overwrites a record in place and syncs it: the least that a durable save can cost.
func syncLoop(b *testing.B, path string) func(int, event.Seq) error {
	_, doc := benchRecord(b, 0)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { f.Close() })
	if _, err := f.WriteAt(doc, 0); err != nil {
		b.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		b.Fatal(err)
	}
	return func(int, event.Seq) error {
		if _, err := f.WriteAt(doc, 0); err != nil {
			return err
		}
		return fdatasync(f)
	}
}
