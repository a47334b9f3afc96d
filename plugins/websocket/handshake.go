package websocket

import (
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"

	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/core/transport/web"
)

// acceptGUID is the fixed text of RFC 6455 4.2.2.
const acceptGUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

// nonce is a new Sec-WebSocket-Key.
func nonce(c *chance) string {
	var b [16]byte
	c.fill(b[:])
	return base64.StdEncoding.EncodeToString(b[:])
}

// acceptFor is the Sec-WebSocket-Accept that answers a key.
func acceptFor(key string) string {
	sum := sha1.Sum([]byte(key + acceptGUID))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// offered is what one handshake asked for.
type offered struct {
	key          string
	subprotocols []string
	deflate      bool
}

// judge says what the head of an answer means (D-33, RFC 6455 4.1): follow is the target of a redirect to take, otherwise s is Open
// or a final signal. named says whether the request named a position.
func judge(h transport.Head, from *url.URL, redirects int, named bool, o offered) (s transport.Signal, deflate Deflate, follow *url.URL) {
	switch {
	case h.Status == 101:
		deflate, why := agreed(h.Header, o)
		if why != "" {
			return transport.Signal{Kind: transport.Refused, Cause: transport.ProtocolError, Status: h.Status, Detail: "bad-handshake: " + why}, deflate, nil
		}
		return transport.Signal{Kind: transport.Open, Status: h.Status}, deflate, nil
	case h.Status == 200:
		return transport.Signal{Kind: transport.Refused, Cause: transport.BadMediaType, Status: h.Status, Detail: "no-upgrade: the answer is a page, not a WebSocket" + mediaType(h.Header)}, deflate, nil
	case web.IsRedirect(h.Status):
		follow, s = web.Follow(h, from, redirects)
		return s, deflate, follow
	}
	return web.Final(h, named), deflate, nil
}

func mediaType(h transport.Header) string {
	essence, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return web.WellKnown(strings.ToLower(strings.Trim(essence, " \t")))
}

// agreed judges an upgrade. why is a fixed word for what is wrong with it: of the server's own text nothing is repeated.
func agreed(h transport.Header, o offered) (deflate Deflate, why string) {
	accept := h["Sec-Websocket-Accept"]
	switch {
	case !hasToken(h["Upgrade"], "websocket"):
		return deflate, "no Upgrade: websocket"
	case !hasToken(h["Connection"], "upgrade"):
		return deflate, "no Connection: Upgrade"
	case len(accept) != 1:
		return deflate, fmt.Sprintf("%d times Sec-WebSocket-Accept", len(accept))
	case strings.Trim(accept[0], " \t") != acceptFor(o.key):
		return deflate, "Sec-WebSocket-Accept does not answer our key"
	}
	if why := agreedSubprotocol(h["Sec-Websocket-Protocol"], o.subprotocols); why != "" {
		return deflate, why
	}
	return agreedExtensions(h["Sec-Websocket-Extensions"], o.deflate)
}

// agreedSubprotocol: a server that was asked for one must name one of those that it was asked for, and no other one.
func agreedSubprotocol(answer, asked []string) (why string) {
	switch {
	case len(answer) == 0 && len(asked) == 0:
		return ""
	case len(answer) == 0:
		return "no subprotocol agreed"
	case len(answer) > 1:
		return "more than one subprotocol"
	}
	for _, p := range asked {
		if p == strings.Trim(answer[0], " \t") {
			return ""
		}
	}
	return "a subprotocol that was not asked for"
}

// agreedExtensions: at most permessage-deflate, once, if it was offered, with parameters that an answer may have (RFC 7692 7.1).
// Our frames are never compressed, so that what it says about a client's window changes nothing.
func agreedExtensions(answer []string, offered bool) (d Deflate, why string) {
	list := strings.Trim(strings.Join(answer, ","), " \t")
	switch {
	case list == "":
		return d, ""
	case !offered:
		return d, "an extension that was not offered"
	case strings.Contains(list, ","):
		return d, "more than one extension"
	}
	name, parameters, more := strings.Cut(list, ";")
	if !strings.EqualFold(strings.Trim(name, " \t"), "permessage-deflate") {
		return d, "an extension that was not offered"
	}
	d = Deflate{On: true, Takeover: true}
	if !more {
		return d, ""
	}
	seen := map[string]bool{}
	for _, parameter := range strings.Split(parameters, ";") {
		name, value, has := strings.Cut(strings.Trim(parameter, " \t"), "=")
		name, value = strings.ToLower(strings.Trim(name, " \t")), strings.Trim(strings.Trim(value, " \t"), `"`)
		switch {
		case seen[name]:
			return Deflate{}, "a parameter of permessage-deflate twice"
		case name == "server_no_context_takeover" && !has:
			d.Takeover = false
		case name == "client_no_context_takeover" && !has:
		case name == "server_max_window_bits" && has && isWindow(value):
		default: // client_max_window_bits too, since it was not offered
			return Deflate{}, "a parameter of permessage-deflate that may not be there"
		}
		seen[name] = true
	}
	return d, ""
}

func isWindow(bits string) bool {
	switch bits {
	case "8", "9", "10", "11", "12", "13", "14", "15":
		return true
	}
	return false
}

// hasToken says whether a list header holds a token, whatever its case.
func hasToken(values []string, token string) bool {
	for _, value := range values {
		for part := range strings.SplitSeq(value, ",") {
			if strings.EqualFold(strings.Trim(part, " \t"), token) {
				return true
			}
		}
	}
	return false
}
