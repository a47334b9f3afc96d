package wire

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// checkText refuses text that is no UTF-8 or longer than limit bytes. The error names the member and never quotes it.
func checkText(member, text string, limit int) error {
	if len(text) > limit {
		return fmt.Errorf("%s is %d bytes long, the limit is %d", member, len(text), limit)
	}
	if !utf8.ValidString(text) {
		return fmt.Errorf("%s is not UTF-8", member)
	}
	return nil
}

// checkName is checkText for a text that must be there.
func checkName(member, text string, limit int) error {
	if text == "" {
		return fmt.Errorf("%s is missing", member)
	}
	return checkText(member, text, limit)
}

// cut shortens text to at most limit bytes at a rune border and mends bytes that are no UTF-8: for detail texts that we write,
// which may quote a server.
func cut(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= limit {
		return text
	}
	const mark = "..."
	end := limit - len(mark)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + mark
}
