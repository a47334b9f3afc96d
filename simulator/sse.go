package simulator

// sse is the server of the SSE wire (docs/wire.md).
type sse struct{ table }

// request answers one request: the honest answer first, then what the schedule makes of it.
func (s *sse) request(c Conn, n uint32, r Request) {
	req, no := s.parseRequest(r)
	s.sim.asked(&req)
	a := s.honest(&req, n, &sseCoder{cursor: s.sim.opt.CursorIn})
	struck := s.admit(a, no)
	s.enter(c, a, struck)
	if a.status == 0 {
		return
	}
	if a.status != 200 || a.body != nil {
		a.stream.page(a)
	} else {
		if _, set := a.header["Content-Type"]; !set {
			a.header["Content-Type"] = []string{"text/event-stream"}
		}
		a.header["Cache-Control"] = []string{"no-store"}
		a.stream.begin(a)
	}
	s.sim.out = append(s.sim.out, Output{Conn: c, Head: &Head{a.status, a.header}})
}

// parseRequest reads a request for the stream. The position is the Last-Event-ID header or the cursor parameter; the
// header wins, since a client that reconnects by itself keeps its URL and moves its header on. An empty one is none.
func (s *sse) parseRequest(r Request) (request, *refusal) {
	return s.readRequest(r, first1(r.Header["Last-Event-Id"], r.Header["Last-Event-ID"]))
}

// sseCoder writes blocks of an event stream.
type sseCoder struct {
	dialect Dialect
	begun   bool   // the first block was written (BOM)
	cursor  string // id, json, both
}

// code writes b in the stream's dialect. The blocks of the server itself hold no text of a client, so a refused field is a
// defect and panics.
func (c *sseCoder) code(f *frame) []byte {
	var out []byte
	if c.dialect.BOM && !c.begun {
		out = append(out, "\ufeff"...)
	}
	c.begun = true
	out, err := AppendBlock(out, f.block, c.dialect)
	if err != nil {
		panic(err)
	}
	return out
}

func (c *sseCoder) cursorIn() string { return c.cursor }

func (c *sseCoder) insert(text []byte) frame {
	return frame{bytes: append(text[:len(text):len(text)], "\n\n"...)}
}
