package stage

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/features/stage/storeproc"
	"github.com/conform-dev/conform/simulator/world"
)

// file is the shipped file store, held by a process that can be killed, in a folder of its own.
type file struct {
	book *book
	dir  string
	proc *storeproc.Process
}

// storeFile is the name of the file in its folder.
const storeFile = "positions.db"

// newFile makes the store and what it holds at the start.
func newFile(ctx context.Context, s *Setup, b *book) (*file, error) {
	dir, err := os.MkdirTemp("", "conform-store-")
	if err != nil {
		return nil, err
	}
	f := &file{book: b, dir: dir}
	f.proc = storeproc.New(filepath.Join(dir, storeFile), s.Limit, b.reported)
	if err := f.proc.Start(); err != nil {
		return f, err
	}
	for i := range s.Others {
		c := (&Setup{Stored: &world.Stored{Seq: 1}}).Checkpoint()
		c.Context.SourceID, c.SavedAt = fmt.Sprintf("other-%d", i+1), time.Now().UnixMilli()
		if err := f.proc.Save(ctx, *c); err != nil {
			return f, err
		}
	}
	if c := storedNow(s); c != nil {
		if err := f.proc.Save(ctx, *c); err != nil {
			return f, err
		}
		if s.Stored.Damage != "" {
			return f, f.damage(s.Stored.Damage)
		}
	}
	return f, nil
}

func (f *file) path() string { return filepath.Join(f.dir, storeFile) }

// damage changes the record behind the back of the store.
func (f *file) damage(how string) error {
	if err := f.proc.Close(); err != nil {
		return err
	}
	from, to := `"format":"honua.realtime-checkpoint-store/1.0"`, `"format":"honua.realtime-checkpoint-store/1.9"`
	if how == "a damaged record" {
		from, to = `"savedAt":"`, `"savedAt":?`
	}
	if err := storeproc.Forge(f.path(), []byte(from), []byte(to)); err != nil {
		return err
	}
	return f.proc.Start()
}

// KillStore kills the process and looks at what is on disk.
func (p *process) KillStore(context.Context) error {
	if p.store == nil || p.store.file == nil {
		return fmt.Errorf("kill the store: %w: it is no file", ErrLane)
	}
	f := p.store.file
	sources, err := f.proc.Sources()
	if err != nil {
		return err
	}
	if err := f.proc.Kill(); err != nil {
		return err
	}
	text, err := os.ReadFile(f.path())
	if err != nil {
		return err
	}
	secret := "absent"
	if bytes.Contains(text, []byte(world.Canary)) {
		secret = "present"
	}
	r := trace.New(trace.Plugin, trace.PluginMeasured)
	r.Args = map[string]string{"sources on disk": strings.Join(sources, ", "), "members on disk": members(text), "secret on disk": secret}
	p.book.add(r)
	return nil
}

// members are the names in every record that the file holds, old pages included, in their order. Nobody but the shipped format puts
// a member first that begins so.
func members(text []byte) string {
	names := map[string]bool{}
	for _, at := range indexAll(text, []byte(`{"authorizationScopeDigest":`)) {
		var record map[string]json.RawMessage
		if json.NewDecoder(bytes.NewReader(text[at:])).Decode(&record) != nil {
			continue // the half of an old page
		}
		for name := range record {
			names[name] = true
		}
		var resume map[string]json.RawMessage
		_ = json.Unmarshal(record["resume"], &resume)
		for name := range resume {
			names["resume."+name] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(names)), " ")
}

func indexAll(text, what []byte) (at []int) {
	for from := 0; ; {
		i := bytes.Index(text[from:], what)
		if i < 0 {
			return at
		}
		at = append(at, from+i)
		from += i + len(what)
	}
}

// Close ends the process and removes the file.
func (f *file) Close() error {
	return errors.Join(f.proc.Close(), os.RemoveAll(f.dir))
}
