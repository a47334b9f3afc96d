package etcd

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// imports are what the store may link beside the standard library. The module is no room of the main one, whose fence does
// not read it.
var imports = map[string]string{
	"github.com/conform-dev/conform/core/checkpoint": "positions are compared",
	"github.com/conform-dev/conform/core/store":      "what it implements",
	"go.etcd.io/etcd/client/v3":                      "the wire",
	"go.etcd.io/etcd/api/v3":                         "answers and errors of the wire; never the server, which tests run",
	"go.uber.org/zap":                                "the client's log, which is thrown away",
	"google.golang.org/grpc/codes":                   "what another attempt may outlive",
	"google.golang.org/grpc/status":                  "what another attempt may outlive",
}

// TestImports: the product links no other module than these.
func TestImports(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Imports {
			path, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			found := !strings.Contains(strings.SplitN(path, "/", 2)[0], ".")
			for allowed := range imports {
				if path == allowed || strings.HasPrefix(path, allowed+"/") {
					found, used[allowed] = true, true
				}
			}
			if !found {
				t.Errorf("%s imports %s: add it here with the reason, and to docs/dependencies.md", name, path)
			}
		}
	}
	for allowed := range imports {
		if !used[allowed] {
			t.Errorf("nothing imports %s: take it out", allowed)
		}
	}
}
