package subject

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Load reads a subject file. An error says FILE:LINE:COLUMN, what is wrong there and what is known; it is the caller's mistake (exit
// code 2, D-63).
func Load(path string) (*Subject, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", path, errors.Unwrap(err))
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", path, err)
	}
	return Parse(path, data)
}

// Parse reads the text of a subject file. Aliases and more than one document are refused.
func Parse(name string, data []byte) (*Subject, error) {
	if len(data) > MaxFile {
		return nil, &Error{name, 1, 1, fmt.Sprintf("the file is longer than %d bytes", MaxFile)}
	}
	var doc yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, &Error{name, 1, 1, "the file is empty; `conform subject new` writes one"}
		}
		return nil, notYAML(name, err)
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, &Error{name, 1, 1, "more than one document"}
	}
	if n := aliased(&doc); n != nil {
		return nil, &Error{name, n.Line, n.Column, "anchors and aliases are not read"}
	}
	s := &Subject{File: name, Dir: filepath.Dir(name)}
	root := node{doc.Content[0], name, ""}
	if err := root.members(s.readers()); err != nil {
		return nil, err
	}
	if err := s.whole(root); err != nil {
		return nil, err
	}
	return s, nil
}

var yamlLine = regexp.MustCompile(`line (\d+)`)

// notYAML gives the library's error a place.
func notYAML(name string, err error) error {
	text, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "yaml: "), "\n")
	e := &Error{File: name, Line: 1, Column: 1, Text: "this is no YAML: " + clip(text)}
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		fmt.Sscan(m[1], &e.Line)
	}
	return e
}

func aliased(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		return n
	}
	for _, c := range n.Content {
		if bad := aliased(c); bad != nil {
			return bad
		}
	}
	return nil
}

func (s *Subject) readers() map[string]reader {
	return map[string]reader{
		"subject": text(&s.Name), "wire": oneOf(&s.Wire, Wires),
		"url":       s.url,
		"exec":      func(n node) error { s.Server.Exec = &Exec{}; return n.members(s.Server.Exec.readers()) },
		"image":     func(n node) error { s.Server.Image = &Image{}; return n.members(s.Server.Image.readers()) },
		"build":     func(n node) error { s.Server.Build = &Build{}; return n.members(s.Server.Build.readers()) },
		"ready":     s.ready,
		"endpoints": textTable(&s.Endpoints),
		"headers":   func(n node) error { return values(&s.Headers, n) },
		"tls":       func(n node) error { return n.members(map[string]reader{"ca": text(&s.CA)}) },
		"credentials": func(n node) error {
			s.People = map[string]Person{}
			return n.members(s.people())
		},
		"claims": texts(&s.Claims),
		"limits": func(n node) error { return n.members(s.Limits.readers()) },
		"hooks": func(n node) error {
			s.Hooks = map[string]Hook{}
			all := map[string]reader{}
			for _, name := range Hooks() {
				all[name] = func(n node) error { return s.hook(name, n) }
			}
			return n.members(all)
		},
		"mapping": func(n node) error { s.Mapping = &Mapping{}; return n.members(s.Mapping.readers()) },
	}
}

func (s *Subject) url(n node) error {
	var text string
	if err := n.text(&text); err != nil {
		return err
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return n.fail("an http or https URL is wanted here")
	case u.User != nil:
		return n.fail("a URL holds no credential here: name it under credentials, by env or file")
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return n.fail("only the origin is wanted here; paths stand under endpoints")
	}
	s.Server.URL = u.Scheme + "://" + u.Host
	return nil
}

func (e *Exec) readers() map[string]reader {
	return map[string]reader{"command": texts(&e.Command), "env": textTable(&e.Env)}
}

func (i *Image) readers() map[string]reader {
	return map[string]reader{"name": text(&i.Name), "command": texts(&i.Command), "env": textTable(&i.Env), "port": count(&i.Port, 1, 65535)}
}

