package report

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/conform-dev/conform/core/judge"
	"github.com/conform-dev/conform/core/ledger"
	"github.com/conform-dev/conform/core/trace"
)

func TestBundle(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "report")
	rn := mixed(t)
	if err := Write(dir, rn, nil); err != nil {
		t.Fatal(err)
	}
	names := filesIn(t, dir)
	if len(names) != 3+len(rn.Results) || !slices.Contains(names, "envelope.json") || !slices.Contains(names, "junit.xml") || !slices.Contains(names, "summary.md") {
		t.Errorf("%v", names)
	}
	doc, err := os.ReadFile(filepath.Join(dir, "envelope.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := Validate(doc); err != nil {
		t.Error(err)
	}
	var e envelope
	if err := json.Unmarshal(doc, &e); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(dir, filepath.FromSlash(e.Results[0].Trace)))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	back, err := trace.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	if h, _ := trace.Hash(trace.Canonical(back, e.Results[0].Lane)); h != e.Results[0].TraceHash {
		t.Error("the hash of the trace in the bundle is another one than its envelope says")
	}

	// An earlier bundle gives way whole: nothing of it stays.
	if err := Write(dir, run(result(t, "GATE-001", ledger.Must, judge.Passed)), nil); err != nil {
		t.Fatal(err)
	}
	if names := filesIn(t, dir); len(names) != 4 {
		t.Errorf("left over: %v", names)
	}
	if rest := filesIn(t, filepath.Dir(dir)); len(rest) != 4 {
		t.Errorf("something stayed beside the bundle: %v", rest)
	}
}

func filesIn(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, p)
			out = append(out, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestBundleLeavesOtherFoldersAlone(t *testing.T) {
	dir := t.TempDir()
	mine := filepath.Join(dir, "thesis.txt")
	if err := os.WriteFile(mine, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{Check(dir), Write(dir, mixed(t), nil)} {
		if !errors.Is(err, ErrNotABundle) {
			t.Errorf("error %v", err)
		}
	}
	if _, err := os.Stat(mine); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "envelope.json"), []byte(`{"format":"other/1"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Check(dir); !errors.Is(err, ErrNotABundle) {
		t.Errorf("error %v", err)
	}
	if err := Check(mine); err == nil {
		t.Error("a file was taken for a folder")
	}
	empty := filepath.Join(dir, "empty")
	if err := os.Mkdir(empty, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Write(empty, mixed(t), nil); err != nil {
		t.Error(err)
	}
}

// TestNoSecretIsWritten plants secrets in every text that can carry one, and looks for them in every byte of the bundle and
// of the terminal.
func TestNoSecretIsWritten(t *testing.T) {
	const secret = `to"ken<&>sécret`
	r := result(t, "GATE-001", ledger.Must, judge.Failed)
	r.Scenario += " " + secret
	r.Outcome.Why = "seen " + secret
	r.Outcome.Findings[0].Seen = "Bearer " + secret
	r.Outcome.Excerpt = append(r.Outcome.Excerpt, "x "+secret+" "+planted)
	r.Stderr = []string{"panic: " + secret}
	r.Repeat += " --header " + secret
	r.Records = records(t, "authorization: "+secret+" and "+planted)
	rn := run(r)
	rn.Command += " " + secret
	red := NewRedactor(secret)
	dir := filepath.Join(t.TempDir(), "report")
	if err := Write(dir, rn, red); err != nil {
		t.Fatal(err)
	}
	var terminal strings.Builder
	if err := errors.Join(Summary(&terminal, rn, red), Failure(&terminal, &r, red)); err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{"terminal": strings.ReplaceAll(terminal.String(), planted, "")} // canaries are known to Write only
	for _, name := range filesIn(t, dir) {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(data)
	}
	marks := 0
	for name, text := range texts {
		for _, part := range []string{"ken<", "ken&lt;", `ken\u003c`, "sécret", planted} {
			if strings.Contains(text, part) {
				t.Errorf("%s holds %q", name, part)
			}
		}
		marks += strings.Count(text, Redacted) + strings.Count(text, judge.Masked)
	}
	if marks < 12 {
		t.Errorf("only %d marks: the secrets were not there to be found", marks)
	}
	for name := range texts {
		if strings.HasPrefix(name, "traces/") {
			f, err := os.Open(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			back, err := trace.Decode(f)
			f.Close()
			if err != nil {
				t.Fatal(err)
			}
			if len(judge.Canaries(back)) == 0 {
				t.Error("a later judge finds no canary to look for")
			}
		}
	}
}

func TestBrokenTraceIsWrittenAllTheSame(t *testing.T) {
	r := result(t, "GATE-001", ledger.Must, judge.Error)
	r.Records[1].Kind = "guess"
	dir := filepath.Join(t.TempDir(), "report")
	if err := Write(dir, run(r), nil); err != nil {
		t.Fatal(err)
	}
}

func TestTwoTracesOfOneNameAreRefused(t *testing.T) {
	a, b := result(t, "GATE-001", ledger.Must, judge.Passed), result(t, "GATE-001", ledger.Must, judge.Passed)
	b.Records = records(t, "another")
	rn := run(a, b)
	rn.Results[1].Line = rn.Results[0].Line
	if err := Write(filepath.Join(t.TempDir(), "r"), rn, nil); err == nil || !strings.Contains(err.Error(), "two traces") {
		t.Errorf("error %v", err)
	}
}

// TestBundleKeepsWhatIsBesideAReport: a note that somebody left in a report's folder is not replaced with it.
func TestBundleKeepsWhatIsBesideAReport(t *testing.T) {
	for _, name := range []string{"notes.txt", ".git/config", "traces/thesis.txt", "traces/sub/a.ndjson"} {
		dir := filepath.Join(t.TempDir(), "report")
		if err := Write(dir, mixed(t), nil); err != nil {
			t.Fatal(err)
		}
		mine := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(mine), 0o755), os.WriteFile(mine, []byte("x"), 0o600)); err != nil {
			t.Fatal(err)
		}
		for _, err := range []error{Check(dir), Write(dir, mixed(t), nil)} {
			if !errors.Is(err, ErrNotABundle) {
				t.Errorf("%s: error %v", name, err)
			}
		}
		if _, err := os.Stat(mine); err != nil {
			t.Error(err)
		}
	}
}

// TestBundleBehindALink: the link stays one, and one that leads nowhere is found before a run.
func TestBundleBehindALink(t *testing.T) {
	base := t.TempDir()
	link, dir := filepath.Join(base, "latest"), filepath.Join(base, "disk", "report")
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.Symlink(dir, link)); err != nil {
		if runtime.GOOS == "linux" {
			t.Fatal(err)
		}
		t.Skip("not every system lets everybody make links:", err)
	}
	for range 2 {
		if err := errors.Join(Check(link), Write(link, mixed(t), nil)); err != nil {
			t.Fatal(err)
		}
	}
	if to, err := os.Readlink(link); err != nil || to != dir {
		t.Errorf("%q, %v", to, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "envelope.json")); err != nil {
		t.Error(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := Check(link); err == nil {
		t.Error("a link to nothing was taken for a folder")
	}
	if err := Check(""); err == nil {
		t.Error("no name was taken for a folder")
	}
}
