package fleet

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestPage sends every request of the documentation to one server, in order, and compares the answers with the page.
func TestPage(t *testing.T) {
	text, err := os.ReadFile("../../docs/fleet-wake.md")
	if err != nil {
		t.Fatal(err)
	}
	r := intakeRig(t, options())
	var last, stream Conn
	seen := map[string]int{}
	for _, part := range strings.Split(string(text), "\n```fleet-")[1:] {
		body, _, _ := strings.Cut(part, "\n```")
		info, body, _ := strings.Cut(body, "\n")
		seen[info]++
		switch info {
		case "request":
			last = r.play(body)
			if r.live(last) {
				stream = last
			}
		case "answer":
			if got := strings.TrimRight(r.render(last), "\n"); got != strings.TrimRight(body, "\n") { // TestHello has the exact end
				t.Errorf("got\n%s\nwant\n%s", got, body)
			}
			if last == stream {
				r.clear(stream)
			}
		case "stream":
			if got := r.body[stream].String(); got != body+"\n" {
				t.Errorf("stream got\n%q\nwant\n%q", got, body)
			}
		}
	}
	if seen["request"] < 5 || seen["answer"] != seen["request"] || seen["stream"] != 1 {
		t.Errorf("blocks %v", seen)
	}
}

// play sends the text of a request.
func (r *rig) play(text string) Conn {
	head, body, _ := strings.Cut(text, "\n\n")
	lines := strings.Split(head, "\n")
	method, target, _ := strings.Cut(lines[0], " ")
	var h []string
	for _, l := range lines[1:] {
		name, value, _ := strings.Cut(l, ": ")
		h = append(h, name, value)
	}
	return r.ask(method, target, body, h...)
}

// render is an answer as the page shows it.
func (r *rig) render(c Conn) string {
	out := fmt.Sprintf("%d\n", r.head[c].Status)
	for _, name := range slices.Sorted(maps.Keys(r.head[c].Header)) {
		out += name + ": " + r.head[c].Header[name][0] + "\n"
	}
	return out + "\n" + r.body[c].String()
}
