package storeproc

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"sync"

	"github.com/conform-dev/conform/core/store"
	"github.com/conform-dev/conform/core/store/bolt"
)

// ServeArgs is for a program that is its own store process, as conform and test binaries are: with the arguments `stage store
// FILE LIMIT` it serves the file to standard input and output until the input ends, and returns true. Any other arguments are not
// for it. A file that cannot be opened ends the process with status 3 and one line.
func ServeArgs(args []string) bool {
	if len(args) != len(Args)+2 || !slices.Equal(args[:len(Args)], Args) {
		return false
	}
	if err := serve(args[len(Args)], args[len(Args)+1], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "store: %v\n", err)
		os.Exit(3)
	}
	return true
}

func serve(path, limit string, in io.Reader, out io.Writer) error {
	most, err := strconv.Atoi(limit)
	if err != nil {
		return fmt.Errorf("limit: %q is no number", limit)
	}
	k := &kept{}
	if k.store, err = bolt.Open(path, store.Config{MaxRecords: most, OnDiagnostic: k.hear}, bolt.Options{}); err != nil {
		return err
	}
	defer k.store.Close()
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, MaxLine)
	reply := json.NewEncoder(out)
	for lines.Scan() {
		var q ask
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			return fmt.Errorf("a call that is none: %w", err)
		}
		if err := reply.Encode(k.do(&q)); err != nil {
			return err
		}
	}
	return lines.Err()
}

// kept is the store and what it has reported since the last answer.
type kept struct {
	store *bolt.Store
	mu    sync.Mutex
	heard []report
}

func (k *kept) hear(d store.Diagnostic) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.heard = append(k.heard, report{string(d.Operation), string(d.Reason)})
}

func (k *kept) do(q *ask) (a answer) {
	ctx := context.Background()
	var err error
	switch q.Do {
	case "load":
		a.loaded(k.store.Load(ctx, q.Scope))
	case "save":
		err = k.store.Save(ctx, q.Checkpoint)
	case "forget":
		err = k.store.Forget(ctx, q.Scope)
	case "records":
		records, failed := k.store.Records(ctx)
		for _, r := range records {
			a.Sources = append(a.Sources, r.SourceID)
			a.Held = append(a.Held, held{r.Key, r.Resume.Seq})
		}
		err = failed
	default:
		err = errors.New("unknown call")
	}
	if err != nil {
		a.Error = err.Error()
	}
	k.mu.Lock()
	a.Reports, k.heard = k.heard, nil
	k.mu.Unlock()
	return a
}
