//go:build unix

package bolt

import (
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/store"
	"github.com/conform-dev/conform/core/store/storetest"
)

func scopeOf(i int) checkpoint.Context {
	c := storetest.Scope()
	c.SourceID = fmt.Sprint("source-", i)
	return c
}

func init() { roles["write"] = writeForCrash }

// writeForCrash saves positions in all scopes at once until it is killed, and in ever new scopes beside them, so that each
// commit evicts as well.
func writeForCrash(path string) {
	p, err := share(path + ".progress")
	must(err)
	s, err := Open(path, store.Config{OnDiagnostic: func(d store.Diagnostic) {
		p.Failed.Add(1)
		fmt.Fprintln(os.Stderr, d.Operation, d.Reason, d.Err, d.Err.Cause)
	}}, Options{})
	must(err)
	s.under.hook = p.phase // before the first request
	var all sync.WaitGroup
	for i := range scopes {
		all.Go(func() {
			for n := max(0, s.Load(ctx, scopeOf(i)).Checkpoint.Resume.Seq) + 1; ; n++ {
				c := storetest.At(n, time.Now().UnixMilli())
				c.Context = scopeOf(i)
				p.Applied[i].Store(int64(n))
				must(s.Save(ctx, c))
				p.Acknowledged[i].Store(int64(n))
				p.OthersAt[i].Store(p.Others.Load())
				p.Steps.Add(1)
			}
		})
	}
	all.Go(func() {
		for {
			for i := range scopes { // a scope that gets no turn must not be evicted: that would be right, and look like a loss
				for p.Others.Load()-p.OthersAt[i].Load() > store.DefaultMaxRecords/2 {
					time.Sleep(time.Millisecond)
				}
			}
			n := p.Others.Add(1)
			c := storetest.At(event.Seq(n), time.Now().UnixMilli())
			c.Context = scopeOf(scopes + int(n))
			must(s.Save(ctx, c))
		}
	})
	all.Wait()
}

// TestCrash kills a writing process over and over. After each the file opens and is sound, every record is whole, and each
// scope holds a position that is neither newer than the last applied event nor older than the last acknowledged save (D-25).
func TestCrash(t *testing.T) {
	path := at(t)
	p, err := share(path + ".progress")
	if err != nil {
		t.Fatal(err)
	}
	var k killing
	for range rounds(t) {
		if !k.killOnce(t, role("write", path), p, 6) {
			t.Fatal("the process ended by itself")
		}
		judgeFile(t, path, func(i int) (least, most event.Seq) {
			return event.Seq(p.Acknowledged[i].Load()), event.Seq(p.Applied[i].Load())
		})
		if t.Failed() {
			t.Fatalf("in round %d", k.rounds)
		}
	}
	if n := p.Failed.Load(); n != 0 {
		t.Errorf("%d saves failed", n)
	}
	k.judge(t)
	t.Logf("%d saves acknowledged, %d commits", p.Steps.Load(), p.Ended.Load())
}

// judgeFile opens the file as the next process does, and checks all of it.
func judgeFile(t *testing.T, path string, bounds func(scope int) (least, most event.Seq)) {
	t.Helper()
	for _, flaw := range flaws(path, bounds) {
		t.Error(flaw)
	}
}

// flaws are what is wrong with a file after a crash.
func flaws(path string, bounds func(scope int) (least, most event.Seq)) (out []string) {
	var e ear
	s, err := Open(path, store.Config{OnDiagnostic: e.hear}, Options{})
	if err != nil {
		return []string{fmt.Sprintf("the file does not open: %v", err)}
	}
	defer s.Close()
	db, _ := s.under.file.get()
	err = contain(func() error {
		return db.View(func(tx *bbolt.Tx) error {
			for err := range tx.Check() {
				out = append(out, fmt.Sprintf("the file is not sound: %v", err))
			}
			records := 0
			err := scan(tx.Bucket(bucketName), func(e entry) {
				records++
				if rec, err := checkpoint.DecodeRecord(e.doc); err != nil || rec.Resume != storetest.At(rec.Resume.Seq, 0).Resume {
					out = append(out, fmt.Sprintf("no whole record: %q", e.doc))
				}
			})
			if records > store.DefaultMaxRecords {
				out = append(out, fmt.Sprintf("%d records: written without the eviction", records))
			}
			return err
		})
	})
	if err != nil {
		out = append(out, fmt.Sprintf("the file cannot be read: %v", err))
	}
	for i := range scopes {
		least, most := bounds(i)
		held := event.Seq(0)
		if a := s.Load(ctx, scopeOf(i)); a.Found == checkpoint.Stored {
			held = a.Checkpoint.Resume.Seq
		}
		if held < least || held > most {
			out = append(out, fmt.Sprintf("scope %d holds %d, acknowledged was %d, applied %d", i, held, least, most))
		}
	}
	if len(e.heard) != 0 {
		out = append(out, "diagnostics "+e.words())
	}
	return out
}
