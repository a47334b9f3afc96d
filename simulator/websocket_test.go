package simulator

import (
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/trace"
)

// TestClientReaderChunks: what a client said does not depend on where the network cut it.
func TestClientReaderChunks(t *testing.T) {
	said := 0
	rapid.Check(t, func(t *rapid.T) {
		var all []byte
		for range rapid.IntRange(1, 8).Draw(t, "frames") {
			first := rapid.SampledFrom([]byte{0x81, 0x82, 0x01, 0x00, 0x80, 0x89, 0x8a, 0x88, 0xc1, 0x91, 0x83, 0x09}).Draw(t, "first")
			all = append(all, clientBytes(first, rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "payload"))...)
		}
		read := func(cut func(int) int) string {
			var r clientReader
			var out strings.Builder
			for rest := all; len(rest) > 0; {
				n := cut(len(rest))
				bad := r.feed(rest[:n], func(f clientFrame) bool {
					said++
					fmt.Fprintf(&out, "%d %x\n", f.opcode, f.payload)
					return f.opcode != opClose
				})
				if rest = rest[n:]; bad != nil {
					fmt.Fprintf(&out, "%d %s\n", bad.code, bad.what)
					break
				}
				if strings.Contains(out.String(), "\n8 ") || strings.HasPrefix(out.String(), "8 ") {
					break
				}
			}
			return out.String()
		}
		whole := read(func(n int) int { return n })
		if bytewise := read(func(int) int { return 1 }); bytewise != whole {
			t.Fatalf("whole\n%s\nbyte by byte\n%s", whole, bytewise)
		}
		if parts := read(func(n int) int { return min(n, rapid.IntRange(1, 9).Draw(t, "part")) }); parts != whole {
			t.Fatalf("whole\n%s\nin parts\n%s", whole, parts)
		}
	})
	if said == 0 {
		t.Error("no frame was whole")
	}
}

// FuzzClientReader: no bytes make it panic, hold more than its limits, or go on behind a violation.
func FuzzClientReader(f *testing.F) {
	f.Add([]byte{0x81, 0x85, 1, 2, 3, 4, 0, 0, 0, 0, 0}, true)
	f.Add(clientBytes(0xc1, []byte{0xab, 0x56, 0x2a, 0x4a, 0x55, 0xb2, 0xaa, 0x05, 0}), true)
	f.Add([]byte{0x82, 0xff, 0, 0, 0, 0, 0, 1, 0, 1}, false)
	f.Fuzz(func(t *testing.T, b []byte, deflate bool) {
		r := clientReader{deflate: deflate}
		r.feed(b, func(c clientFrame) bool {
			if len(c.payload) > MaxClientMessage || c.opcode >= 8 && len(c.payload) > 125 {
				t.Fatalf("opcode %d with %d bytes", c.opcode, len(c.payload))
			}
			return true
		})
	})
}

