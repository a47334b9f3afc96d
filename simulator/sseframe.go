package simulator

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// ErrInvalidField is returned for an id or an event name that holds CR, LF or NUL: written out, it would forge lines or
// whole events, or be ignored by every client (P-SSE-16).
var ErrInvalidField = errors.New("invalid-field: an id or event name with CR, LF or NUL")

// Block is one block of an event stream, up to and with its blank line.
type Block struct {
	ID      string
	Event   string
	Data    []byte        // each line end in it begins a new data line (P-SSE-17); nil writes no data line
	Retry   time.Duration // written in milliseconds, if not 0
	Comment string        // written first, one comment line; CR and LF in it are ErrInvalidField as well
}

// Dialect is a legal way to write the same stream. The zero value is the usual one.
type Dialect struct {
	End     string // line end: "\n", "\r" or "\r\n"; empty is "\n"
	Tight   bool   // no space after the colon
	BOM     bool   // a byte order mark before the first block
	PerLine int    // cut the data behind every n-th comma between JSON tokens into lines of its own; 0 never
}

// AppendBlock writes b to dst. After an error dst is unchanged.
func AppendBlock(dst []byte, b Block, d Dialect) ([]byte, error) {
	if strings.ContainsAny(b.ID, "\r\n\x00") || strings.ContainsAny(b.Event, "\r\n\x00") || strings.ContainsAny(b.Comment, "\r\n\x00") {
		return dst, ErrInvalidField
	}
	end := d.End
	if end == "" {
		end = "\n"
	}
	line := func(field, value string) {
		dst = append(append(dst, field...), ':')
		if !d.Tight || strings.HasPrefix(value, " ") {
			dst = append(dst, ' ')
		}
		dst = append(append(dst, value...), end...)
	}
	if b.Comment != "" {
		dst = append(append(append(dst, ':'), b.Comment...), end...)
	}
	if b.Retry > 0 {
		line("retry", strconv.FormatInt(b.Retry.Milliseconds(), 10))
	}
	if b.ID != "" {
		line("id", b.ID)
	}
	if b.Event != "" {
		line("event", b.Event)
	}
	if b.Data != nil {
		for _, l := range dataLines(string(b.Data), d.PerLine) {
			line("data", l)
		}
	}
	return append(dst, end...), nil
}

// dataLines cuts data at its line ends, CRLF as one, and with perLine > 0 behind every perLine-th comma between JSON tokens, where a
// line end is white space.
func dataLines(data string, perLine int) []string {
	var out []string
	from, commas, quoted := 0, 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '\n' || c == '\r':
			out = append(out, data[from:i])
			if c == '\r' && i+1 < len(data) && data[i+1] == '\n' {
				i++
			}
			from = i + 1
		case quoted && c == '\\' && i+1 < len(data) && data[i+1] != '\r' && data[i+1] != '\n':
			i++
		case c == '"':
			quoted = !quoted
		case c == ',' && !quoted && perLine > 0:
			if commas++; commas%perLine == 0 && i+1 < len(data) {
				out = append(out, data[from:i+1])
				from = i + 1
			}
		}
	}
	return append(out, data[from:])
}
