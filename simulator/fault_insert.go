package simulator

import "net/url"

var insertFault = Spec{
	Name:   "insert",
	Doc:    "sends a block that the feed does not have, behind an event or on an idle stream, byte for byte as it stands here; on WebSocket one text message",
	At:     []string{"connection", "request", "sequence", "event", "ms"},
	Wires:  notOData,
	Params: []Param{{Name: "block", Kind: "bytes", Doc: "the block without its blank line", Default: ":"}},
	build: func(a args) any {
		text, _ := url.PathUnescape(a.text("block")) // checked
		return insert(text)
	},
}

// insert is a forged block: nothing of it is checked, which is what it is for (P-SSE-16 is about what a server writes by
// itself).
type insert string

func (i insert) send(d *dispatch) bool {
	d.after = append(d.after, d.st.coder.insert([]byte(i)))
	return true
}

func (i insert) idle(st *stream) bool {
	st.push(st.coder.insert([]byte(i)))
	return true
}
