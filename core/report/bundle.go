package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/conform-dev/conform/core/trace"
)

// ErrNotABundle is wrapped by Write when the folder holds something else: it is never overwritten (exit code 2).
var ErrNotABundle = errors.New("folder holds something that is no conform report")

// bundleFiles are the files of a bundle beside its traces.
var bundleFiles = []string{"envelope.json", "junit.xml", "summary.md"}

// Write writes a run as a bundle: envelope.json, junit.xml, summary.md and traces/*.ndjson. The bundle is built beside dir
// and then takes its place, so that a reader finds the old one or the new one and never half of one. dir may be missing,
// empty, or an earlier bundle with nothing beside it, which is replaced; a link to one stays a link. Known secrets and the
// canaries of the traces stand nowhere in it. red may be nil.
func Write(dir string, run Run, red *Redactor) error {
	if red == nil {
		red = NewRedactor()
	}
	files, err := render(run, red.canaries(&run))
	if err != nil {
		return err
	}
	dir, old, err := replaceable(dir)
	if err != nil {
		return err
	}
	temp, err := beside(dir)
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	fresh := filepath.Join(temp, "new")
	for name, data := range files {
		path := filepath.Join(fresh, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return err
		}
	}
	if old {
		if err := os.Rename(dir, filepath.Join(temp, "old")); err != nil {
			return err
		}
	}
	if err := os.Rename(fresh, dir); err != nil {
		if old {
			return errors.Join(err, os.Rename(filepath.Join(temp, "old"), dir))
		}
		return err
	}
	return nil
}

// Check says whether Write could use dir: nil, or an error for people. A command calls it before a run, so that nobody
// waits for a report that then has no place. It makes the folder above dir if that is missing, and leaves nothing else.
func Check(dir string) error {
	dir, _, err := replaceable(dir)
	if err != nil {
		return err
	}
	temp, err := beside(dir)
	if err != nil {
		return err
	}
	return os.Remove(temp)
}

// beside makes a temporary folder next to dir, and the folder above both if that is missing.
func beside(dir string) (string, error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	return os.MkdirTemp(filepath.Dir(dir), ".conform-report-*")
}

// replaceable says which folder dir is, behind links, and whether there is one in its place that may go: an empty one, or a
// bundle that holds nothing beside its own files. What people put beside a report is theirs.
func replaceable(dir string) (place string, exists bool, err error) {
	if dir == "" {
		return "", false, errors.New("no folder is named")
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", false, err
	}
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return dir, false, nil
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", false, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) == 0 {
		return dir, err == nil, err
	}
	data, err := os.ReadFile(filepath.Join(dir, "envelope.json"))
	var head struct {
		Format string `json:"format"`
	}
	if err != nil || json.Unmarshal(data, &head) != nil || head.Format != Format {
		return "", false, fmt.Errorf("%s: %w", dir, ErrNotABundle)
	}
	traces, err := os.ReadDir(filepath.Join(dir, "traces"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", false, err
	}
	for _, e := range entries {
		if name := e.Name(); name != "traces" && !slices.Contains(bundleFiles, name) {
			return "", false, fmt.Errorf("%s: %w: %s", dir, ErrNotABundle, name)
		}
	}
	for _, e := range traces {
		if e.IsDir() || filepath.Ext(e.Name()) != ".ndjson" {
			return "", false, fmt.Errorf("%s: %w: traces/%s", dir, ErrNotABundle, e.Name())
		}
	}
	return dir, true, nil
}

// render is every file of a bundle by name.
func render(run Run, red *Redactor) (map[string][]byte, error) {
	if err := run.check(); err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	run.Results = append([]Result(nil), run.Results...)
	for i := range run.Results {
		r := &run.Results[i]
		if len(r.Records) == 0 {
			continue
		}
		data, err := cleanTrace(r, red)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", traceName(r), err)
		}
		if other, ok := files[traceName(r)]; ok && !bytes.Equal(other, data) {
			return nil, fmt.Errorf("report: two traces of %s at %s on %s", r.Scenario, r.Where(), r.Subject)
		}
		files[traceName(r)] = data
	}
	for name, make := range map[string]func(Run, *Redactor) ([]byte, error){"envelope.json": Envelope, "junit.xml": JUnit, "summary.md": Markdown} {
		data, err := make(run, red)
		if err != nil {
			return nil, err
		}
		files[name] = data
	}
	return files, nil
}

// cleanTrace is the file of a result's trace without known secrets. The result's records become those of the file, so that
// whoever reads it finds the same hash. A trace that the judge refused as broken is written as it is.
func cleanTrace(r *Result, red *Redactor) ([]byte, error) {
	var b bytes.Buffer
	if err := trace.Encode(&b, r.Records); err != nil {
		return nil, err
	}
	data := []byte(red.Text(b.String()))
	if clean, err := trace.Decode(bytes.NewReader(data)); err == nil {
		r.Records = clean
	}
	return data, nil
}
