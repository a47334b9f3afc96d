package fleet

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"
)

const vectorBody = `{"schemaVersion":"1.0","eventType":"wake/digest","eventId":"EVT:1","logId":7,"agentIdentity":"@viewer","subscriptionId":"WAKE_SUB:relay","payload":{"totalEvents":1},"emittedAt":"2026-08-14T08:00:00.000Z"}`

var vectorKey = strings.Repeat("a", 64)

// TestSignature is the vector of fleet facts 3.1, and what a signature is not made with.
func TestSignature(t *testing.T) {
	const want = "1a49ab154d896616a3fa210a99cde1cef98c9e279084571c6ab487d32b2da227"
	if len(vectorBody) != 204 {
		t.Fatal(len(vectorBody))
	}
	if got := Sign(vectorKey, []byte(vectorBody)); got != want {
		t.Error(got)
	}
	decoded, _ := hex.DecodeString(vectorKey)
	for _, c := range []struct {
		signature string
		good      bool
	}{
		{want, true}, {strings.ToUpper(want), true}, {want[:63] + "8", false}, {"sha256=" + want, false}, {want[:62], false}, {want + "00", false}, {"", false},
		{strings.Repeat("g", 64), false}, {Sign(string(decoded), []byte(vectorBody)), false},
	} {
		if got := signed(vectorKey, c.signature, []byte(vectorBody)); got != c.good {
			t.Errorf("%q: %v", c.signature, got)
		}
	}
}

// TestEventID is the vector of fleet facts 3.2.
func TestEventID(t *testing.T) {
	if got := EventID("WAKE_SUB:relay", []string{"MESSAGE:1", "MESSAGE:2"}); got != "wake-digest:995c7dcb4e38c42430cc2d0b225ad6e0691c0a0d7e0aa0c36733a4937f675dcf" {
		t.Error(got)
	}
}

// intakeRig has the route of the vector.
func intakeRig(t testing.TB, o Options) *rig {
	r := newRig(t, o)
	r.s.routes = []route{{"WAKE_SUB:relay", "@viewer", vectorKey}}
	return r
}

// wakeHead is the header of a wake that is in order; h replaces lines of it.
func wakeHead(body string, h ...string) []string {
	lines := map[string]string{headerSubscription: "WAKE_SUB:relay", headerEvent: "EVT:1", headerSchema: "1.0", headerSignature: Sign(vectorKey, []byte(body))}
	for i := 0; i+1 < len(h); i += 2 {
		lines[h[i]] = h[i+1]
	}
	var out []string
	for name, value := range lines {
		if value != "" {
			out = append(out, name, value)
		}
	}
	return out
}

