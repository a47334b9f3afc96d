package simulator

import "time"

// The faults in how bytes travel: none of them changes what is said.

var dripFault = Spec{
	Name: "drip",
	Doc:  "sends the body a few bytes at a time",
	At:   []string{"connection", "request"},
	Params: []Param{
		{Name: "bytes", Kind: "integer", Doc: "at a time", Default: "1", Min: 1, Max: 1 << 20},
		{Name: "everyMs", Kind: "integer", Doc: "how often", Default: "10", Min: 1, Max: 3600000},
	},
	build: func(a args) any { return &drip{int(a.int("bytes")), a.ms("everyMs")} },
}

type drip struct {
	bytes int
	every time.Duration
}

func (d *drip) answer(a *answer) bool {
	a.stream.drip, a.stream.dripEvery = d.bytes, d.every
	return true
}

var splitFault = Spec{
	Name:   "split",
	Doc:    "cuts the body into chunks that know nothing of lines and characters",
	At:     []string{"connection", "request"},
	Params: []Param{{Name: "bytes", Kind: "integer", Doc: "size of a chunk", Default: "1", Min: 1, Max: 1 << 20}},
	build:  func(a args) any { return split(a.int("bytes")) },
}

type split int

func (s split) answer(a *answer) bool {
	a.stream.split = int(s)
	return true
}

var dialectFault = Spec{
	Name:  "dialect",
	Wires: []string{SSE},
	Doc:   "writes the same stream in another legal way",
	At:    []string{"connection", "request"},
	Params: []Param{
		{Name: "lineEnd", Kind: "text", Doc: "end of every line", Default: "lf", Values: []string{"lf", "cr", "crlf"}},
		{Name: "tight", Kind: "boolean", Doc: "no space behind the colon", Default: "false"},
		{Name: "bom", Kind: "boolean", Doc: "a byte order mark in front", Default: "false"},
		{Name: "perLine", Kind: "integer", Doc: "break data behind every n-th comma; 0 never", Default: "0", Min: 0, Max: 1000},
	},
	build: func(a args) any {
		end := map[string]string{"lf": "\n", "cr": "\r", "crlf": "\r\n"}[a.text("lineEnd")]
		return &dialect{Dialect{end, a.flag("tight"), a.flag("bom"), int(a.int("perLine"))}}
	},
}

type dialect struct{ Dialect }

func (d *dialect) answer(a *answer) bool {
	c, ok := a.stream.coder.(*sseCoder)
	if ok {
		c.dialect = d.Dialect
	}
	return ok
}
