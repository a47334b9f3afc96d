package fleetwake

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

const page = "../../docs/fleet-wake.md"

// fence is a fenced block of the page: what stands behind the fence, and the lines.
type fence struct{ info, text string }

func fences(t *testing.T) (all []fence) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	open := false
	for line := range strings.Lines(string(text)) {
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

// TestPage feeds every frame of the page to the machine, whole and byte by byte, and compares with the result that the page names.
func TestPage(t *testing.T) {
	frames, requests := 0, 0
	all := fences(t)
	for i, f := range all {
		kind, name, _ := strings.Cut(f.info, " ")
		switch kind {
		case "wake":
			frames++
			if i+1 == len(all) || all[i+1].info != "wake-result" {
				t.Fatalf("frame %q has no result behind it", name)
			}
			t.Run(name, func(t *testing.T) { checkPage(t, f.text, strings.TrimSuffix(all[i+1].text, "\n")) })
		case "wake-request":
			requests++
			m := NewMachine()
			m.Start(own())
			if got := take(m); got != strings.TrimSuffix(f.text, "\n") {
				t.Errorf("got\n%s\nwant\n%s", got, f.text)
			}
		case "poll-request":
			requests++
			checkPollRequest(t, f.text)
		}
	}
	if frames < 4 || requests != 2 {
		t.Fatalf("only %d frames and %d requests", frames, requests)
	}
}

func checkPage(t *testing.T, text, want string) {
	play := func(step int) string {
		m := opened(map[string]string{OptionPoll: PollMCP})
		var lines []string
		for at := 0; at < len(text); at += step {
			m.Bytes([]byte(text[at:min(at+step, len(text))]))
			for _, line := range strings.Split(take(m), "\n") {
				if line != "" && (step > 1 || line != "heartbeat") {
					lines = append(lines, line)
				}
			}
		}
		if p, due := m.PollDue(); due {
			lines = append(lines, fmt.Sprintf("poll %s since %d", p.SubscriptionID, p.Since))
		}
		return strings.Join(lines, "\n")
	}
	if got := play(len(text)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	// Byte by byte only signs of life may come on top.
	if got := play(1); got != strings.ReplaceAll(want, "heartbeat\n", "") {
		t.Errorf("byte by byte: got\n%s", got)
	}
}

// checkPollRequest compares what a server gets with the page.
func checkPollRequest(t *testing.T, want string) {
	caught := make(chan struct{})
	p := newPlane(t, answering(`{"pending":0}`), state, caught)
	if err := open(t, p.attempt(), &log{hook: at("caught-up", caught)}); err != nil {
		t.Fatal(err)
	}
	p.Close()
	r := p.seen[len(p.seen)-1]
	got := r.Method + " " + r.URL.Path + "\n"
	for _, name := range []string{"Accept", "Authorization", "Content-Type"} {
		got += name + ": " + r.Header.Get(name) + "\n"
	}
	if got += "\n" + p.asked[0] + "\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// The page's table of options says what the descriptor says, and the page has every word of a dropped frame.
func TestPageNamesEveryOption(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range Describe().Options {
		row := fmt.Sprintf("| `%s` | `%s` |", o.Name, o.Default)
		switch {
		case o.Ceiling > 0:
			row = fmt.Sprintf("| `%s` | %s | %d;", o.Name, o.Default, o.Ceiling)
		case o.Default == "":
			row = fmt.Sprintf("| `%s` | |", o.Name)
		}
		if !strings.Contains(string(text), row) {
			t.Errorf("no row %q", row)
		}
	}
	for _, word := range []string{NoSeam, PollTime, pollRedirect, notAnAnswer, foreignAnswer, toolError, "the tool", sessionError} {
		if !strings.Contains(strings.Join(strings.Fields(string(text)), " "), word) {
			t.Errorf("the page does not say %q", word)
		}
	}
}
