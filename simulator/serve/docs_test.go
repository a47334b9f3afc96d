package serve

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/conform-dev/conform/simulator"
)

var update = flag.Bool("update", false, "write the sessions of docs/simulator.md anew")

const docs = "../../docs/simulator.md"

var quoted = regexp.MustCompile(`'([^']*)'|(\S+)`)

// TestDocs plays the sessions of the documentation against one server and compares what comes out. A `follow` without a command
// shows what came since on the stream that was opened first.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, simulator.Options{Rows: 2})
	var first *bufio.Reader
	seen := 0
	block := regexp.MustCompile("(?s)```session (follow|control|websocket|odata)\n(.*?)```")
	got := block.ReplaceAllStringFunc(string(text), func(b string) string {
		m := block.FindStringSubmatch(b)
		command := ""
		if strings.HasPrefix(m[2], "$ ") {
			command, _, _ = strings.Cut(m[2], "\n")
			command += "\n"
		}
		var out string
		switch {
		case m[1] == "control":
			out = s.playControl(command)
		case m[1] == "odata":
			res := s.playGet(command)
			var page bytes.Buffer
			_, err := page.ReadFrom(res.Body)
			s.must(err)
			out = page.String() + "\n"
			s.wait("the page to be written", func(st simulator.State) bool { return len(st.Connections) == 1 })
		case m[1] == "websocket":
			_, _, _, url := s.parts(command)
			ws, _, err := websocket.Dial(s.ctx, url, nil)
			s.must(err)
			out = strings.Join(s.read(ws, 2), "\n") + "\n"
			s.must(ws.Close(websocket.StatusNormalClosure, ""))
			s.wait("the socket to be gone", func(st simulator.State) bool { return len(st.Connections) == 1 })
		case command == "":
			n := int(s.State().Connections[0].Events) + 1 - seen
			out = strings.Join(blocks(t, first, n), "\n") + "\n"
			seen += n
		default:
			res := s.playGet(command)
			in := bufio.NewReader(res.Body)
			n := 2
			if strings.Contains(command, "Last-Event-ID") && s.State().Oldest > s.State().Head {
				n = 1 // expired: an error frame and the end
			}
			out = strings.Join(blocks(t, in, n), "\n") + "\n"
			if first == nil {
				first, seen = in, n
			} else {
				_ = res.Body.Close()
				s.wait("the second stream to be gone", func(st simulator.State) bool { return len(st.Connections) == 1 })
			}
		}
		return "```session " + m[1] + "\n" + command + out + "```"
	})
	if got == string(text) {
		return
	}
	if !*update {
		t.Fatalf("the sessions of %s are not what happens; run with -update. They are now:\n%s", docs, got)
	}
	if err := os.WriteFile(docs, []byte(got), 0o666); err != nil {
		t.Fatal(err)
	}
}

// parts takes a curl line apart: header lines, body, URL.
func (s *site) parts(command string) (method string, header http.Header, body, url string) {
	method, header = http.MethodGet, http.Header{}
	words := quoted.FindAllStringSubmatch(strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(command), "$ curl "), "$ websocat "), -1)
	word := func(i int) string { return words[i][1] + words[i][2] }
	for i := 0; i < len(words); i++ {
		switch word(i) {
		case "-N":
		case "-X":
			i++
			method = word(i)
		case "-H":
			i++
			name, value, _ := strings.Cut(word(i), ": ")
			header.Set(name, value)
		case "-d":
			i++
			body = word(i)
		default:
			url = strings.Replace(word(i), "127.0.0.1:8080", s.Addr(), 1)
		}
	}
	return method, header, body, url
}

func (s *site) play(command string) *http.Response {
	method, header, body, url := s.parts(command)
	req, err := http.NewRequestWithContext(s.ctx, method, url, strings.NewReader(body))
	s.must(err)
	req.Header = header
	res, err := s.client.Do(req)
	s.must(err)
	return res
}

func (s *site) playGet(command string) *http.Response {
	res := s.play(command)
	s.t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

func (s *site) playControl(command string) string {
	s.wait("everything to be written, since waitingBytes is shown", func(st simulator.State) bool {
		for _, c := range st.Connections {
			if c.Waiting != 0 {
				return false
			}
		}
		return true
	})
	res := s.play(command)
	defer res.Body.Close()
	var raw bytes.Buffer
	_, err := raw.ReadFrom(res.Body)
	s.must(err)
	var out bytes.Buffer
	s.must(json.Indent(&out, raw.Bytes(), "", "  "))
	return strings.TrimSpace(out.String()) + "\n"
}