func (b *Build) readers() map[string]reader {
	return map[string]reader{"binary": text(&b.Binary), "command": texts(&b.Command), "env": textTable(&b.Env), "port": count(&b.Port, 1, 65535)}
}

func (s *Subject) ready(n node) error {
	s.Ready = Ready{Status: 200, Within: DefaultWithin}
	err := n.members(map[string]reader{"path": text(&s.Ready.Path), "status": count(&s.Ready.Status, 100, 599), "log": text(&s.Ready.Log),
		"within": span(&s.Ready.Within, MaxWithin)})
	if err != nil {
		return err
	}
	if (s.Ready.Path == "") == (s.Ready.Log == "") {
		return n.fail("either path or log is wanted here")
	}
	if _, err := regexp.Compile(s.Ready.Log); err != nil {
		return n.fail("log is no regular expression: %s", clip(err.Error()))
	}
	return nil
}

func (l *Limits) readers() map[string]reader {
	return map[string]reader{"attempts": count(&l.Attempts, 1, MaxCount), "attemptWindow": span(&l.AttemptWindow, MaxWindow),
		"viewerStreams": count(&l.ViewerStreams, 1, MaxCount), "streams": count(&l.Streams, 1, MaxCount),
		"wakeRequests": count(&l.WakeRequests, 1, MaxCount), "wakeWindow": span(&l.WakeWindow, MaxWindow), "wakeBody": count(&l.WakeBody, 1, MaxCount),
		"heartbeat": span(&l.Heartbeat, MaxWindow), "history": count(&l.History, 1, MaxCount)}
}

// whole is what only the whole file shows.
func (s *Subject) whole(root node) error {
	set := 0
	for _, there := range []bool{s.Server.URL != "", s.Server.Exec != nil, s.Server.Image != nil, s.Server.Build != nil} {
		if there {
			set++
		}
	}
	switch {
	case s.Name == "":
		return root.fail("subject is missing: the name that reports use")
	case s.Wire == "":
		return root.fail("wire is missing: one of %s", strings.Join(Wires, ", "))
	case set != 1:
		return root.fail("exactly one of url, exec, image and build says where the server is")
	case s.Server.Exec != nil && len(s.Server.Exec.Command) == 0:
		return root.fail("exec.command is missing")
	case s.Server.Image != nil && (s.Server.Image.Name == "" || s.Server.Image.Port == 0):
		return root.fail("image needs name and port")
	case s.Server.Build != nil && (s.Server.Build.Binary == "" || s.Server.Build.Port == 0):
		return root.fail("build needs binary and port")
	case s.Server.URL == "" && s.Ready == Ready{}:
		return root.fail("ready is missing: how one sees that the server is ready")
	}
	for _, name := range sorted(s.Endpoints) {
		if _, known := words[s.Wire].endpoints[name]; !known {
			return root.fail("endpoints.%s: %s knows %s", clip(name), s.Wire, strings.Join(Endpoints(s.Wire), ", "))
		}
		if !strings.HasPrefix(s.Endpoints[name], "/") {
			return root.fail("endpoints.%s: a path that begins with / is wanted here", name)
		}
	}
	for _, c := range s.Claims {
		if !slices.Contains(words[s.Wire].claims, c) {
			return root.fail("claims: %q is none of %s", clip(c), strings.Join(Claims(s.Wire), ", "))
		}
	}
	for _, name := range sorted(s.Hooks) {
		if s.Hooks[name].Container != "" && s.Server.Image == nil && s.Server.Build == nil {
			return root.fail("hooks.%s: only a server in a container has container verbs", name)
		}
	}
	return nil
}

// Endpoint is the path of an endpoint, its default where the file names none; empty: there is none.
func (s *Subject) Endpoint(name string) string {
	if path, ok := s.Endpoints[name]; ok {
		return path
	}
	return words[s.Wire].endpoints[name]
}
