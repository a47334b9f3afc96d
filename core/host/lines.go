package host

import (
	"strings"
	"sync"
	"unicode"
)

// lastLines keeps the last lines that a plugin's processes printed, redacted. It is bounded by MaxLines lines of about MaxLine bytes
// and safe for concurrent use.
type lastLines struct {
	secrets *redactor
	mu      sync.Mutex
	lines   []string
}

func (l *lastLines) add(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lines) == MaxLines {
		l.lines = append(l.lines[:0], l.lines[1:]...)
	}
	l.lines = append(l.lines, text)
}

// all is a copy, oldest first.
func (l *lastLines) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.lines...)
}

// lineWriter cuts one stream of output into lines for lastLines. It never fails and never blocks: a plugin must not hang because it
// prints much.
type lineWriter struct {
	to *lastLines
	// mu also covers flush, which comes from the goroutine that saw the process end.
	mu   sync.Mutex
	part []byte
	long bool // part is full: the rest of the line is dropped
}

// partLimit leaves room for a whole secret that begins within the part of the line that is kept.
const partLimit = MaxLine + maxSecret

// Write takes any piece of the stream.
func (w *lineWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range p {
		switch {
		case b == '\n':
			w.end(true)
		case len(w.part) < partLimit:
			w.part = append(w.part, b)
		default:
			w.long = true
		}
	}
	return len(p), nil
}

// flush ends a line that has no line end: the process is gone.
func (w *lineWriter) flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.part) > 0 {
		w.end(false)
	}
}

func (w *lineWriter) end(complete bool) {
	raw := string(w.part)
	text := w.to.secrets.line(raw, MaxLine, complete && !w.long)
	if len(raw) > MaxLine {
		text += "..."
	}
	w.to.add(printable(text))
	w.part, w.long = w.part[:0], false
}

// printable replaces control characters and bytes that are no UTF-8: these lines are shown on terminals and in reports.
func printable(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case unicode.IsControl(r):
			return '\uFFFD'
		}
		return r
	}, text)
}