// TestClientLimits: what a client can make long or many is bounded.
func TestClientLimits(t *testing.T) {
	big := bytes.Repeat([]byte("x"), MaxClientMessage)
	var deflated bytes.Buffer
	w, _ := flate.NewWriter(&deflated, flate.BestCompression)
	_, _ = w.Write(append(big, 'x'))
	_ = w.Flush()
	for _, c := range []struct {
		name string
		say  [][]byte
		want string // the last frame of the server
	}{
		{"the largest message", [][]byte{clientBytes(0x81, big), clientBytes(0x89, nil)}, "pong "},
		{"one byte more", [][]byte{clientBytes(0x81, append(big, 'x'))}, "close 1009 frame larger than 65536 bytes"},
		{"in fragments", [][]byte{clientBytes(0x01, big), clientBytes(0x80, []byte("x"))}, "close 1009 message larger than 65536 bytes"},
		{"compressed", [][]byte{clientBytes(0xc1, bytes.TrimSuffix(deflated.Bytes(), deflateTail))}, "close 1009 message larger than 65536 bytes"},
		{"garbage for compressed", [][]byte{clientBytes(0xc1, []byte{0xff, 0xff})}, "close 1007 compressed message that cannot be decompressed"},
		{"as many frames as may be", [][]byte{bytes.Repeat(clientBytes(0x8a, nil), MaxClientFrames-1), clientBytes(0x89, nil)}, "pong "},
		{"one frame more", [][]byte{bytes.Repeat(clientBytes(0x8a, nil), MaxClientFrames+1)}, "close 1008 more than 100000 frames"},
	} {
		r := newRig(t, Options{Deflate: "each"})
		conn := r.dial("/ws", map[string]string{"Sec-Websocket-Extensions": "permessage-deflate"})
		for _, b := range c.say {
			r.say(conn, b)
		}
		frames, _ := readFrames(r.body[conn].Bytes())
		if got := frames[len(frames)-1].String(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestPongsAreBounded: a client that pings and does not read is owed one pong, and no more than the send queue holds is kept.
func TestPongsAreBounded(t *testing.T) {
	r := newRig(t, Options{QueueBytes: 1000})
	c := r.dial("/ws", nil)
	r.hold = true
	for range 1000 {
		r.say(c, clientBytes(0x89, bytes.Repeat([]byte("p"), 125)))
	}
	if got := r.sim.State().Connections[0].Waiting; got > 1000+127 {
		t.Errorf("%d bytes wait", got)
	}
	r.hold = false
	r.written(c)
	if frames, _ := readFrames(r.body[c].Bytes()); frames[len(frames)-1].opcode() != opPong {
		t.Errorf("last frame %s", frames[len(frames)-1])
	}
}

// TestDeflate: with either way of compressing, a reader with or without memory gets the documents, faults behind it included.
func TestDeflate(t *testing.T) {
	for _, c := range []struct {
		mode, offer, answer string
		keep                bool
	}{
		{"none", "permessage-deflate", "", false},
		{"each", "permessage-deflate", "permessage-deflate; client_no_context_takeover; server_no_context_takeover", false},
		{"takeover", "x, permessage-deflate; client_max_window_bits", "permessage-deflate; client_no_context_takeover", true},
		{"takeover", "permessage-deflate; server_no_context_takeover", "permessage-deflate; client_no_context_takeover; server_no_context_takeover", false},
		{"each", `permessage-deflate; server_max_window_bits=10, permessage-deflate; server_max_window_bits="15"`, "permessage-deflate; client_no_context_takeover; server_no_context_takeover", false},
		{"each", "permessage-deflate; what", "", false},
	} {
		r := newRig(t, Options{Deflate: c.mode, Schedule: Schedule{[]Fault{{Name: "duplicate", At: At{Sequence: 2}},
			{Name: "fragment", At: At{Sequence: 3}}, {Name: "insert", At: At{Sequence: 4}, With: map[string]string{"block": "{}"}}}}})
		conn := r.dial("/ws", map[string]string{"Sec-Websocket-Extensions": c.offer})
		if got := first1(r.head[conn].Header["Sec-Websocket-Extensions"]); got != c.answer {
			t.Errorf("%s %q: %q, want %q", c.mode, c.offer, got, c.answer)
		}
		r.publish(AutoUpsert, 5)
		plain := newRig(t, Options{Schedule: r.sim.opt.Schedule})
		want := plain.dial("/ws", nil)
		plain.publish(AutoUpsert, 5)
		got := r.messages(conn)
		if c.answer != "" {
			got = inflated(t, got, c.keep)
		}
		if strings.Join(got, "\n") != strings.Join(plain.messages(want), "\n") {
			t.Errorf("%s %q:\n%q\nwant\n%q", c.mode, c.offer, got, plain.messages(want))
		}
	}
}

// inflated decompresses messages, with the window of the ones before or without.
func inflated(t *testing.T, messages []string, keep bool) []string {
	t.Helper()
	var out []string
	window := ""
	for _, m := range messages {
		dict := ""
		if keep {
			dict = window[max(0, len(window)-32768):]
		}
		in := flate.NewReaderDict(io.MultiReader(strings.NewReader(m), bytes.NewReader(deflateTail), strings.NewReader("\x01\x00\x00\xff\xff")), []byte(dict))
		b, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(b))
		window += string(b)
	}
	return out
}

// TestSocketOptions: the settings of the WebSocket wire are bounded and checked.
func TestSocketOptions(t *testing.T) {
	for _, c := range []struct {
		opt  Options
		want string
	}{
		{Options{CloseWait: MaxCloseWait + 1}, "closeWait: 1m0.000000001s is not in 1ms to 1m0s"},
		{Options{Deflate: "yes"}, `deflate: "yes" is none of none, each, takeover`},
		{Options{Subscribe: "yes"}, `subscribe: "yes" is none of first, none`},
		{Options{Subprotocols: make([]string, MaxSubprotocols+1)}, "subprotocols: 17 is more than 16"},
		{Options{Subprotocols: []string{"a,b"}}, `subprotocols: "a,b" is not 1 to 256 letters`},
		{Options{Schedule: Schedule{[]Fault{{Name: "raw", With: map[string]string{"hex": "8"}}}}}, "faults[0]: with.hex: pairs of hex digits"},
	} {
		if _, err := New(c.opt); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
	if _, err := New(Options{CloseWait: MaxCloseWait, Subprotocols: []string{"a"}}); err != nil {
		t.Error(err)
	}
}

// TestOneFeedManyWires: a change made once is seen on each wire, as the same document apart from the cursor.
func TestOneFeedManyWires(t *testing.T) {
	r := newRig(t, Options{})
	s := r.get("/stream", "")
	w := r.dial("/ws", nil)
	r.publish(AutoMixed, 20)
	rows := [2]*Rows{NewRows("incidents"), NewRows("incidents")}
	events, messages := r.events(s), r.messages(w)
	if len(events) != len(messages) || len(events) != 22 {
		t.Fatalf("%d events and %d messages", len(events), len(messages))
	}
	for i := 1; i < len(events); i++ {
		apply(t, rows[0], events[i].data)
		apply(t, rows[1], messages[i])
		cursor := fmt.Sprintf(`"cursor":%q,`, r.sim.CursorOn(WebSocket, event.Seq(i-1)))
		if plain := strings.Replace(messages[i], cursor, "", 1); plain != events[i].data {
			t.Errorf("%s\nis not\n%s", messages[i], events[i].data)
		}
	}
	if want := r.sim.State().Digest; rows[0].Digest() != want || rows[1].Digest() != want {
		t.Error("rows differ")
	}
	conns := r.sim.State().Connections
	if len(conns) != 2 || conns[0].Wire != SSE || conns[1].Wire != WebSocket || conns[1].Request != 2 {
		t.Errorf("connections %+v", conns)
	}
	for _, rec := range r.records {
		if wire := rec.Args["wire"]; rec.Epoch == 1 && wire != "" || rec.Epoch == 2 && wire != WebSocket {
			t.Errorf("record %+v", rec)
		}
	}
}

// TestReceivedElsewhere: bytes on a connection that was not upgraded, or that nobody knows, mean nothing.
func TestReceivedElsewhere(t *testing.T) {
	r := newRig(t, Options{})
	s := r.get("/stream", "")
	refused := r.dial("/ws", map[string]string{"Upgrade": ""})
	n := len(r.records)
	for _, c := range []Conn{s, refused, 99} {
		r.say(c, clientBytes(0x88, nil))
	}
	if len(r.records) != n || len(r.sim.State().Connections) != 1 {
		t.Errorf("%+v", r.records[n:])
	}
}

// TestPongAfterSilence: what a mute stream owes when it speaks again is a pong to the newest ping alone.
func TestPongAfterSilence(t *testing.T) {
	r := newRig(t, Options{Schedule: Schedule{[]Fault{{Name: "silence", With: map[string]string{"forMs": "1000"}}}}})
	c := r.dial("/ws", nil)
	r.say(c, clientBytes(0x89, []byte("early")))
	r.say(c, clientBytes(0x89, []byte("late")))
	if r.body[c].Len() != 0 {
		t.Fatalf("a mute stream sent %q", r.body[c])
	}
	r.advance(time.Second)
	frames, _ := readFrames(r.body[c].Bytes())
	pongs := ""
	for _, f := range frames {
		if f.opcode() == opPong {
			pongs += string(f.payload) + ";"
		}
	}
	if pongs != "late;" {
		t.Errorf("pongs %s in %v", pongs, frames)
	}
}

// TestCloseInsideFrame: no frame stands behind one that went out in part; its rest would be read as that of the other.
func TestCloseInsideFrame(t *testing.T) {
	for _, bytes := range []int{60, 1000} {
		r := newRig(t, Options{Schedule: Schedule{[]Fault{{Name: "drip", With: map[string]string{"bytes": fmt.Sprint(bytes), "everyMs": "10"}}}}})
		c := r.dial("/ws?mode=delta", nil)
		r.say(c, clientBytes(0x88, closePayload(1000, "")))
		_, rest := readFrames(r.body[c].Bytes())
		answered := strings.HasSuffix(r.body[c].String(), "\x88\x02\x03\xe8")
		if whole := bytes > r.body[c].Len(); whole != answered || whole != (len(rest) == 0) || r.closed[c] != EOF {
			t.Errorf("%d bytes at a time: %q", bytes, r.body[c])
		}
	}
}

// FuzzHandshake: whatever a client offers, nothing panics, and what is agreed on was offered.
func FuzzHandshake(f *testing.F) {
	f.Add("permessage-deflate; client_max_window_bits", "conform.v1, other", rigKey, "keep-alive, Upgrade")
	f.Add(`permessage-deflate; server_max_window_bits="10", x;=,;`, ",,", "====", "upgrade")
	f.Fuzz(func(t *testing.T, extensions, protocols, key, connection string) {
		o := Options{Deflate: "takeover", Subprotocols: []string{"conform.v1"}}
		s, no := o.shake(Header{"Upgrade": {"WebSocket"}, "Connection": {connection}, "sec-websocket-version": {"13"}, "Sec-Websocket-Key": {key},
			"Sec-Websocket-Extensions": {extensions}, "Sec-Websocket-Protocol": {protocols}})
		switch {
		case no != nil && (no.status != 426 && no.status != 400 || s != handshake{}):
			t.Fatalf("refused with %+v, %+v", no, s)
		case no == nil && (s.extension != "" && !strings.Contains(extensions, "permessage-deflate") || s.subprotocol != "" && !strings.Contains(protocols, s.subprotocol)):
			t.Fatalf("%q %q: %+v", extensions, protocols, s)
		}
	})
}

// TestNothingOfTheClient: what a client says, asks for or proves itself with is in no record and no state.
func TestNothingOfTheClient(t *testing.T) {
	const canary = "c4n4ry"
	r := newRig(t, Options{Accepts: []string{"Bearer " + canary}})
	r.credential = "Bearer " + canary
	c := r.dial("/ws?cursor=w-7-"+canary, map[string]string{"Sec-Websocket-Protocol": canary, "Sec-Websocket-Extensions": canary})
	for _, b := range [][]byte{clientBytes(0x81, []byte(canary)), clientBytes(0x82, []byte(canary)), clientBytes(0x8a, []byte(canary)),
		clientBytes(0x89, []byte(canary)), clientBytes(0x88, closePayload(1000, canary))} {
		r.say(c, b)
	}
	said := 0
	for _, rec := range r.records {
		if rec.Kind == trace.ServerReceived {
			said++
		}
		if text := fmt.Sprintf("%+v", rec); strings.Contains(text, canary) {
			t.Errorf("record %s", text)
		}
	}
	if text := fmt.Sprintf("%+v", r.sim.State()); said != 5 || strings.Contains(text, canary) {
		t.Errorf("%d records; state %s", said, text)
	}
}

// TestPosition: each wire's form is read on that wire alone.
func TestPosition(t *testing.T) {
	for _, wire := range WireNames() {
		for _, other := range WireNames() {
			v, seq, ok := parseCursor(other, Position(wire, 7, 41))
			if ok != (wire == other) || ok && (v != 7 || seq != 41) {
				t.Errorf("%s read on %s: %d, %d, %v", Position(wire, 7, 41), other, v, seq, ok)
			}
		}
	}
	if got := Position("smoke", 7, 41); got != "" {
		t.Errorf("%q", got)
	}
}

// TestConnectionsOfAllWires: the limit of open connections counts every wire, and room comes back.
func TestConnectionsOfAllWires(t *testing.T) {
	r := newRig(t, Options{Connections: 2})
	s := r.get("/stream", "")
	r.dial("/ws", nil)
	for _, c := range []Conn{r.get("/stream", ""), r.dial("/ws", nil)} {
		if h := r.head[c]; h.Status != 503 || first1(h.Header["Retry-After"]) != "1" {
			t.Errorf("%+v", h)
		}
	}
	r.sim.Gone(r.clock(), s)
	r.drain()
	if h := r.head[r.dial("/ws", nil)]; h.Status != 101 {
		t.Errorf("%+v", h)
	}
}

// TestFrameLengths: each length has the shortest form there is (RFC 6455 5.2).
func TestFrameLengths(t *testing.T) {
	for _, c := range []struct {
		n    int
		want string
	}{
		{0, "8100"}, {125, "817d"}, {126, "817e007e"}, {65535, "817effff"}, {65536, "817f0000000000010000"},
	} {
		got := appendFrame(nil, 0x81, false, make([]byte, c.n))
		if head := fmt.Sprintf("%x", got[:len(got)-c.n]); head != c.want {
			t.Errorf("%d bytes: %s, want %s", c.n, head, c.want)
		}
	}
}
