package inspect

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/conform-dev/conform/core/checkpoint"
)

// TestScreenLines: the answers to raw text, line by line: CRLF or LF, an empty line, a last line without an end.
func TestScreenLines(t *testing.T) {
	in := "incidents\r\nBearer x\n\n  \nhttps://example.test/a?x=1\n\"quoted\\u0041\"\n\xff\nkey=1"
	want := `{"verdict":"accepted"}
{"verdict":"refused","reason":"credential-shaped"}
{"verdict":"accepted"}
{"verdict":"accepted"}
{"verdict":"refused","reason":"url-shaped"}
{"verdict":"accepted"}
{"verdict":"accepted"}
{"verdict":"refused","reason":"credential-shaped"}
`
	for how, r := range map[string]io.Reader{"whole": strings.NewReader(in), "bytewise": iotest.OneByteReader(strings.NewReader(in))} {
		var out bytes.Buffer
		if err := Screen(r, &out); err != nil || out.String() != want {
			t.Errorf("%s: %v\n%s", how, err, out.String())
		}
	}
	var out bytes.Buffer
	if err := Screen(strings.NewReader(""), &out); err != nil || out.Len() != 0 {
		t.Errorf("nothing: %v %q", err, out.String())
	}
}

// TestScreenLineLimit: a text as long as a checkpoint may have is answered, a longer one is not.
func TestScreenLineLimit(t *testing.T) {
	longest := strings.Repeat("x", checkpoint.MaxText)
	for _, end := range []string{"", "\n", "\r\n"} {
		var out bytes.Buffer
		if err := Screen(strings.NewReader(longest+end), &out); err != nil || out.String() != "{\"verdict\":\"accepted\"}\n" {
			t.Errorf("%q: %v %s", end, err, out.String())
		}
		out.Reset()
		var at *LineError
		if err := Screen(strings.NewReader("a\n"+longest+"x"+end), &out); !errors.As(err, &at) || at.Line != 2 || at.Byte != checkpoint.MaxText+1 || strings.Count(out.String(), "\n") != 1 {
			t.Errorf("%q: %v %s", end, err, out.String())
		}
	}
}

// TestScreenAnswersTheScreen: each line has exactly the verdict of the screen, and is never repeated.
func TestScreenAnswersTheScreen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.StringMatching(`[a-z?#@=:%41 .-]{0,12}`), 1, 8).Draw(t, "lines")
		var out, want bytes.Buffer
		for _, l := range lines {
			if v := checkpoint.Screen(l); v == checkpoint.Accepted {
				want.WriteString("{\"verdict\":\"accepted\"}\n")
			} else {
				fmt.Fprintf(&want, "{\"verdict\":\"refused\",\"reason\":%q}\n", v.String())
			}
		}
		if err := Screen(strings.NewReader(strings.Join(lines, "\n")+"\n"), &out); err != nil || out.String() != want.String() {
			t.Fatalf("%v\n got %s\nwant %s", err, out.String(), want.String())
		}
	})
}
