package credential

import (
	"fmt"
	"os"

	"github.com/conform-dev/conform/core/endpoint"
)

// Sources is where the leaves are declared. The zero value reads the environment only.
type Sources struct {
	// Config is a YAML file with the leaves under the key fleet; empty for none.
	Config string
	// What flags said: env:VARIABLE or file:PATH, empty for a flag that was not given. A flag replaces both homes of its class.
	AdmissionBearer string // class 1
	PlaneBearer     string // class 3
	AdmissionToken  string // the bootstrap token, to compare with: file:PATH only
	// Lookup reads the environment; nil is os.LookupEnv.
	Lookup func(name string) (value string, set bool)
}

// FlagError is a flag that holds no reference. A command answers it with the exit code for usage.
type FlagError struct {
	Flag string // by its meaning, see Sources
	Err  error
}

// Error holds nothing of the flag's value.
func (e *FlagError) Error() string { return e.Flag + " " + e.Err.Error() }

// Unwrap is ErrValue, or why the reference leads nowhere.
func (e *FlagError) Unwrap() error { return e.Err }

// leaves gathers what is declared: each leaf from the environment or else from the configuration file, blank counting as not there;
// and over that the flags.
func (s Sources) leaves() (map[string]declared, error) {
	lookup := s.Lookup
	if lookup == nil {
		lookup = os.LookupEnv
	}
	leaves := map[string]declared{}
	if s.Config != "" {
		config, err := readConfig(s.Config)
		if err != nil {
			return nil, err
		}
		for leaf, value := range config {
			leaves[leaf] = declared{trim(value), "config file " + s.Config}
		}
	}
	for leaf, name := range variables {
		if value, _ := lookup(name); trim(value) != "" {
			leaves[leaf] = declared{trim(value), "environment variable " + name}
		}
	}
	for _, f := range []struct {
		name, text string
		homes      homes
	}{
		{"the admission bearer", s.AdmissionBearer, admission}, {"the plane bearer", s.PlaneBearer, plane}, {"the admission token", s.AdmissionToken, bootstrap},
	} {
		if f.text == "" {
			continue
		}
		if err := f.homes.point(f.text, lookup, leaves); err != nil {
			return nil, &FlagError{f.name, err}
		}
	}
	return leaves, nil
}

// point lays a flag's reference over what else declares its class.
func (h homes) point(text string, lookup func(string) (string, bool), leaves map[string]declared) error {
	r, err := parseReference(text)
	switch {
	case err != nil:
		return err
	case r.variable != "" && h.direct == "":
		return fmt.Errorf("must be file:PATH: %s is the only leaf of its class", h.file)
	}
	delete(leaves, h.direct)
	delete(leaves, h.file)
	if r.file != "" {
		leaves[h.file] = declared{r.file, "flag"}
		return nil
	}
	value, set := lookup(r.variable)
	if !set {
		return fmt.Errorf("names the environment variable %s, which is not set", r.variable)
	}
	leaves[h.direct] = declared{trim(value), "environment variable " + r.variable}
	return nil
}

// MaxConfigBytes bounds the configuration file: it has five short lines.
const MaxConfigBytes = 64 << 10

// readConfig reads the leaves of a configuration file.
func readConfig(path string) (map[string]string, error) {
	text, err := endpoint.ReadFile(path, MaxConfigBytes)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	leaves, err := parseConfig([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("config: file %s: %w", path, err)
	}
	return leaves, nil
}
