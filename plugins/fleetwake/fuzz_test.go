package fleetwake

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/transport"
)

func data(frame string) []byte {
	_, after, _ := strings.Cut(frame, "data: ")
	return []byte(strings.TrimSuffix(after, "\n\n"))
}

// FuzzState: no data panics, what is accepted obeys the null rules, and what is not vouches for nothing.
func FuzzState(f *testing.F) {
	f.Add(data(state))
	f.Add([]byte(`{"armed":false,"reason":null,"lastPushAt":1e3,"connectedIdentities":-1,"armedForViewer":false}`))
	f.Add([]byte("null"))
	f.Fuzz(func(t *testing.T, doc []byte) {
		st, why := decodeState(doc)
		switch {
		case why != "":
			if st.SubscriptionID != "" {
				t.Fatalf("dropped (%s), and vouches for %q", why, st.SubscriptionID)
			}
		case !json.Valid(doc):
			t.Fatal("accepted what is not JSON")
		case st.SubscriptionID != "" && (!st.ArmedForViewer || len(st.SubscriptionID) > MaxNameBytes || !utf8.ValidString(st.SubscriptionID)),
			st.LastPushAt < -1, st.LastPushAt > int64(event.MaxSeq), st.ConnectedIdentities < -1, !st.HasReason && st.Reason != "":
			t.Fatalf("accepted %+v", st)
		}
	})
}

// FuzzWake: no data panics, a dropped wake carries nothing, and one that counts is whole.
func FuzzWake(f *testing.F) {
	f.Add(data(wake7))
	f.Add([]byte(`{"subscriptionId":"s","envelope":{"schemaVersion":"2.0"}}`))
	f.Add([]byte(`{"subscriptionId":"s","envelope":{"schemaVersion":"1.0","eventType":"wake/digest","eventId":"e","agentIdentity":"a","subscriptionId":"s","payload":{"watermark":1e2},"emittedAt":""}}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		w, dropped, why := decodeWake(doc)
		switch {
		case (dropped == "") != (why == ""):
			t.Fatalf("dropped %q, why %q", dropped, why)
		case dropped != "":
			if w.SubscriptionID != "" || w.Envelope != nil || w.EventID != "" {
				t.Fatalf("dropped, and carries %+v", w)
			}
		case w.SubscriptionID == "" || w.EventID == "" || !json.Valid(w.Envelope) || w.LogID != event.NoSeq && !w.LogID.Valid():
			t.Fatalf("accepted %+v", w)
		}
	})
}

// FuzzPollAnswer: no answer panics, and nothing but a non-negative safe integer counts.
func FuzzPollAnswer(f *testing.F) {
	for _, seed := range []string{`{"pending":4,"watermark":9}`, `{"counts":{"pending":4},"watermark":1e1}`, `{}`, `null`, `{"pending":-1,"watermark":1e400}`, `{"counts":7,"pending":2}`} {
		f.Add([]byte(seed), "s")
	}
	f.Fuzz(func(t *testing.T, doc []byte, id string) {
		a, why := DecodePollAnswer(doc, id)
		if a.Pending < -1 || a.Pending > int64(event.MaxSeq) || a.Watermark != event.NoSeq && !a.Watermark.Valid() {
			t.Fatalf("accepted %+v", a)
		}
		if why != "" && (a.Pending != -1 || a.Watermark != event.NoSeq) {
			t.Fatalf("failed (%s), and counts %+v", why, a)
		}
	})
}

// FuzzMachine: whatever a server sends, however it is cut, the machine says the same but for signs of life, nothing after a final
// signal, makes one poll at most, and never lowers its mark.
func FuzzMachine(f *testing.F) {
	f.Add([]byte(hello+state+beat+wake7), uint8(3))
	f.Add([]byte("event: wake\ndata: {}\n\nevent:state\rdata:null\r\r"), uint8(1))
	told := func(all []byte, step int) string {
		m := opened(map[string]string{OptionPoll: PollMCP})
		var lines []string
		mark, polls, final := m.mark, 0, false
		for len(all) > 0 {
			n := min(step, len(all))
			m.Bytes(all[:n])
			all = all[n:]
			for o, ok := m.Take(); ok; o, ok = m.Take() {
				if final {
					panic("something follows a final signal")
				}
				final = o.Signal.Kind.Final()
				if o.Signal.Kind != transport.Heartbeat {
					lines = append(lines, render(o))
				}
			}
			if m.mark < mark {
				panic("the mark was lowered")
			}
			mark = m.mark
			if _, due := m.PollDue(); due {
				polls++
			}
		}
		if polls > 1 {
			panic("more than one poll")
		}
		return strings.Join(lines, "\n")
	}
	f.Fuzz(func(t *testing.T, all []byte, step uint8) {
		if len(all) > 1<<16 {
			return
		}
		whole := told(all, len(all)+1)
		if cut := told(all, int(step)+1); cut != whole {
			t.Fatalf("cut:\n%s\nwhole:\n%s", cut, whole)
		}
	})
}
