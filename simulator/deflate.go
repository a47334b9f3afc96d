package simulator

import (
	"bytes"
	"compress/flate"
	"io"
	"strconv"
	"strings"
)

// permessage-deflate (RFC 7692). The client never keeps its window between messages: that is asked of every client, so that
// reading it needs no state. Whether the server keeps its own is an option.

// deflateTail is the end of every compressed block, which stays off the wire.
var deflateTail = []byte{0x00, 0x00, 0xff, 0xff}

// deflater compresses the messages of one connection.
type deflater struct {
	keep bool // the window from one message to the next
	out  bytes.Buffer
	w    *flate.Writer // about 600 KiB, made with the first message
}

func (d *deflater) message(payload []byte) []byte {
	d.out.Reset()
	switch {
	case d.w == nil:
		d.w, _ = flate.NewWriter(&d.out, flate.BestSpeed) // the level is one that there is
	case !d.keep:
		d.w.Reset(&d.out)
	}
	_, _ = d.w.Write(payload) // into memory
	_ = d.w.Flush()
	return bytes.Clone(bytes.TrimSuffix(d.out.Bytes(), deflateTail))
}

// inflate decompresses a client's message, at most MaxClientMessage bytes of it.
func inflate(payload []byte) ([]byte, *violation) {
	// The empty last block behind the tail ends the stream, so that the reader meets no unexpected end.
	in := io.MultiReader(bytes.NewReader(payload), bytes.NewReader(deflateTail), bytes.NewReader([]byte{0x01, 0x00, 0x00, 0xff, 0xff}))
	plain, err := io.ReadAll(io.LimitReader(flate.NewReader(in), MaxClientMessage+1))
	switch {
	case err != nil:
		return nil, &violation{1007, "compressed message that cannot be decompressed"}
	case len(plain) > MaxClientMessage:
		return nil, &violation{1009, "message larger than " + strconv.Itoa(MaxClientMessage) + " bytes"}
	}
	return plain, nil
}

// agreeDeflate answers an offer of extensions: the value of the answer's header, empty for none, and whether the server keeps its
// window. mode is Options.Deflate.
func agreeDeflate(mode string, offers []string) (answer string, keep bool) {
	if mode == "none" {
		return "", false
	}
	for _, offer := range strings.Split(strings.Join(offers, ","), ",") {
		params := strings.Split(offer, ";")
		if strings.TrimSpace(params[0]) != "permessage-deflate" {
			continue
		}
		keep, ok := mode == "takeover", true
		for _, p := range params[1:] {
			name, value, _ := strings.Cut(strings.TrimSpace(p), "=")
			switch strings.TrimSpace(name) {
			case "server_no_context_takeover":
				keep = false
			case "client_no_context_takeover", "client_max_window_bits":
			case "server_max_window_bits":
				ok = ok && strings.Trim(strings.TrimSpace(value), `"`) == "15" // a smaller window is one that we cannot keep to
			default:
				ok = false
			}
		}
		if !ok {
			continue
		}
		answer = "permessage-deflate; client_no_context_takeover"
		if !keep {
			answer += "; server_no_context_takeover"
		}
		return answer, keep
	}
	return "", false
}
