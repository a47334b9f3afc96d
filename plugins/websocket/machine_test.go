package websocket

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/core/transport/web"
)

const delta = `{"type":"delta","sequence":1}`

func TestMessages(t *testing.T) {
	long := strings.Repeat("x", 2000)
	for _, c := range []struct {
		name  string
		words []string
		sent  []byte
		want  string
	}{
		{"a document", nil, text(delta), "document " + delta},
		{"two in one read", nil, append(text(delta), text(`{"kind":"upsert"}`)...), "document " + delta + "\ndocument {\"type\":\"upsert\"}"},
		{"no payload", nil, text(" \n"), "heartbeat"},
		{"nothing at all", nil, text(""), "heartbeat"},
		{"a heartbeat", nil, text(`{"type":"heartbeat"}`), "heartbeat"},
		{"an unknown type", nil, text(`{"type":"bookmark"}`), "heartbeat"},
		{"P-WS-01: a ping is answered with its payload", nil, appendServerFrame(nil, 0x89, []byte("hi")), "send pong \"hi\"\nheartbeat"},
		{"a pong that nobody asked for", nil, appendServerFrame(nil, 0x8A, []byte("7")), "heartbeat"},
		{"a fragment", nil, appendServerFrame(nil, 0x01, []byte("{")), "heartbeat"},
		{"half a frame is no sign of life", nil, text(delta)[:5], ""},
		{"P-WS-12: a session that is not resumable clears its position", []string{"resume"}, text(`{"type":"error","terminal":false,"code":"cursor-expired"}`), "send close 1000\nexpired cursor-expired (error-frame)"},
		{"an error frame", nil, text(`{"type":"error","code":"canary"}`), "send close 1000\ngap transport-gap (error-frame)"},
		{"a gap notice", nil, text(`{"type":"gap","missed":3}`), "send close 1000\ngap transport-gap (gap-notice)"},
		{"authorization ended", nil, text(`{"type":"status","code":"authorization-ended"}`), "send close 1000\nrefused unauthorized (authorization-ended)"},
		{"P-WS-11: a planned hand-over is told and the connection stays", nil, append(text(`{"type":"status","status":"reconnecting","reason":"closing-soon","closingSoon":true}`), text(delta)...), "answered closing-soon\ndocument " + delta},
		{"no JSON", nil, append(text(delta), text("hello")...), "document " + delta + "\nsend close 1007\ngap transport-gap (undecodable-payload: not JSON, message at byte 31)"},
		{"no type", nil, text("{}"), "send close 1007\ngap transport-gap (undecodable-payload: no string type, message at byte 0)"},
		{"P-WS-13: binary where text is declared", nil, append(appendServerFrame(nil, 0x82, []byte(delta)), text(delta)...), "send close 1003\ngap transport-gap (undecodable-payload: a binary message where text is declared, message at byte 0)"},
		{"text where binary is declared", []string{"payload=binary"}, text(delta), "send close 1003\ngap transport-gap (undecodable-payload: a text message where binary is declared, message at byte 0)"},
		{"binary where it is declared", []string{"payload=binary"}, appendServerFrame(nil, 0x82, []byte(delta)), "document " + delta},
		{"binary that is no UTF-8", []string{"payload=binary"}, appendServerFrame(nil, 0x82, []byte("{\"type\":\"\xff\"}")), "send close 1007\ngap transport-gap (undecodable-payload: not UTF-8, message at byte 0)"},
		{"P-WS-03", nil, text("{\"n\":\"\xed\xa0\x80\"}"), "send close 1007\nended protocol-error (protocol-violation: invalid-utf8, frame 1 at byte 8)"},
		{"P-WS-04", nil, append([]byte{0x80, 1, 'x'}, text(delta)...), "send close 1002\nended protocol-error (protocol-violation: continuation-without-start, frame 1 at byte 0)"},
		{"P-WS-08: above the read limit", []string{"maxMessageBytes=1024"}, append(text(delta), text(long)...), "document " + delta + "\nsend close 1009\ngap transport-gap (message-too-large: limit 1024, message at byte 31)"},
		{"compressed", []string{"compression=deflate"}, appendServerFrame(nil, 0xC1, (&deflater{}).message([]byte(delta))), "document " + delta},
		{"compressed and above the limit", []string{"compression=deflate", "maxMessageBytes=1024"}, appendServerFrame(nil, 0xC1, (&deflater{}).message([]byte(long))), "send close 1009\ngap transport-gap (message-too-large: limit 1024, message at byte 0)"},
		{"nothing follows a close", nil, append(closing(1001), text(delta)...), "send close 1001\nended connection-lost (closed with 1001)"},
	} {
		m := openMachine(c.words...)
		m.Bytes(c.sent)
		if got := take(m); got != c.want {
			t.Errorf("%s:\ngot\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

// The subscribe message goes out when the connection is open, before anything else, and after that was told.
func TestSubscribe(t *testing.T) {
	m := NewMachine()
	m.Start(wireAttempt(`subscribe={"op":"subscribe","layer":7}`))
	o, _ := m.Take()
	m.Head(upgrade(o.Request))
	if got := take(m); got != "open\nsend text {\"op\":\"subscribe\",\"layer\":7}" {
		t.Error(got)
	}
}

// Leave takes leave with 1000, once, of a connection that is there.
func TestLeave(t *testing.T) {
	m := openMachine()
	m.Leave()
	if got := take(m); got != "send close 1000" {
		t.Errorf("open: %q", got)
	}
	m.Leave()
	m.Bytes(text(delta))
	m.Wake(1 << 60)
	m.End(nil)
	if got := take(m); got != "" {
		t.Errorf("after that: %q", got)
	}
	m.Start(wireAttempt())
	take(m)
	m.Leave()
	if got := take(m); got != "" {
		t.Errorf("before the answer: %q", got)
	}
	m = openMachine()
	m.Bytes(closing(1000))
	take(m)
	m.Leave()
	if got := take(m); got != "" {
		t.Errorf("after a close: %q", got)
	}
}

func TestEnds(t *testing.T) {
	for _, c := range []struct {
		sent []byte
		err  error
		want string
	}{
		{nil, nil, "ended connection-lost (ended-without-close-frame)"},
		{text(delta)[:9], nil, "ended connection-lost (ended-without-close-frame, 9 bytes of an unfinished message dropped)"},
		{append(appendServerFrame(nil, 0x01, []byte("{")), 0x89, 0), nil, "ended connection-lost (ended-without-close-frame, 5 bytes of an unfinished message dropped)"},
		{[]byte{0x81}, nil, "ended connection-lost (ended-without-close-frame, 1 bytes of an unfinished message dropped)"},
		{nil, io.ErrUnexpectedEOF, "ended connection-lost (abnormal-end)"},
		{nil, errSomething, "ended connection-lost (abnormal-end)"},
		{nil, fmt.Errorf("wrapped: %w", web.Broken("connection-reset")), "ended connection-lost (connection-reset)"},
		{nil, web.Futile{Cause: transport.Rejected, Word: "certificate-not-trusted"}, "refused rejected (certificate-not-trusted)"},
	} {
		m := openMachine()
		m.Bytes(c.sent)
		take(m)
		m.End(c.err)
		if got := take(m); got != c.want {
			t.Errorf("%q, %v: got %q, want %q", c.sent, c.err, got, c.want)
		}
		m.End(nil)
		m.Bytes(text(delta))
		if got := take(m); got != "" {
			t.Errorf("after the end: %q", got)
		}
	}
	m := NewMachine()
	m.Start(wireAttempt())
	take(m)
	m.End(nil)
	if got := take(m); got != "ended connection-lost (ended-before-answer)" {
		t.Errorf("before the answer: %q", got)
	}
}

// A machine whose driver calls out of turn neither panics nor talks out of turn.
func TestOutOfTurn(t *testing.T) {
	m := NewMachine()
	m.Bytes(text(delta))
	m.Head(transport.Head{Status: 101})
	m.Wake(1 << 50)
	m.Leave()
	m.End(nil)
	if got := take(m); got != "" {
		t.Errorf("before Start: %q", got)
	}
	if _, ok := m.Deadline(); ok {
		t.Error("waits for time before Start")
	}
	m.Start(wireAttempt())
	m.Head(transport.Head{Status: 404}) // the request was not taken yet
	m.Bytes(text(delta))
	m.End(nil)
	if got := take(m); got != "ended connection-lost (ended-before-answer)" {
		t.Errorf("ended before the request was taken: %q", got)
	}
}

func TestAttemptsThatAreNotMade(t *testing.T) {
	const secret = "s3cr3t-canary"
	option := func(name, value string) func(*transport.Attempt) {
		return func(a *transport.Attempt) { a.Options[name] = value }
	}
	for _, c := range []struct {
		name   string
		change func(*transport.Attempt)
		want   string // what the one signal says; Check agrees, unless it is a gap
	}{
		{"unknown option", option("maxBytes", "1"), `option "maxBytes"="1": unknown; known are: maxMessageBytes, payload`},
		{"above the ceiling", option("maxMessageBytes", "67108865"), `option "maxMessageBytes"="67108865": is above the ceiling of 67108864`},
		{"pings above the ceiling", option("pingEveryMs", "3600001"), `option "pingEveryMs"="3600001": is above the ceiling of 3600000`},
		{"no pings", option("pingEveryMs", "0"), `option "pingEveryMs"="0": must be an integer from 1`},
		{"no such word", option("payload", "xml"), `option "payload"="xml": must be one of text, binary`},
		{"no such compression", option("compression", "gzip"), `must be one of off, deflate`},
		{"parameter of the query", option("parameterName", "where"), "option \"parameterName\"=\"where\": must be"},
		{"subprotocol with a space", option("subprotocol", "a b"), `option "subprotocol"="a b": must be 1 to 16 different names`},
		{"the same subprotocol twice", option("subprotocol", "a,a"), "must be 1 to 16 different names"},
		{"too many subprotocols", option("subprotocol", "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q"), "must be 1 to 16 different names"},
		{"subscribe is no JSON", option("subscribe", secret), `option "subscribe": is not JSON`},
		{"subscribe is no UTF-8", option("subscribe", "\"\xff\""), `option "subscribe": is not JSON`},
		{"subscribe is too long", option("subscribe", `"`+strings.Repeat("x", MaxSubscribeBytes-1)+`"`), `option "subscribe": has 65537 bytes, the limit is 65536`},
		{"close codes", option("closeCodes", "1000=reconnect"), `option "closeCodes"="1000=reconnect": must be at most 64 of CODE=ACTION`},
		{"no source", func(a *transport.Attempt) { a.Query.SourceID = "" }, "sourceId is required"},
		{"relative", func(a *transport.Attempt) { a.Endpoint = "/ws" }, "must be an absolute ws, wss, http or https URL"},
		{"userinfo", func(a *transport.Attempt) { a.Endpoint = "wss://u:" + secret + "@host/" }, "must not hold user or password"},
		{"reserved credential", func(a *transport.Attempt) { a.Credential.Header = "sec-websocket-key" }, "header Sec-Websocket-Key belongs to the connection"},
		{"reserved header", func(a *transport.Attempt) {
			a.Headers = []transport.ExtraHeader{{Name: "Sec-WebSocket-Protocol", Value: secret}}
		}, "headers: Sec-Websocket-Protocol belongs to the connection"},
		{"cursor too long", func(a *transport.Attempt) { a.Resume.Cursor = strings.Repeat("c", web.MaxPositionBytes+1) }, "gap resume-unsupported (position-unsendable)"},
		{"no cursor", func(a *transport.Attempt) { a.Resume.Cursor = "" }, "gap resume-unsupported (position-unsendable)"},
		{"no sequence", func(a *transport.Attempt) {
			a.Options["resumeBy"], a.Resume = "sequence", event.Position{Seq: event.NoSeq, Cursor: "c"}
		}, "gap resume-unsupported (position-unsendable)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := wireAttempt("resume")
			a.Credential = transport.Credential{Header: "authorization", Value: "Bearer " + secret}
			c.change(&a)
			m := NewMachine()
			m.Start(a)
			got := take(m)
			if !strings.Contains(got, c.want) || strings.Contains(got, "\n") || strings.Contains(got, secret) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			isGap := strings.HasPrefix(c.want, "gap ")
			if err := Check(a); (err == nil) != isGap || err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("Check: %v", err)
			}
		})
	}
}

func TestRequestURLs(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*transport.Attempt)
		want   string
	}{
		{"ws is http", func(*transport.Attempt) {}, "http://127.0.0.1:8080/ws?sourceId=incidents&mode=snapshot-then-delta"},
		{"wss is https", func(a *transport.Attempt) { a.Endpoint = "wss://h/s" }, "https://h/s?sourceId=incidents&mode=snapshot-then-delta"},
		{"the endpoint's own query stays, its positions and our names go", func(a *transport.Attempt) {
			a.Endpoint = "http://h/s?tenant=a%20b&cursor=old&sequence=3&sourceId=x&flag#part"
		}, "http://h/s?tenant=a%20b&flag&sourceId=incidents&mode=snapshot-then-delta"},
		{"only the cursor is named", func(a *transport.Attempt) {
			a.Resume = event.Position{Seq: 41, Cursor: "c 41", Watermark: "w", DeltaToken: "t"}
		}, "http://127.0.0.1:8080/ws?sourceId=incidents&mode=snapshot-then-delta&cursor=c+41"},
		{"by another name", func(a *transport.Attempt) {
			a.Options["parameterName"], a.Resume.Cursor = "since", "a\nb"
			a.Endpoint = "http://h/s?since=9"
		}, "http://h/s?sourceId=incidents&mode=snapshot-then-delta&since=a%0Ab"},
		{"by sequence, 0 too", func(a *transport.Attempt) {
			a.Options["resumeBy"], a.Resume = "sequence", event.Position{Seq: 0, Cursor: "c"}
		}, "http://127.0.0.1:8080/ws?sourceId=incidents&mode=snapshot-then-delta&sequence=0"},
		{"by sequence, nothing held", func(a *transport.Attempt) { a.Options["resumeBy"] = "sequence" }, "http://127.0.0.1:8080/ws?sourceId=incidents&mode=snapshot-then-delta"},
	} {
		a := wireAttempt()
		c.change(&a)
		m := NewMachine()
		m.Start(a)
		if o, _ := m.Take(); o.Request == nil || o.Request.URL != c.want {
			t.Errorf("%s: got %s, want %s", c.name, render(o), c.want)
		}
	}
}
