package strict

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"
)

// ParseJSON reads one JSON document of at most limit bytes.
func ParseJSON(text []byte, limit int) (*Node, error) {
	if len(text) > limit {
		return nil, &Error{"", 1, 1, fmt.Sprintf("%d bytes, limit %d", len(text), limit)}
	}
	if !utf8.Valid(text) {
		return nil, &Error{"", 1, 1, "not UTF-8"}
	}
	p := &jsonParser{text: text, dec: json.NewDecoder(bytes.NewReader(text))}
	p.dec.UseNumber()
	n, err := p.value("", 0)
	if err != nil {
		return nil, err
	}
	at := p.skip()
	if _, err := p.dec.Token(); err != io.EOF {
		return nil, p.fail("", at, "something follows the document")
	}
	return n, nil
}

type jsonParser struct {
	text []byte
	dec  *json.Decoder
	seen int // place has counted the lines up to here
	line int // of seen, from 0
	from int // where that line begins
}

// skip is where the next token begins.
func (p *jsonParser) skip() int {
	i := int(p.dec.InputOffset())
	for i < len(p.text) && bytes.IndexByte([]byte(" \t\r\n,:"), p.text[i]) >= 0 {
		i++
	}
	return i
}

// place is the line and column of offset at. Offsets only grow, so that a long document is counted once.
func (p *jsonParser) place(at int) (line, column int) {
	at = min(at, len(p.text))
	for ; p.seen < at; p.seen++ {
		if p.text[p.seen] == '\n' {
			p.line++
			p.from = p.seen + 1
		}
	}
	return p.line + 1, max(at-p.from, 0) + 1
}

func (p *jsonParser) fail(path string, at int, detail string) error {
	line, column := p.place(at)
	return &Error{path, line, column, detail}
}

// token reads one token and turns the reader's errors into refusals.
func (p *jsonParser) token(path string) (json.Token, int, error) {
	at := p.skip()
	tok, err := p.dec.Token()
	if err == nil {
		return tok, at, nil
	}
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return nil, 0, p.fail(path, at, "no JSON: "+syntax.Error())
	default:
		return nil, 0, p.fail(path, len(p.text), "no JSON: the document ends too early")
	}
}

func (p *jsonParser) value(path string, depth int) (*Node, error) {
	tok, at, err := p.token(path)
	if err != nil {
		return nil, err
	}
	if depth > MaxDepth {
		return nil, p.fail(path, at, fmt.Sprintf("nested deeper than %d", MaxDepth))
	}
	n := &Node{Path: path}
	n.Line, n.Column = p.place(at)
	switch tok := tok.(type) {
	case json.Delim:
		if tok == '{' {
			err = p.object(n, depth)
		} else {
			err = p.list(n, depth)
		}
	case string:
		n.Kind, n.Text = Text, tok
	case json.Number:
		n.Kind, n.Text = Number, tok.String()
	case bool:
		n.Kind, n.Text = Bool, strconv.FormatBool(tok)
	default:
		n.Kind = Null
	}
	if err != nil {
		return nil, err
	}
	n.Raw = p.text[at:p.dec.InputOffset()]
	return n, nil
}

func (p *jsonParser) object(n *Node, depth int) error {
	n.Kind = Object
	for p.dec.More() {
		tok, at, err := p.token(n.Path)
		if err != nil {
			return err
		}
		name, ok := tok.(string)
		if !ok {
			return p.fail(n.Path, at, "no JSON: a member's name is a text")
		}
		if n.Get(name) != nil {
			return p.fail(n.at(name), at, "member given twice")
		}
		if len(n.Members) == MaxMembers {
			return p.fail(n.Path, at, fmt.Sprintf("more than %d members", MaxMembers))
		}
		m := Member{Name: name}
		m.Line, m.Col = p.place(at)
		if m.Value, err = p.value(n.at(name), depth+1); err != nil {
			return err
		}
		n.Members = append(n.Members, m)
	}
	_, _, err := p.token(n.Path)
	return err
}

func (p *jsonParser) list(n *Node, depth int) error {
	n.Kind = List
	for p.dec.More() {
		v, err := p.value(fmt.Sprintf("%s[%d]", n.Path, len(n.Items)), depth+1)
		if err != nil {
			return err
		}
		n.Items = append(n.Items, v)
	}
	_, _, err := p.token(n.Path)
	return err
}
