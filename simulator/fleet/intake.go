package fleet

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/simulator"
)

// Headers of a signed wake (fleet facts 3.1), as net/http spells them.
const (
	headerSubscription = "X-Neo-Wake-Subscription-Id"
	headerEvent        = "X-Neo-Wake-Event-Id"
	headerSchema       = "X-Neo-Wake-Schema-Version"
	headerSignature    = "X-Neo-Wake-Signature"
)

// What an envelope must be.
const (
	schemaVersion = "1.0"
	eventType     = "wake/digest"
)

// The words of the intake.
const (
	accepted            = `{"ok":true,"state":"accepted"}`
	wakeRateLimited     = "rate-limited"
	wakeUnknown         = "unknown-subscription"
	wakeInvalidBody     = "invalid-body"
	wakeInvalidSig      = "invalid-signature"
	wakeInvalidJSON     = "invalid-json"
	wakeMismatch        = "signed-route-mismatch"
	unknownSubscription = "unknown-subscription" // the key that all unknown ids share
)

// Sign is the signature of a wake: HMAC-SHA256 over the exact bytes of the body, keyed with the text of the signing key, in hex.
func Sign(key string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

// signed checks a signature in constant time. What is no 64 hex digits is refused before anything is hashed.
func signed(key, signature string, body []byte) bool {
	if len(signature) != 2*sha256.Size {
		return false
	}
	given, err := hex.DecodeString(signature)
	if err != nil {
		return false
	}
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write(body)
	return hmac.Equal(given, mac.Sum(nil))
}

// intake is POST /wake: the ladder of fleet facts 3.3. The route is known before the body counts, and the body is not parsed before
// its signature is good.
func (s *Server) intake(c Conn, r *Request) {
	status, word, left := s.receive(r)
	s.asked(r, status, word, map[string]string{"path": WakePath})
	switch {
	case word == wakeInvalidBody && r.State == BodyLarge: // the reference destroys the request first, and its answer is never seen
		s.out = append(s.out, simulator.Output{Conn: c, Close: &simulator.Close{Kind: simulator.Cut}})
	case status == 200:
		s.answer(c, 200, accepted, nil, "")
	default:
		f := plain(status, word)
		if status == 429 {
			s.after(f, left)
		}
		s.answer(c, status, f.body, f.header, "")
	}
}

// receive climbs the ladder; what passes is handed over. left is how many milliseconds the window of the requests still lasts.
func (s *Server) receive(r *Request) (status int, word string, left int64) {
	id := first(r.Header, headerSubscription)
	at := slices.IndexFunc(s.routes, func(x route) bool { return x.id == id })
	key := id
	if at < 0 {
		key = unknownSubscription
	}
	ok, left := s.wakes.attempt(key, s.now.Mono.Milliseconds())
	if !ok {
		return 429, wakeRateLimited, left
	}
	if id == "" || at < 0 {
		return 404, wakeUnknown, left
	}
	status, word = s.judge(r, s.routes[at])
	return status, word, left
}

// judge climbs the rungs that a known route has.
func (s *Server) judge(r *Request, to route) (status int, word string) {
	switch {
	case r.State == BodyLarge || len(r.Body) > s.opt.WakeBody:
		r.State = BodyLarge
		return 413, wakeInvalidBody
	case r.State == BodyBroken:
		return 400, wakeInvalidBody
	case !signed(to.key, first(r.Header, headerSignature), r.Body):
		return 401, wakeInvalidSig
	}
	doc, ok := parse(r.Body)
	if !ok {
		return 400, wakeInvalidJSON
	}
	envelope, ok := doc.(*object)
	if !ok || !bound(envelope, r, to) {
		return 409, wakeMismatch
	}
	s.handOver(to, envelope)
	return 200, "accepted"
}

// bound says whether the envelope, the headers and the route speak of the same wake.
func bound(e *object, r *Request, to route) bool {
	for name, want := range map[string]string{
		"eventId": first(r.Header, headerEvent), "subscriptionId": to.id, "agentIdentity": to.identity,
		"eventType": eventType, "schemaVersion": schemaVersion,
	} {
		if got, is := e.text(name); !is || got != want {
			return false
		}
	}
	return first(r.Header, headerSchema) == schemaVersion
}

// handOver writes a wake to the streams of its identity. The time of the push is kept also when there is none.
func (s *Server) handOver(to route, envelope *object) {
	s.pushed = s.now.Wall
	s.accepted++
	id, _ := envelope.text("eventId")
	seq := event.NoSeq
	if n, ok := envelope.at["logId"].(float64); ok && n >= 0 && n <= MaxLogID && n == float64(int64(n)) {
		seq = event.Seq(n)
	}
	if s.fails(FailHandOver) { // absorbed: the sender sees an accepted wake
		s.record(trace.Record{Kind: trace.ServerFault, Seq: seq, ID: id, Detail: FailHandOver})
		return
	}
	data := string(appendValue(append([]byte(`{"subscriptionId":`), quoted(to.id)+`,"envelope":`...), envelope)) + "}"
	frame := s.frame("wake", data)
	for _, st := range s.all() {
		if st.identity == to.identity {
			s.put(st, sentWake, frame, seq, id)
		}
	}
}
