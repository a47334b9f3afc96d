package subject

import (
	"fmt"
	"strings"
)

// Explain says in plain words what the file means, a line each. No secret stands in it.
func (s *Subject) Explain() []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	switch {
	case s.Server.URL != "":
		add("it runs at %s, and is not started here", s.Server.URL)
	case s.Server.Exec != nil:
		add("it is started as a process: %s", strings.Join(s.Server.Exec.Command, " "))
	case s.Server.Image != nil:
		add("it is started as a container of %s", s.Server.Image.Name)
	case s.Server.Build != nil:
		add("it is started as a container that holds %s and nothing else", s.Server.Build.Binary)
	}
	switch {
	case s.Ready.Path != "":
		add("it is ready when %s answers %d, within %v", s.Ready.Path, s.Ready.Status, s.Ready.Within)
	case s.Ready.Log != "":
		add("it is ready when it prints a line that matches %q, within %v", s.Ready.Log, s.Ready.Within)
	}
	for _, name := range Endpoints(s.Wire) {
		if path := s.Endpoint(name); path != "" {
			add("%s: %s", name, path)
		}
	}
	for _, name := range sorted(s.People) {
		p := s.People[name]
		var has []string
		for _, v := range []struct {
			what  string
			value *Value
		}{{"bearer", p.Bearer}, {"plane", p.Plane}, {"key", p.Key}} {
			if v.value != nil {
				has = append(has, v.what+" from "+v.value.place())
			}
		}
		add("%s (%s): %s", name, people[name], strings.Join(has, ", "))
	}
	for _, name := range sorted(s.Hooks) {
		h := s.Hooks[name]
		switch {
		case h.HTTP != nil:
			add("to %s: %s %s, within %v", name, h.HTTP.Method, h.HTTP.URL, h.Within)
		case len(h.Command) > 0:
			add("to %s: %s, within %v", name, strings.Join(h.Command, " "), h.Within)
		default:
			add("to %s: %s its container, within %v", name, h.Container, h.Within)
		}
	}
	return out
}

// place is where a value comes from.
func (v *Value) place() string {
	if v.Env != "" {
		return "the variable " + v.Env
	}
	return "the file " + v.File
}
