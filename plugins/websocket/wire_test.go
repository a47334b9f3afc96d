package websocket

import (
	"encoding/hex"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

const wirePage = "../../docs/wire.md"

// fence is a fenced block of a page: what stands behind the fence, and the lines.
type fence struct{ info, text string }

func fences(t *testing.T, path string) (all []fence) {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	open := false
	for line := range strings.Lines(string(page)) {
		info, isFence := strings.CutPrefix(line, "```")
		switch {
		case isFence && open:
			open = false
		case isFence:
			open = true
			all = append(all, fence{info: strings.TrimSpace(info)})
		case open:
			all[len(all)-1].text += line
		}
	}
	return all
}

// key is where a request of the page says what its key is: it is another one each time.
var key = regexp.MustCompile(`Sec-WebSocket-Key: [A-Za-z0-9+/]{22}==`)

// TestWirePage feeds the messages and frames of docs/wire.md to the machine, whole and byte by byte, and compares with the result that
// the page names; the same for the requests.
func TestWirePage(t *testing.T) {
	page := fences(t, wirePage)
	frames, requests := 0, 0
	for i, f := range page {
		kind, name, _ := strings.Cut(f.info, " ")
		switch kind {
		case "ws":
			frames++
			if i+1 == len(page) || page[i+1].info != "ws-result" {
				t.Fatalf("block %q has no result behind it", name)
			}
			t.Run(name, func(t *testing.T) { checkBlock(t, f.text, strings.TrimSuffix(page[i+1].text, "\n")) })
		case "ws-request":
			requests++
			t.Run(f.info, func(t *testing.T) {
				m := NewMachine()
				m.Start(wireAttempt(strings.Fields(name)...))
				got := key.ReplaceAllString(take(m), "Sec-WebSocket-Key: (16 random bytes in base64, new for each handshake)")
				if got != strings.TrimSuffix(f.text, "\n") {
					t.Errorf("got\n%s\nwant\n%s", got, f.text)
				}
			})
		}
	}
	if frames < 11 || requests < 3 {
		t.Fatalf("only %d blocks and %d requests", frames, requests)
	}
}

func checkBlock(t *testing.T, block, want string) {
	var all []byte
	for line := range strings.Lines(block) {
		line = strings.TrimSuffix(line, "\n")
		if digits, is := strings.CutPrefix(line, "0x"); is {
			b, err := hex.DecodeString(digits)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, b...)
		} else {
			all = append(all, text(line)...)
		}
	}
	m := openMachine()
	m.Bytes(all)
	if got := take(m); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got, want := told(openMachine(), bytewise(all)...), strings.TrimSuffix(want, "\nheartbeat"); got != want {
		t.Errorf("byte by byte: got\n%s\nwant\n%s", got, want)
	}
}

// The page's tables say what the descriptor and the decoder say.
func TestWirePageNamesEverything(t *testing.T) {
	text, err := os.ReadFile(wirePage)
	if err != nil {
		t.Fatal(err)
	}
	_, page, _ := strings.Cut(string(text), "\n## WebSocket\n")
	var rows []string
	for _, o := range Describe().Options {
		if o.Ceiling > 0 {
			rows = append(rows, fmt.Sprintf("| `%s` | %s | %d;", o.Name, o.Default, o.Ceiling))
		} else {
			rows = append(rows, fmt.Sprintf("| `%s` | `%s` |", o.Name, o.Default))
		}
	}
	for v := range violations {
		rows = append(rows, fmt.Sprintf("| `%s` | %d | %s |", v, v.Code(), v.Clause()))
	}
	for _, a := range actions {
		rows = append(rows, "`"+a+"`")
	}
	for _, row := range rows {
		if !strings.Contains(page, row) {
			t.Errorf("no %q", row)
		}
	}
}
