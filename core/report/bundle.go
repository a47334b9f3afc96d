package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/conform-dev/conform/core/trace"
)

// ErrNotABundle is wrapped by Write when the folder holds something else: it is never overwritten (exit code 2).
var ErrNotABundle = errors.New("folder holds something that is no conform report")

// Write writes a run as a bundle: envelope.json, junit.xml, summary.md and traces/*.ndjson. The bundle is built beside dir
// and then takes its place, so that a reader finds the old one or the new one and never half of one. dir may be missing,
// empty, or an earlier bundle, which is replaced. Known secrets and the canaries of the traces stand nowhere in it. red may
// be nil.
func Write(dir string, run Run, red *Redactor) error {
	if red == nil {
		red = NewRedactor()
	}
	files, err := render(run, red.canaries(&run))
	if err != nil {
		return err
	}
	dir = filepath.Clean(dir)
	old, err := replaceable(dir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(filepath.Dir(dir), ".conform-report-*")
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
	dir = filepath.Clean(dir)
	if _, err := replaceable(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(filepath.Dir(dir), ".conform-report-*")
	if err != nil {
		return err
	}
	return os.Remove(temp)
}

// replaceable says whether there is a folder in the place of dir that may go.
func replaceable(dir string) (exists bool, err error) {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case len(entries) == 0:
		return true, nil
	}
	data, err := os.ReadFile(filepath.Join(dir, "envelope.json"))
	var head struct {
		Format string `json:"format"`
	}
	if err != nil || json.Unmarshal(data, &head) != nil || head.Format != Format {
		return false, fmt.Errorf("%s: %w", dir, ErrNotABundle)
	}
	return true, nil
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
