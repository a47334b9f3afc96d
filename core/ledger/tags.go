package ledger

import (
	"errors"
	"fmt"
	"slices"
)

// Limits of a tag expression; nobody types a longer one, and the parser recurses once per parenthesis and `not`.
const (
	MaxTagText  = 4096
	MaxTagDepth = 64
)

// TagExpr is a parsed tag expression. The nil expression matches everything.
type TagExpr struct {
	op          byte // t tag, n not, a and, o or
	tag         string
	left, right *TagExpr
}

// ErrTags is wrapped by every error of ParseTags (exit code 2, D-63).
var ErrTags = errors.New("bad tag expression")

// ParseTags reads an expression of tags with `and`, `or`, `not` and parentheses; `not` binds tightest, `or` loosest.
// known lists every tag that a scenario may carry: any other is an error, since a misspelt tag would quietly select
// nothing. Errors wrap ErrTags and name the column, from 1.
func ParseTags(text string, known []string) (*TagExpr, error) {
	if len(text) > MaxTagText {
		return nil, fmt.Errorf("%w: %d bytes, limit %d", ErrTags, len(text), MaxTagText)
	}
	p := &tagParser{text: text, known: known}
	p.next()
	e, err := p.or(0)
	if err == nil && p.token != "" {
		err = p.fail("%q is one too many", p.token)
	}
	if err != nil {
		return nil, err
	}
	return e, nil
}

// Match says whether a scenario with the given tags is selected.
func (e *TagExpr) Match(tags []string) bool {
	if e == nil {
		return true
	}
	switch e.op {
	case 't':
		return slices.Contains(tags, e.tag)
	case 'n':
		return !e.left.Match(tags)
	case 'a':
		return e.left.Match(tags) && e.right.Match(tags)
	}
	return e.left.Match(tags) || e.right.Match(tags)
}

// String writes e with every parenthesis it means.
func (e *TagExpr) String() string {
	switch {
	case e == nil:
		return ""
	case e.op == 't':
		return e.tag
	case e.op == 'n':
		return "not " + e.left.String()
	case e.op == 'a':
		return "(" + e.left.String() + " and " + e.right.String() + ")"
	}
	return "(" + e.left.String() + " or " + e.right.String() + ")"
}

type tagParser struct {
	text  string
	known []string
	pos   int    // behind token
	at    int    // where token begins
	token string // empty at the end
}

func (p *tagParser) fail(format string, args ...any) error {
	return fmt.Errorf("%w: column %d: %s", ErrTags, p.at+1, fmt.Sprintf(format, args...))
}

func (p *tagParser) next() {
	for p.pos < len(p.text) && space(p.text[p.pos]) {
		p.pos++
	}
	p.at = p.pos
	for p.pos < len(p.text) {
		c := p.text[p.pos]
		if space(c) || ((c == '(' || c == ')') && p.pos > p.at) {
			break
		}
		p.pos++
		if c == '(' || c == ')' {
			break
		}
	}
	p.token = p.text[p.at:p.pos]
}

func space(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func (p *tagParser) or(depth int) (*TagExpr, error) {
	left, err := p.and(depth)
	for err == nil && p.token == "or" {
		p.next()
		var right *TagExpr
		right, err = p.and(depth)
		left = &TagExpr{op: 'o', left: left, right: right}
	}
	return left, err
}

func (p *tagParser) and(depth int) (*TagExpr, error) {
	left, err := p.unary(depth)
	for err == nil && p.token == "and" {
		p.next()
		var right *TagExpr
		right, err = p.unary(depth)
		left = &TagExpr{op: 'a', left: left, right: right}
	}
	return left, err
}

func (p *tagParser) unary(depth int) (*TagExpr, error) {
	if depth > MaxTagDepth {
		return nil, p.fail("nested deeper than %d", MaxTagDepth)
	}
	switch token := p.token; {
	case token == "":
		return nil, p.fail("a tag is missing at the end")
	case token == "not":
		p.next()
		e, err := p.unary(depth + 1)
		return &TagExpr{op: 'n', left: e}, err
	case token == "(":
		p.next()
		e, err := p.or(depth + 1)
		if err == nil && p.token != ")" {
			err = p.fail("a closing parenthesis is missing")
		}
		p.next()
		return e, err
	case token[0] != '@' || len(token) == 1:
		return nil, p.fail("%q is no tag: tags begin with @, words are and, or, not", token)
	case !slices.Contains(p.known, token):
		return nil, p.fail("unknown tag %s", token)
	default:
		p.next()
		return &TagExpr{op: 't', tag: token}, nil
	}
}
