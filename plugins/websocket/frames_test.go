package websocket

import (
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// stream is one section of testdata/frames.txt.
type stream struct {
	name    string
	limit   int
	deflate Deflate
	all     []byte
	want    string // as transcript writes it
}

func (s *stream) decoder() *Decoder { return NewDecoder(s.limit, s.deflate) }

func loadStreams(t testing.TB) []*stream {
	t.Helper()
	file, err := os.ReadFile("testdata/frames.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []*stream
	for n, line := range strings.Split(string(file), "\n") {
		word, rest, _ := strings.Cut(line, " ")
		if word == "" || word == "#" {
			continue
		}
		if word == "==" {
			all = append(all, &stream{name: rest})
			continue
		}
		if err := all[len(all)-1].take(word, rest); err != nil {
			t.Fatalf("frames.txt:%d: %v", n+1, err)
		}
	}
	return all
}

func (s *stream) take(word, rest string) (err error) {
	text, count, _ := strings.Cut(rest, " *")
	times := 1
	if count != "" {
		if times, err = strconv.Atoi(count); err != nil {
			return err
		}
	}
	switch word {
	case "limit":
		s.limit, err = strconv.Atoi(rest)
	case "deflate":
		s.deflate = Deflate{On: true, Takeover: rest == "takeover"}
	case "bytes", "binary":
		var b []byte
		b, err = hex.DecodeString(strings.ReplaceAll(text, " ", ""))
		b = []byte(strings.Repeat(string(b), times))
		if word == "bytes" {
			s.all = append(s.all, b...)
		} else {
			s.want += fmt.Sprintf("binary %x\n", b)
		}
	case "text", "ping", "pong":
		text, err = strconv.Unquote(text)
		s.want += fmt.Sprintf("%s %q\n", word, strings.Repeat(text, times))
	case "fragment", "close", "violation":
		s.want += strings.TrimRight(word+" "+rest, " ") + "\n"
	default:
		err = fmt.Errorf("unknown word %q", word)
	}
	return err
}

// line writes a frame in the words of testdata/frames.txt.
func line(f Frame) string {
	switch f.Kind {
	case Fragment:
		return "fragment\n"
	case BinaryMessage:
		return fmt.Sprintf("binary %x\n", f.Payload)
	case CloseFrame:
		return fmt.Sprintf("close %d %q\n", f.Code, f.Payload)
	case Invalid:
		return fmt.Sprintf("violation %s frame %d at %d close %d\n", f.Violation, f.Number, f.At, f.Violation.Code())
	}
	return fmt.Sprintf("%s %q\n", f.Kind, f.Payload)
}

// transcript is what a decoder makes of reads. Each read is handed over in a buffer that is destroyed when the decoder has had its
// turn.
func transcript(d *Decoder, reads ...[]byte) string {
	var out strings.Builder
	buf := []byte(nil)
	for _, r := range reads {
		buf = append(buf[:0], r...)
		d.Feed(buf)
		for f, ok := d.Next(); ok; f, ok = d.Next() {
			out.WriteString(line(f))
		}
		for i := range buf {
			buf[i] = '#'
		}
	}
	return out.String()
}

func bytewise(b []byte) [][]byte {
	parts := make([][]byte, len(b))
	for i := range b {
		parts[i] = b[i : i+1]
	}
	return parts
}

// TestFramesInEverySplit reads each section whole, in every two parts and byte by byte. Those above 4 KiB are cut near their ends.
func TestFramesInEverySplit(t *testing.T) {
	cases := loadStreams(t)
	if len(cases) < 60 {
		t.Fatalf("only %d streams", len(cases))
	}
	for _, s := range cases {
		t.Run(s.name, func(t *testing.T) {
			check := func(how string, reads ...[]byte) {
				t.Helper()
				if got := transcript(s.decoder(), reads...); got != s.want {
					t.Fatalf("%s:\n%.2000s\nwant:\n%.2000s", how, got, s.want)
				}
			}
			check("whole", s.all)
			check("byte by byte", bytewise(s.all)...)
			for at := range s.all {
				if len(s.all) <= 4<<10 || at < 64 || at > len(s.all)-64 {
					check(fmt.Sprintf("cut at %d", at), s.all[:at], s.all[at:])
				}
			}
		})
	}
}

// Every violation has a code that a client may send, a clause, and a section in the file that meets it.
func TestEveryViolationIsMet(t *testing.T) {
	met := ""
	for _, s := range loadStreams(t) {
		met += s.want
	}
	for v := range violations {
		if !mayClose(v.Code()) || v.Clause() == "" {
			t.Errorf("%s: %d, %q", v, v.Code(), v.Clause())
		}
		if !strings.Contains(met, "violation "+string(v)+" ") {
			t.Errorf("no section meets %s", v)
		}
	}
	if len(violations) != 16 || Violation("x").Code() != 0 || Violation("x").Clause() != "" {
		t.Errorf("%d violations", len(violations))
	}
}
