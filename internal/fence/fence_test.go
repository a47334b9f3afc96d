package fence

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/conform-dev/conform"

// file is one Go file that is no test.
type file struct {
	path string // relative to the module
	room *Room
	ast  *ast.File
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("no go.mod above the test")
		}
		dir = up
	}
}

// roomOf is the room with the longest path that holds folder.
func roomOf(folder string) *Room {
	var best *Room
	for i := range Rooms {
		r := &Rooms[i]
		if (folder == r.Path || strings.HasPrefix(folder, r.Path+"/")) && (best == nil || len(r.Path) > len(best.Path)) {
			best = r
		}
	}
	return best
}

func files(t *testing.T) []file {
	t.Helper()
	base := root(t)
	var out []file
	err := filepath.WalkDir(base, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(base, p)
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if name := d.Name(); rel != "." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "bin" || name == "out") {
				return fs.SkipDir
			}
			if _, err := os.Stat(filepath.Join(p, "go.mod")); rel != "." && err == nil {
				return fs.SkipDir // a module of its own, which the product cannot import
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") || strings.HasSuffix(rel, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		folder := filepath.ToSlash(filepath.Dir(rel))
		r := roomOf(folder)
		if r == nil {
			return fmt.Errorf("%s is in no room: add its folder to rooms.go, with what it may import", rel)
		}
		out = append(out, file{rel, r, f})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 30 {
		t.Fatalf("read %d files: the walk is broken", len(out))
	}
	return out
}

// reach is what a room may import: its arrows and what their targets may import.
func reach(r *Room) map[string]bool {
	out := map[string]bool{r.Path: true}
	var add func(path string)
	add = func(path string) {
		if out[path] {
			return
		}
		out[path] = true
		for i := range Rooms {
			if Rooms[i].Path == path {
				for _, m := range Rooms[i].May {
					add(m)
				}
			}
		}
	}
	for _, m := range r.May {
		add(m)
	}
	return out
}

func imports(f file) []string {
	var out []string
	for _, im := range f.ast.Imports {
		p, _ := strconv.Unquote(im.Path.Value)
		out = append(out, p)
	}
	return out
}

// TestArrows: data runs one way; nothing below knows anything above it.
func TestArrows(t *testing.T) {
	for _, f := range files(t) {
		may := reach(f.room)
		for _, im := range imports(f) {
			rel, own := strings.CutPrefix(im, module+"/")
			if !own {
				continue
			}
			for bad, why := range f.room.Never {
				if rel == bad || strings.HasPrefix(rel, bad+"/") {
					t.Errorf("%s imports %s: %s", f.path, rel, why)
				}
			}
			target := roomOf(rel)
			if target == nil {
				t.Errorf("%s imports %s, which is in no room", f.path, rel)
				continue
			}
			if !may["*"] && !may[target.Path] {
				t.Errorf("%s imports %s: room %s may import only %s", f.path, rel, f.room.Path, list(may))
			}
		}
	}
}

// TestPure: the machines in the middle take values and return values (law 1).
func TestPure(t *testing.T) {
	for _, f := range files(t) {
		if !pure(f) {
			continue
		}
		names := map[string]string{} // local name -> import path
		for _, im := range f.ast.Imports {
			p, _ := strconv.Unquote(im.Path.Value)
			name := p[strings.LastIndex(p, "/")+1:]
			if im.Name != nil {
				name = im.Name.Name
			}
			names[name] = p
			if why, bad := Impure[p]; bad && ImpureAllowed[f.room.Path][p] == "" {
				t.Errorf("%s imports %s: %s", f.path, p, why)
			}
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s starts a goroutine: a machine has none (law 1)", f.path)
			case *ast.ChanType:
				t.Errorf("%s has a channel: a machine has none (law 1)", f.path)
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && names[x.Name] != "" {
					if why, bad := Selectors[names[x.Name]+"."+n.Sel.Name]; bad {
						t.Errorf("%s uses %s.%s: %s", f.path, x.Name, n.Sel.Name, why)
					}
				}
			}
			return true
		})
	}
}

// pure says whether a file is under law 1: all files of a pure room, and of a plugin all but its network driver and main.
func pure(f file) bool {
	if f.room.Pure {
		return true
	}
	return strings.HasPrefix(f.path, "plugins/") && !strings.Contains(f.path, "/cmd/") && !strings.HasPrefix(filepath.Base(f.path), "http")
}

// TestThirdParty: what comes from elsewhere comes in by the list.
func TestThirdParty(t *testing.T) {
	used := make([]bool, len(ThirdParty))
	for _, f := range files(t) {
		for _, im := range imports(f) {
			first, _, _ := strings.Cut(im, "/")
			if !strings.Contains(first, ".") || im == module || strings.HasPrefix(im, module+"/") {
				continue
			}
			ok := false
			for i, tp := range ThirdParty {
				if (f.room.Path == tp.Room || strings.HasPrefix(f.room.Path, tp.Room+"/")) && (im == tp.Import || strings.HasPrefix(im, tp.Import+"/")) {
					ok, used[i] = true, true
				}
			}
			if !ok {
				t.Errorf("%s imports %s: room %s has no such line in ThirdParty", f.path, im, f.room.Path)
			}
		}
	}
	for i, tp := range ThirdParty {
		if !used[i] {
			t.Errorf("ThirdParty line %s -> %s is used by nobody: remove it", tp.Room, tp.Import)
		}
	}
}

// TestRoomsExist: a room without a folder is a wish, not a room.
func TestRoomsExist(t *testing.T) {
	base := root(t)
	for _, r := range Rooms {
		if _, err := os.Stat(filepath.Join(base, filepath.FromSlash(r.Path))); err != nil {
			t.Errorf("room %s has no folder", r.Path)
		}
	}
}

func list(m map[string]bool) string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return strings.Join(out, ", ")
}
