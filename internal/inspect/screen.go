package inspect

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/conform-dev/conform/core/checkpoint"
)

// screened is what the screen says of one text. Member is there only where the text has a name; the text itself never is.
type screened struct {
	Verdict string `json:"verdict"`
	Reason  string `json:"reason,omitempty"`
	Member  string `json:"member,omitempty"`
}

func screenedAs(v checkpoint.Verdict, member string) *screened {
	if v == checkpoint.Accepted {
		return &screened{Verdict: v.String()}
	}
	return &screened{Verdict: "refused", Reason: v.String(), Member: member}
}

// Screen says of each line of in, the last one without a line end included, whether a store would keep it (facts 4.6). A line
// is raw text, not JSON, without its LF or CRLF; an empty one is a text too. It fails with *LineError for a line longer than
// checkpoint.MaxText, the longest text a checkpoint may have, and with the error of in or out.
func Screen(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, readBytes), checkpoint.MaxText+len("\r\n"))
	lineOut := encoder(out)
	n := 0
	for lines.Scan() {
		n++
		if len(lines.Bytes()) > checkpoint.MaxText {
			return longText(n)
		}
		if err := lineOut.Encode(screenedAs(checkpoint.Screen(lines.Text()), "")); err != nil {
			return err
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return longText(n + 1)
	}
	return lines.Err()
}

func longText(line int) error {
	return &LineError{line, checkpoint.MaxText + 1, fmt.Sprintf("longer than %d bytes", checkpoint.MaxText)}
}
