package subject

import (
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// variable is how the name of a variable of the environment is written.
var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// secret reads a reference to a secret. One that stands in the file itself is refused, and not shown.
func secret(to **Value) reader {
	return func(n node) error {
		if n.Kind != yaml.MappingNode {
			return n.fail("a credential is not written here: {env: NAME} or {file: PATH} says where it is")
		}
		v := &Value{}
		if err := n.members(map[string]reader{"env": text(&v.Env), "file": text(&v.File)}); err != nil {
			return err
		}
		*to = v
		return v.check(n)
	}
}

func (v *Value) check(n node) error {
	set := 0
	for _, s := range []string{v.Text, v.Env, v.File} {
		if s != "" {
			set++
		}
	}
	switch {
	case set != 1:
		return n.fail("exactly one of env and file is wanted here")
	case v.Env != "" && !variable.MatchString(v.Env):
		return n.fail("env is no name of a variable")
	}
	return nil
}

// values reads a table of texts or references.
func values(to *map[string]Value, n node) error {
	*to = map[string]Value{}
	return n.table(func(name string, n node) error {
		v := Value{}
		if n.Kind == yaml.MappingNode {
			if err := n.members(map[string]reader{"env": text(&v.Env), "file": text(&v.File)}); err != nil {
				return err
			}
			if err := v.check(n); err != nil {
				return err
			}
		} else if err := n.text(&v.Text); err != nil {
			return err
		}
		if bearing(name) && v.Text != "" {
			return n.fail("a credential is not written here: {env: NAME} or {file: PATH} says where it is")
		}
		(*to)[name] = v
		return nil
	})
}

// bearing says whether a header of that name is made for a credential.
func bearing(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"authorization", "cookie", "token", "secret", "api-key", "apikey", "password"}, func(w string) bool { return strings.Contains(name, w) })
}

func (s *Subject) people() map[string]reader {
	out := map[string]reader{"visitors": func(n node) error {
		return n.list(func(n node) error {
			var p Person
			if err := n.members(p.readers()); err != nil {
				return err
			}
			s.Visitors = append(s.Visitors, p)
			return nil
		})
	}}
	for name := range people {
		out[name] = func(n node) error {
			var p Person
			if err := n.members(p.readers()); err != nil {
				return err
			}
			s.People[name] = p
			return nil
		}
	}
	return out
}

func (p *Person) readers() map[string]reader {
	return map[string]reader{"login": text(&p.Login), "subscription": text(&p.Subscription), "bearer": secret(&p.Bearer),
		"plane": secret(&p.Plane), "key": secret(&p.Key)}
}

func (s *Subject) hook(name string, n node) error {
	h := Hook{Within: DefaultWithin}
	err := n.members(map[string]reader{"http": func(n node) error { h.HTTP = &HTTP{Method: "POST"}; return n.members(h.HTTP.readers()) },
		"command": texts(&h.Command), "container": oneOf(&h.Container, containerVerbs), "within": span(&h.Within, MaxWithin)})
	if err != nil {
		return err
	}
	set := 0
	for _, there := range []bool{h.HTTP != nil, len(h.Command) > 0, h.Container != ""} {
		if there {
			set++
		}
	}
	if set != 1 {
		return n.fail("exactly one of http, command and container is wanted here")
	}
	if h.HTTP != nil && h.HTTP.URL == "" {
		return n.fail("http.url is missing")
	}
	for _, text := range h.templates() {
		for _, m := range placeholder.FindAllStringSubmatch(text, -1) {
			if !slices.Contains(Placeholders, m[1]) {
				return n.fail("{%s} is unknown; known are %s", m[1], strings.Join(Placeholders, ", "))
			}
		}
	}
	s.Hooks[name] = h
	return nil
}

// placeholder is a word in braces. Other braces are the author's.
var placeholder = regexp.MustCompile(`\{([a-z]+)\}`)

// templates are the texts of a hook that may hold placeholders.
func (h *Hook) templates() []string {
	out := slices.Clone(h.Command)
	if h.HTTP != nil {
		out = append(out, h.HTTP.URL, h.HTTP.Body)
	}
	return out
}

// Fill puts values into the placeholders of a text.
func Fill(text string, values map[string]string) string {
	return placeholder.ReplaceAllStringFunc(text, func(m string) string {
		if v, ok := values[m[1:len(m)-1]]; ok {
			return v
		}
		return m
	})
}

func (h *HTTP) readers() map[string]reader {
	return map[string]reader{"method": oneOf(&h.Method, []string{"GET", "POST", "PUT", "PATCH", "DELETE"}), "url": text(&h.URL),
		"headers": func(n node) error { return values(&h.Headers, n) }, "body": text(&h.Body),
		"status": func(n node) error {
			return n.list(func(n node) error {
				var v int
				if err := count(&v, 100, 599)(n); err != nil {
					return err
				}
				h.Status = append(h.Status, v)
				return nil
			})
		}}
}

func (m *Mapping) readers() map[string]reader {
	return map[string]reader{
		"format": oneOf(&m.Format, []string{"json", "contract"}), "order": oneOf(&m.Order, []string{"server-sequence", "request-chain", "none"}),
		"type": text(&m.Type), "sequence": text(&m.Sequence), "id": text(&m.ID), "serial": text(&m.Serial),
		"resume": func(n node) error {
			r := &m.Resume
			return n.members(map[string]reader{"header": text(&r.Header), "query": text(&r.Query), "vouched": text(&r.Vouched), "expired": signs(&r.Expired)})
		},
	}
}

// sign is how a sign of expiry is written.
var sign = regexp.MustCompile(`^(status:[1-5][0-9][0-9]|other-header:[A-Za-z0-9-]+|event:[^ ]+)$`)

// signs reads one sign of expiry or a list of them.
func signs(to *[]string) reader {
	return func(n node) error {
		take := func(n node) error {
			var s string
			if err := n.text(&s); err != nil {
				return err
			}
			if !sign.MatchString(s) {
				return n.fail("%q is none of status:N, other-header:NAME, event:NAME", clip(s))
			}
			*to = append(*to, s)
			return nil
		}
		if n.Kind == yaml.SequenceNode {
			return n.list(take)
		}
		return take(n)
	}
}
