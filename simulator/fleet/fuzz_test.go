package fleet

import (
	"encoding/json"
	"strings"
	"testing"
)

// FuzzIntake: whatever is posted, only a signed envelope of the route is handed over, and what is written to the stream is one frame
// whose data is JSON that says the same.
func FuzzIntake(f *testing.F) {
	f.Add([]byte(vectorBody), "WAKE_SUB:relay", "EVT:1", "1.0", true)
	f.Add([]byte("{"), "WAKE_SUB:relay", "EVT:1", "1.0", true)
	f.Add([]byte("null"), "WAKE_SUB:relay", "", "", true)
	f.Add([]byte(strings.Replace(vectorBody, `"payload":{"totalEvents":1}`, `"payload":{"9":[1e999,-0,"\ud800"],"1":{}}`, 1)), "WAKE_SUB:relay", "EVT:1", "1.0", true)
	f.Add([]byte(vectorBody), "x", "EVT:1", "2.0", false)
	f.Fuzz(func(t *testing.T, body []byte, id, eventID, schema string, sign bool) {
		r := intakeRig(t, options())
		stream := r.open("OWN-CCC")
		r.clear(stream)
		signature := strings.Repeat("0", 64)
		if sign {
			signature = Sign(vectorKey, body)
		}
		c := r.ask("POST", WakePath, string(body), headerSubscription, id, headerEvent, eventID, headerSchema, schema, headerSignature, signature)
		got := r.body[stream].String()
		if r.head[c] == nil {
			if len(body) <= DefaultWakeBody {
				t.Fatal("no answer")
			}
			return
		}
		if r.head[c].Status != 200 {
			if got != "" {
				t.Fatalf("refused, and handed over %q", got)
			}
			return
		}
		if !sign || id != "WAKE_SUB:relay" || schema != "1.0" {
			t.Fatalf("accepted %q", body)
		}
		data, ok := strings.CutPrefix(got, "event: wake\ndata: ")
		if data, ok = strings.CutSuffix(data, "\n\n"); !ok || strings.ContainsAny(data, "\r\n") {
			t.Fatalf("no frame: %q", got)
		}
		var frame struct {
			Envelope struct{ EventID, AgentIdentity, SubscriptionID string }
		}
		if err := json.Unmarshal([]byte(data), &frame); err != nil || frame.Envelope.AgentIdentity != "@viewer" || frame.Envelope.SubscriptionID != id {
			t.Fatalf("%v: %s", err, data)
		}
	})
}

// FuzzRequest: no request makes the server panic, and none but those of the table opens a stream.
func FuzzRequest(f *testing.F) {
	f.Add("GET", EventsPath, "localhost", "Bearer OWN-CCC", "", []byte(nil))
	f.Add("POST", PollPath, "localhost:1", "Bearer MCP-AAA", "", []byte(`{"subscriptionId":"WAKE_SUB:relay"}`))
	f.Add("GET", "/FLEET/EVENTS?", "[::1]", "bearer TUPLE-CCC x", "http://a", []byte("x"))
	f.Fuzz(func(t *testing.T, method, target, host, authorization, origin string, body []byte) {
		r := newRig(t, options())
		c := r.ask(method, target, string(body), "Host", host, "Authorization", authorization, "Origin", origin)
		if r.head[c] == nil && method == "HEAD" && r.closed[c] == "" {
			return // a stream without bytes
		}
		if r.head[c] == nil {
			t.Fatal("no answer")
		}
		if r.live(c) && (method != "GET" || !strings.Contains(authorization, "-CCC") && !strings.Contains(authorization, "OWN-2") || origin != "") {
			t.Fatalf("opened by %q %q %q", method, authorization, origin)
		}
		if !r.live(c) && r.closed[c] != "eof" {
			t.Fatalf("ended by %q", r.closed[c])
		}
	})
}
