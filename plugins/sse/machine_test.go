package sse

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/core/transport/envelope"
	"github.com/conform-dev/conform/core/transport/web"
)

// feed is what an open machine makes of a body, whole.
func feed(options map[string]string, body string) string {
	m := openMachine(options)
	m.Bytes([]byte(body))
	return take(m)
}

func TestBodies(t *testing.T) {
	delta := func(n int) string { return fmt.Sprintf(`{"type":"delta","sequence":%d}`, n) }
	for _, c := range []struct {
		name    string
		options map[string]string
		body    string
		want    string
	}{
		{"P-SSE-05: a payload broken by repair is reported once, and the stream is over", nil,
			"id: 7\ndata: \xffok\n\nid: 8\ndata: " + delta(8) + "\n\n",
			"gap transport-gap (undecodable-payload: not JSON, event at byte 0)"},
		{"P-SSE-07: an id with NUL is no id, the event names no position of its own", nil,
			"id: 7\ndata: " + delta(1) + "\n\nid: 8\x00x\ndata: " + delta(2) + "\n\n",
			"document cursor=7 " + delta(1) + "\ndocument " + delta(2)},
		{"P-SSE-08: an empty id takes the position back, before the event that carries it", nil,
			"id: 7\ndata: " + delta(1) + "\n\nid\ndata: " + delta(2) + "\n\n",
			"document cursor=7 " + delta(1) + "\nmark cursor=\ndocument " + delta(2)},
		{"P-SSE-09: an id without data is a mark, no event", nil,
			"id: 8\ndata: " + delta(8) + "\n\nid: 9\n\n",
			"document cursor=8 " + delta(8) + "\nmark cursor=9"},
		{"P-SSE-13: the name of a block without data does not leak", nil,
			"event: gap\n\ndata: " + delta(1) + "\n\n", "document " + delta(1)},
		{"P-SSE-14 and P-SSE-15: one error, and the tail is never delivered", map[string]string{"maxEventBytes": "64"},
			":hb\n\nid: 5\ndata: " + strings.Repeat("a", 60) + "\ndata: tail\n\nid: 6\ndata: {}\n\n",
			"heartbeat\ngap transport-gap (frame-too-large: limit 64, event at byte 5)"},
		{"P-GATE-13: control frames are no events and move nothing", nil,
			"id: 11\ndata: {\"type\":\"heartbeat\",\"seq\":11}\n\nid: 12\ndata: {\"type\":\"bookmark\",\"seq\":null}\n\ndata: " + delta(11) + "\n\n",
			"heartbeat\nheartbeat\ndocument " + delta(11)},
		{"P-GATE-13: but an empty id on one takes the position back", nil,
			"id\ndata: {\"type\":\"heartbeat\"}\n\n", "mark cursor=\nheartbeat"},
		{"P-GATE-14: a gap notice ends the stream even if the next number is contiguous", nil,
			"data: " + delta(11) + "\n\nevent: gap\ndata: {\"missed\":3}\n\ndata: " + delta(12) + "\n\n",
			"document " + delta(11) + "\ngap transport-gap (gap-notice)"},
		{"a gap notice without payload", nil, "event: gap\ndata:\n\n", "gap transport-gap (gap-notice)"},
		{"a gap notice whose payload is text", nil, "event: gap\ndata: sorry\n\n", "gap transport-gap (gap-notice)"},
		{"a gap notice by type", nil, "data: {\"type\":\"gap\"}\n\n", "gap transport-gap (gap-notice)"},
		{"the JSON decides, not the name", nil, "event: gap\ndata: " + delta(1) + "\n\n", "document " + delta(1)},
		{"data without payload is a sign of life", nil, "event: ping\ndata:\n\ndata:  \n\n", "heartbeat\nheartbeat"},
		{"data without payload but with an id is a mark", nil, "id: 3\ndata:\n\n", "mark cursor=3"},
		{"no type", nil, "data: {\"sequence\":1}\n\n", "gap transport-gap (undecodable-payload: no string type, event at byte 0)"},
		{"no object", nil, ":hb\n\ndata: [1]\n\n", "heartbeat\ngap transport-gap (undecodable-payload: not an object, event at byte 5)"},
		{"a document is cut over several lines", nil, "data: {\"type\":\r\ndata: \"delta\"}\r\n\r\n", "document {\"type\":\n\"delta\"}"},
		{"wrapped", nil, "id: 1\ndata: {\"event\":" + delta(1) + "}\n\n", "document cursor=1 " + delta(1)},
		{"retry and its event", nil, "retry: 1500\ndata: " + delta(1) + "\n\n", "retry 1.5s\ndocument " + delta(1)},
		{"idIs=eventId", map[string]string{"idIs": "eventId"},
			"id: 1\ndata: " + delta(1) + "\n\ndata: " + delta(2) + "\n\nid: 3\n\nid\ndata: " + delta(4) + "\n\n",
			"document id=1 " + delta(1) + "\ndocument " + delta(2) + "\nheartbeat\ndocument " + delta(4)},
		{"idIs=none", map[string]string{"idIs": "none"},
			"id: 1\ndata: " + delta(1) + "\n\nid: 2\n\nid\n\n", "document " + delta(1) + "\nheartbeat\nheartbeat"},
		{"an id too long for a position", nil, "id: " + strings.Repeat("1", web.MaxPositionBytes+1) + "\ndata: " + delta(1) + "\n\n",
			"gap transport-gap (frame-too-large: limit 65536 of an id, event at byte 0)"},
		{"numbers of the connected frame are exact", nil,
			`data: {"type":"status","status":"connected","headSequence":4.1e1}` + "\n\n" +
				`data: {"type":"status","status":"connected","headSequence":9007199254740993,"resumed":"yes","streamEpoch":7}` + "\n\n" +
				`data: {"type":"status","status":"connected","headSequence":-0,"resumed":true,"resumeRejected":"made-up","closingSoon":true}` + "\n\n",
			"answered epoch= head=41 resumed=unsaid\nanswered epoch= head=-1 resumed=unsaid\nanswered epoch= head=0 resumed=yes closing-soon"},
		{"a stream epoch that is too long", nil,
			`data: {"type":"status","status":"connected","streamEpoch":"` + strings.Repeat("v", envelope.MaxEpochBytes+1) + `"}` + "\n\n",
			"refused protocol-error (stream-epoch-too-long: limit 1024)"},
		{"an error frame is rebuilt", nil,
			`data: {"type":"error","error":{"message":"secret"},"code":"secret","retryAfterMs":1e300,"detail":"secret"}` + "\n\n",
			"gap transport-gap (error-frame) retry-after=2500000h0m0s"},
		{"an error frame's bad delay is none", nil, `data: {"type":"error","retryAfterMs":-5}` + "\n\n", "gap transport-gap (error-frame)"},
		{"terminal wins over the code", nil, `data: {"type":"error","terminal":true,"code":"cursor-expired"}` + "\n\n", "refused protocol-error (terminal-error-frame)"},
		{"terminal must be a boolean", nil, `data: {"type":"error","terminal":"true","code":"cursor-expired"}` + "\n\n", "expired cursor-expired (error-frame)"},
		{"nothing", nil, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := feed(c.options, c.body); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// D-36: a complete line is a sign of life, a byte is not; and one that came with something else needs no word of its own.
func TestLinesAreSignsOfLife(t *testing.T) {
	m := openMachine(nil)
	for _, step := range []struct{ bytes, want string }{
		{"id: 1", ""},
		{"\n", "heartbeat"},
		{"data: {\"type\":", ""},
		{"\"delta\"}\n", "heartbeat"},
		{"\n", `document cursor=1 {"type":"delta"}`},
		{"\r", "heartbeat"}, // an empty line is one too
		{"\n", ""},          // its second half
		{":hb\n:hb\n", "heartbeat\nheartbeat"},
		{"data: {\"type\":\"delta\"}\n\nid: 2\n", `document {"type":"delta"}`},
	} {
		m.Bytes([]byte(step.bytes))
		if got := take(m); got != step.want {
			t.Fatalf("after %q: got %q, want %q", step.bytes, got, step.want)
		}
	}
}

func TestEnds(t *testing.T) {
	for _, c := range []struct {
		body string
		err  error
		want string
	}{
		{"", nil, "ended connection-lost (end-of-stream)"},
		{"data: {\"type\":\"delta\"}\n\n", nil, "ended connection-lost (end-of-stream)"},
		{"id: 2\ndata: {\"type\":\"delta\"}\n", nil, "ended connection-lost (end-of-stream, 29 bytes of an unfinished event dropped)"},
		{"", io.ErrUnexpectedEOF, "ended connection-lost (abnormal-end)"},
		{"", errSomething, "ended connection-lost (abnormal-end)"},
		{"", fmt.Errorf("wrapped: %w", web.Broken("connection-reset")), "ended connection-lost (connection-reset)"},
	} {
		m := openMachine(nil)
		m.Bytes([]byte(c.body))
		take(m)
		m.End(c.err)
		if got := take(m); got != c.want {
			t.Errorf("%q, %v: got %q, want %q", c.body, c.err, got, c.want)
		}
		m.End(nil)
		m.Bytes([]byte("data: {\"type\":\"delta\"}\n\n"))
		if got := take(m); got != "" {
			t.Errorf("after the end: %q", got)
		}
	}
	m := NewMachine()
	m.Start(wireAttempt(nil))
	take(m)
	m.End(nil)
	if got := take(m); got != "ended connection-lost (ended-before-answer)" {
		t.Errorf("before the answer: %q", got)
	}
}

// A machine whose driver forgets to take, or calls out of turn, neither panics nor talks out of turn.
func TestOutOfTurn(t *testing.T) {
	m := NewMachine()
	m.Bytes([]byte("data: x\n\n"))
	m.Head(transport.Head{Status: 200})
	m.End(nil)
	if got := take(m); got != "" {
		t.Errorf("before Start: %q", got)
	}
	m.Start(wireAttempt(nil))
	m.Head(transport.Head{Status: 404}) // the request was not taken yet
	m.Bytes([]byte("data: x\n\n"))
	m.End(nil)
	if got := take(m); got != "ended connection-lost (ended-before-answer)" {
		t.Errorf("ended before the request was taken: %q", got)
	}
	m.Start(wireAttempt(nil))
	if got := take(m); !strings.HasPrefix(got, "GET ") {
		t.Errorf("started anew: %q", got)
	}
}

func TestAttemptsThatAreNotMade(t *testing.T) {
	const secret = "s3cr3t-canary"
	for _, c := range []struct {
		name   string
		change func(*transport.Attempt)
		want   string // what the one signal says; Check agrees, unless it is a gap
	}{
		{"unknown option", func(a *transport.Attempt) { a.Options["maxBytes"] = "1" }, `option "maxBytes"="1": unknown; known are: maxEventBytes, resumeBy, parameterName, idIs`},
		{"above the ceiling", func(a *transport.Attempt) { a.Options["maxEventBytes"] = "67108865" }, `option "maxEventBytes"="67108865": is above the ceiling of 67108864`},
		{"no such word", func(a *transport.Attempt) { a.Options["idIs"] = "id" }, `option "idIs"="id": must be one of cursor, eventId, none`},
		{"parameter of the query", func(a *transport.Attempt) { a.Options["parameterName"] = "where" }, "option \"parameterName\"=\"where\": must be"},
		{"parameter with a space", func(a *transport.Attempt) { a.Options["parameterName"] = "a b" }, "option \"parameterName\"=\"a b\": must be"},
		{"no source", func(a *transport.Attempt) { a.Query.SourceID = "" }, "sourceId is required"},
		{"relative", func(a *transport.Attempt) { a.Endpoint = "/stream" }, "must be an absolute http or https URL"},
		{"other scheme", func(a *transport.Attempt) { a.Endpoint = "ws://host/" }, "must be an absolute http or https URL"},
		{"no host", func(a *transport.Attempt) { a.Endpoint = "http:///x" }, "endpoint: has no host"},
		{"no URL", func(a *transport.Attempt) { a.Endpoint = "http://" + secret + "\x00/" }, "endpoint: not a URL"},
		{"userinfo", func(a *transport.Attempt) { a.Endpoint = "http://u:" + secret + "@host/" }, "must not hold user or password"},
		{"header name", func(a *transport.Attempt) { a.Credential.Header = "X Y" }, "its header is no header name"},
		{"no header name", func(a *transport.Attempt) { a.Credential.Header = "" }, "its header is no header name"},
		{"reserved header", func(a *transport.Attempt) { a.Credential.Header = "last-event-id" }, "header Last-Event-Id names a position"},
		{"line end in the value", func(a *transport.Attempt) { a.Credential.Value = secret + "\r\nX: y" }, "its value holds a byte"},
		{"empty value", func(a *transport.Attempt) { a.Credential.Value = "" }, "its value is empty"},
		{"cursor with a line end", func(a *transport.Attempt) { a.Resume.Cursor = "a\nb" }, "gap resume-unsupported (position-unsendable)"},
		{"cursor with white space around", func(a *transport.Attempt) { a.Resume.Cursor = " 7" }, "gap resume-unsupported (position-unsendable)"},
		{"cursor too long", func(a *transport.Attempt) { a.Resume.Cursor = strings.Repeat("c", web.MaxPositionBytes+1) }, "gap resume-unsupported (position-unsendable)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := wireAttempt([]string{"resume"})
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

func TestRequests(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*transport.Attempt)
		want   string
	}{
		{"the endpoint's own query stays, its positions and our names go", func(a *transport.Attempt) {
			a.Endpoint = "http://h/s?tenant=a%20b&cursor=old&sequence=3&sourceId=x&flag#part"
		}, "GET http://h/s?tenant=a%20b&flag&sourceId=incidents&mode=snapshot-then-delta"},
		{"only the cursor is named, by parameter", func(a *transport.Attempt) {
			a.Options["resumeBy"], a.Options["parameterName"] = "parameter", "since"
			a.Endpoint = "http://h/s?since=9"
			a.Resume = event.Position{Seq: 41, Cursor: "c 41", Watermark: "w", DeltaToken: "t"}
		}, "GET http://h/s?sourceId=incidents&mode=snapshot-then-delta&since=c+41\nAccept: text/event-stream\nAccept-Encoding: identity\nCache-Control: no-store"},
		{"a cursor with a line end can be a parameter", func(a *transport.Attempt) {
			a.Options["resumeBy"], a.Resume.Cursor = "parameter", "a\nb"
		}, "&cursor=a%0Ab\n"},
		{"P-SSE-08: no id, no header", func(a *transport.Attempt) { a.Resume = event.Position{Seq: 41} }, "Cache-Control: no-store"},
		{"an id that is not ASCII goes out as UTF-8", func(a *transport.Attempt) { a.Resume.Cursor = "é" }, "\nLast-Event-ID: é"},
		{"credential", func(a *transport.Attempt) {
			a.Credential = transport.Credential{Header: "x-api-KEY", Value: "abc"}
		}, "\nX-Api-Key: abc"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := wireAttempt(nil)
			c.change(&a)
			m := NewMachine()
			m.Start(a)
			if got := take(m); !strings.Contains(got, c.want) || strings.HasPrefix(c.want, "Cache") && !strings.HasSuffix(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"5": 5 * time.Second, " 5 ": 5 * time.Second, "0": 0, "": 0, "-5": 0, "5.5": 0, "soon": 0,
		"99999999999999999999":           transport.MaxDelayMs * time.Millisecond,
		"Sun, 01 Mar 2026 12:01:30 GMT":  90 * time.Second,
		"Sunday, 01-Mar-26 12:01:30 GMT": 90 * time.Second,
		"Sun Mar  1 12:01:30 2026":       90 * time.Second,
		"Sun, 01 Mar 2026 11:00:00 GMT":  0,
	} {
		h := transport.Head{Status: 429, Header: transport.Header{"Retry-After": {value}}, Wall: at.UnixMilli()}
		if got := web.RetryAfter(h); got != want {
			t.Errorf("%q: got %v, want %v", value, got, want)
		}
	}
}
