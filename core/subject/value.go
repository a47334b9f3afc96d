package subject

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Resolve reads what v refers to: a variable of the environment, or a file (relative to dir) without the line ends around its content.
// An error names the place and never a byte of what was found there.
func (v Value) Resolve(dir string, lookup func(string) (string, bool)) (string, error) {
	switch {
	case v.Env != "":
		text, ok := lookup(v.Env)
		if !ok || text == "" {
			return "", fmt.Errorf("the variable %s is not set", v.Env)
		}
		return text, nil
	case v.File != "":
		return read(dir, v.File)
	}
	return v.Text, nil
}

func read(dir, path string) (string, error) {
	place := path
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("the file %s cannot be read: %w", place, errors.Unwrap(err))
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxSecret+1))
	text := strings.Trim(string(data), "\r\n")
	switch {
	case err != nil:
		return "", fmt.Errorf("the file %s cannot be read: %w", place, errors.Unwrap(err))
	case len(data) > MaxSecret:
		return "", fmt.Errorf("the file %s is longer than %d bytes", place, MaxSecret)
	case text == "":
		return "", fmt.Errorf("the file %s is empty", place)
	}
	return text, nil
}

// Secrets are all that the credentials and headers of s refer to. An error says which reference leads nowhere.
func (s *Subject) Secrets(lookup func(string) (string, bool)) ([]string, error) {
	var out []string
	take := func(where string, v *Value) error {
		if v == nil || v.Text != "" {
			return nil
		}
		text, err := v.Resolve(s.Dir, lookup)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", s.File, where, err)
		}
		out = append(out, text)
		return nil
	}
	for _, name := range sorted(s.People) {
		p := s.People[name]
		if err := errors.Join(take("credentials."+name+".bearer", p.Bearer), take("credentials."+name+".plane", p.Plane), take("credentials."+name+".key", p.Key)); err != nil {
			return nil, err
		}
	}
	for i, p := range s.Visitors {
		if err := take(fmt.Sprintf("credentials.visitors.%d.bearer", i), p.Bearer); err != nil {
			return nil, err
		}
	}
	for _, name := range sorted(s.Headers) {
		v := s.Headers[name]
		if err := take("headers."+name, &v); err != nil {
			return nil, err
		}
	}
	for _, hook := range sorted(s.Hooks) {
		if h := s.Hooks[hook].HTTP; h != nil {
			for _, name := range sorted(h.Headers) {
				v := h.Headers[name]
				if err := take("hooks."+hook+".http.headers."+name, &v); err != nil {
					return nil, err
				}
			}
		}
	}
	return out, nil
}