// TestIntake is W1 to W11 and the ladder of fleet facts 3.3: the words, and which rung is first.
func TestIntake(t *testing.T) {
	with := func(old, new string) string { return strings.Replace(vectorBody, old, new, 1) }
	good := `{"ok":true,"state":"accepted"}`
	for _, c := range []struct {
		name   string
		body   string
		header []string
		want   string
	}{
		{"W1 unknown id", vectorBody, []string{headerSubscription, "WAKE_SUB:nobody"}, `404 {"error":"unknown-subscription"}`},
		{"W2 no id", vectorBody, []string{headerSubscription, ""}, `404 {"error":"unknown-subscription"}`},
		{"W1 before the body", vectorBody, []string{headerSubscription, "WAKE_SUB:nobody", "State", "large"}, `404 {"error":"unknown-subscription"}`},
		{"large", vectorBody, []string{"State", "large"}, "nothing, cut"},
		{"broken off", vectorBody, []string{"State", "broken"}, `400 {"error":"invalid-body"}`},
		{"W3 wrong signature", vectorBody, []string{headerSignature, strings.Repeat("0", 64)}, `401 {"error":"invalid-signature"}`},
		{"W3 no signature", vectorBody, []string{headerSignature, ""}, `401 {"error":"invalid-signature"}`},
		{"W3 before JSON", "{", []string{headerSignature, "x"}, `401 {"error":"invalid-signature"}`},
		{"W4 bound and signed", vectorBody, nil, "200 " + good},
		{"W4 upper-case hex", vectorBody, []string{headerSignature, strings.ToUpper(Sign(vectorKey, []byte(vectorBody)))}, "200 " + good},
		{"W5 one space more", with(`"logId":7`, `"logId": 7`), []string{headerSignature, Sign(vectorKey, []byte(vectorBody))}, `401 {"error":"invalid-signature"}`},
		{"W6 not JSON", "{", nil, `400 {"error":"invalid-json"}`},
		{"W6 empty", "", nil, `400 {"error":"invalid-json"}`},
		{"W6 two documents", vectorBody + "{}", nil, `400 {"error":"invalid-json"}`},
		{"W7 identity", with("@viewer", "@other"), nil, `409 {"error":"signed-route-mismatch"}`},
		{"W8 id", with("WAKE_SUB:relay", "WAKE_SUB:other"), nil, `409 {"error":"signed-route-mismatch"}`},
		{"W9 event type", with("wake/digest", "wake/other"), nil, `409 {"error":"signed-route-mismatch"}`},
		{"W10 schema version", with(`"schemaVersion":"1.0"`, `"schemaVersion":"1.1"`), nil, `409 {"error":"signed-route-mismatch"}`},
		{"W10 of the header", vectorBody, []string{headerSchema, "1.1"}, `409 {"error":"signed-route-mismatch"}`},
		{"W10 a number", with(`"schemaVersion":"1.0"`, `"schemaVersion":1.0`), nil, `409 {"error":"signed-route-mismatch"}`},
		{"W11 event id", vectorBody, []string{headerEvent, "EVT:2"}, `409 {"error":"signed-route-mismatch"}`},
		{"W11 no event id", vectorBody, []string{headerEvent, ""}, `409 {"error":"signed-route-mismatch"}`},
		{"null", "null", nil, `409 {"error":"signed-route-mismatch"}`},
		{"a list", "[]", nil, `409 {"error":"signed-route-mismatch"}`},
		{"the last of two members", with("{", `{"agentIdentity":"@other",`), nil, "200 " + good},
		{"the last of two members, other way", with("}", `},"agentIdentity":"@other"`), nil, `409 {"error":"signed-route-mismatch"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := intakeRig(t, options())
			stream := r.open("OWN-CCC")
			r.clear(stream)
			conn := r.ask("POST", WakePath, c.body, wakeHead(c.body, c.header...)...)
			r.want(conn, c.want)
			if handed := r.s.accepted == 1; handed != strings.HasPrefix(c.want, "200") || handed != strings.Contains(r.body[stream].String(), "event: wake") {
				t.Errorf("handed over %v, stream %s", handed, r.said(stream))
			}
		})
	}
}

// TestMountedFirst: neither host nor origin nor a bearer is looked at; the path's case does not matter, a slash does (P14, P15).
func TestMountedFirst(t *testing.T) {
	r := intakeRig(t, options())
	r.want(r.ask("POST", "/WAKE?x", vectorBody, wakeHead(vectorBody, "Host", "evil.test", "Origin", "http://evil.test")...), "200 "+accepted)
	r.want(r.ask("POST", WakePath, "", "Host", "evil.test"), `404 {"error":"unknown-subscription"}`)
	r.want(r.ask("POST", "/wake/", vectorBody, wakeHead(vectorBody)...), `401 {"error":"invalid_token","error_description":"Missing Authorization header"}`)
}

// TestHandOver is W12 and W4's hand-over: a lost one is absorbed, and the body arrives in the reference's own bytes.
func TestHandOver(t *testing.T) {
	r := intakeRig(t, options())
	stream := r.open("OWN-CCC")
	r.must(r.s.Fail(r.clock(), FailHandOver, 1))
	r.clear(stream)
	r.want(r.ask("POST", WakePath, vectorBody, wakeHead(vectorBody)...), "200 "+accepted)
	r.want(stream, "200 ")
	odd := " {\"schemaVersion\" : \"1.0\", \"eventType\":\"wake\\/digest\",\"eventId\":\"EVT:1\",\"logId\":7.0,\"agentIdentity\":\"@viewer\",\n\"subscriptionId\":\"WAKE_SUB:relay\"," +
		`"payload":{"z":1e3,"10":[-0,1e400,1e21,1e-7,0.1,{}],"2":null,"a":"\u00e9\u2028<>&\u0001\t","z":true}}`
	r.want(r.ask("POST", WakePath, odd, wakeHead(odd)...), "200 "+accepted)
	r.want(stream, "200 event: wake\ndata: {\"subscriptionId\":\"WAKE_SUB:relay\",\"envelope\":{\"schemaVersion\":\"1.0\",\"eventType\":\"wake/digest\",\"eventId\":\"EVT:1\",\"logId\":7,\"agentIdentity\":\"@viewer\",\"subscriptionId\":\"WAKE_SUB:relay\","+
		"\"payload\":{\"2\":null,\"10\":[0,null,1e+21,1e-7,0.1,{}],\"z\":true,\"a\":\"é\u2028<>&\\u0001\\t\"}}}\n\n")
}

// TestReplayed: nothing stops a captured request from being sent again (fleet facts 3.1).
func TestReplayed(t *testing.T) {
	r := intakeRig(t, options())
	stream := r.open("OWN-CCC")
	for range 2 {
		r.want(r.ask("POST", WakePath, vectorBody, wakeHead(vectorBody)...), "200 "+accepted)
	}
	if got := strings.Count(r.body[stream].String(), "event: wake"); got != 2 {
		t.Errorf("%d wakes", got)
	}
}

// TestWakeRate: 120 in a fixed window per subscription; all unknown ids share one, and neither touches the other.
func TestWakeRate(t *testing.T) {
	for _, limited := range []bool{false, true} {
		o := options()
		o.RetryAfter = limited
		r := intakeRig(t, o)
		for i := range 120 {
			r.want(r.ask("POST", WakePath, "", headerSubscription, fmt.Sprintf("WAKE_SUB:%d", i)), `404 {"error":"unknown-subscription"}`)
		}
		r.now = 59999 * time.Millisecond
		c := r.ask("POST", WakePath, "", headerSubscription, "WAKE_SUB:new")
		r.want(c, `429 {"error":"rate-limited"}`)
		if got := r.head[c].Header["Retry-After"]; limited != (got != nil) || limited && got[0] != "1" {
			t.Errorf("Retry-After %v", got)
		}
		for range 120 {
			r.want(r.ask("POST", WakePath, vectorBody, wakeHead(vectorBody)...), "200 "+accepted)
		}
		r.want(r.ask("POST", WakePath, vectorBody, wakeHead(vectorBody)...), `429 {"error":"rate-limited"}`)
		r.now = time.Minute
		r.want(r.ask("POST", WakePath, ""), `404 {"error":"unknown-subscription"}`)
		r.want(r.ask("POST", WakePath, vectorBody, wakeHead(vectorBody)...), `429 {"error":"rate-limited"}`)
	}
}

// TestBodyLimit: the bound itself passes, one byte more does not, whatever the driver said.
func TestBodyLimit(t *testing.T) {
	o := options()
	o.WakeBody = len(vectorBody) + 1
	r := intakeRig(t, o)
	if got := r.s.Limit("POST", "/wake?x"); got != o.WakeBody {
		t.Errorf("limit %d", got)
	}
	for n, want := range map[int]string{1: "200 " + accepted, 2: "nothing, cut"} {
		body := vectorBody + strings.Repeat(" ", n)
		r.want(r.ask("POST", WakePath, body, wakeHead(body)...), want)
	}
}
