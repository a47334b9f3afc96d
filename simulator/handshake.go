package simulator

import (
	"crypto/sha1" // what RFC 6455 4.2.2 asks for; it protects nothing
	"encoding/base64"
	"strings"
)

// handshake is what a client offers and what it is answered (RFC 6455 4.2).
type handshake struct {
	accept      string
	subprotocol string // empty for none
	extension   string
	keep        bool // the server keeps its compression window
}

// shake judges the headers of an upgrade and takes what the options know.
func (o *Options) shake(h Header) (handshake, *refusal) {
	switch key := strings.Join(values(h, "Sec-WebSocket-Key"), ","); {
	case !listed(values(h, "Upgrade"), "websocket") || !listed(values(h, "Connection"), "upgrade"):
		no := refuse(426, "Upgrade Required", "this path speaks WebSocket: Upgrade: websocket and Connection: Upgrade are missing")
		no.header = map[string]string{"Upgrade": "websocket", "Connection": "Upgrade"}
		return handshake{}, no
	case strings.Join(values(h, "Sec-WebSocket-Version"), ",") != "13":
		no := refuse(426, "Upgrade Required", "Sec-WebSocket-Version: must be 13")
		no.header = map[string]string{"Sec-Websocket-Version": "13"}
		return handshake{}, no
	case !isKey(key):
		return handshake{}, refuse(400, "Bad Request", "Sec-WebSocket-Key: must be 16 bytes in base64")
	default:
		s := handshake{accept: acceptOf(key)}
		for _, name := range words(values(h, "Sec-WebSocket-Protocol")) {
			if s.subprotocol == "" && has(o.Subprotocols, name) {
				s.subprotocol = name
			}
		}
		s.extension, s.keep = agreeDeflate(o.Deflate, values(h, "Sec-WebSocket-Extensions"))
		return s, nil
	}
}

func isKey(key string) bool {
	raw, err := base64.StdEncoding.Strict().DecodeString(key)
	return err == nil && len(raw) == 16
}

// acceptOf proves that the server read the key.
func acceptOf(key string) string {
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// values are the values of a header, whatever capitals its name has.
func values(h Header, name string) []string {
	for have, v := range h {
		if strings.EqualFold(have, name) {
			return v
		}
	}
	return nil
}

// words takes lists of values apart at their commas.
func words(lists []string) []string {
	var out []string
	for _, w := range strings.Split(strings.Join(lists, ","), ",") {
		if w = strings.TrimSpace(w); w != "" {
			out = append(out, w)
		}
	}
	return out
}

func listed(lists []string, word string) bool {
	for _, w := range words(lists) {
		if strings.EqualFold(w, word) {
			return true
		}
	}
	return false
}
