package inspect

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/conform-dev/conform/plugins/websocket"
)

var plainWS = WSOptions{MaxMessageBytes: websocket.DefaultMaxMessageBytes}

var wsStreams = []struct {
	name, in string
	o        WSOptions
	out      string
	err      string // empty: none
}{
	{"P-WS-01: a fragmented text with a ping in between", "01097b2274797065223a22\n89026869 # hi\n801b64656c7461222c22736571223a31312c226964223a22653131227d\n880203e9", plainWS,
		`{"frame":1,"offset":0,"verdict":"ok","kind":"fragment","opcode":1,"fin":false,"length":9}
{"frame":2,"offset":11,"verdict":"ok","kind":"ping","opcode":9,"fin":true,"length":2,"text":"hi"}
{"frame":3,"offset":15,"verdict":"ok","kind":"text","opcode":0,"fin":true,"length":27,"messageOffset":0,"text":"{\"type\":\"delta\",\"seq\":11,\"id\":\"e11\"}"}
{"frame":4,"offset":44,"verdict":"ok","kind":"close","opcode":8,"fin":true,"length":2,"code":1001,"reason":""}
{"frames":4,"bytes":48,"unfinished":0,"ended":"closed"}
`, ""},
	{"P-WS-03: invalid UTF-8", "810D 7B226E223A22 CEBA EDA080 227D\r\n8900\n", plainWS,
		`{"frame":1,"offset":10,"verdict":"violation","opcode":1,"fin":true,"violation":"invalid-utf8","clause":"RFC 6455 8.1","closeWith":1007}
{"frames":0,"bytes":10,"unfinished":0,"ended":"violation"}
`, "invalid-utf8: frame 1, at byte 10 of the frames (RFC 6455 8.1)"},
	{"cut in a message", "8105 4865", plainWS, `{"frames":0,"bytes":4,"unfinished":4,"ended":"cut"}
`, ""},
	{"compressed, context kept", "c107f248cdc9c90700 c105f200110000 8201ff 8a0180", WSOptions{MaxMessageBytes: 50, Deflate: true},
		`{"frame":1,"offset":0,"verdict":"ok","kind":"text","opcode":1,"fin":true,"compressed":true,"length":7,"messageOffset":0,"text":"Hello"}
{"frame":2,"offset":9,"verdict":"ok","kind":"text","opcode":1,"fin":true,"compressed":true,"length":5,"messageOffset":9,"text":"Hello"}
{"frame":3,"offset":16,"verdict":"ok","kind":"binary","opcode":2,"fin":true,"length":1,"messageOffset":16,"hex":"ff"}
{"frame":4,"offset":19,"verdict":"ok","kind":"pong","opcode":10,"fin":true,"length":1,"hex":"80"}
{"frames":4,"bytes":22,"unfinished":0,"ended":"cut"}
`, ""},
	{"compressed, context not kept", "c107f248cdc9c90700 c105f200110000", WSOptions{MaxMessageBytes: 50, Deflate: true, NoTakeover: true},
		`{"frame":1,"offset":0,"verdict":"ok","kind":"text","opcode":1,"fin":true,"compressed":true,"length":7,"messageOffset":0,"text":"Hello"}
{"frame":2,"offset":9,"verdict":"violation","opcode":1,"fin":true,"violation":"bad-deflate","clause":"RFC 7692 7.2.2","closeWith":1007}
{"frames":1,"bytes":9,"unfinished":0,"ended":"violation"}
`, "bad-deflate: frame 2, at byte 9 of the frames (RFC 7692 7.2.2)"},
	{"above the limit", "8102 6161", WSOptions{MaxMessageBytes: 1},
		`{"frame":1,"offset":0,"verdict":"violation","opcode":1,"fin":true,"violation":"message-too-large","clause":"RFC 6455 7.4.1","closeWith":1009}
{"frames":0,"bytes":0,"unfinished":0,"ended":"violation"}
`, "message-too-large: frame 1, at byte 0 of the frames (RFC 6455 7.4.1)"},
	{"no hex", "8900\n89zz", plainWS, `{"frame":1,"offset":0,"verdict":"ok","kind":"ping","opcode":9,"fin":true,"length":0,"text":""}
`, "line 2, byte 3: not a hex digit"},
	{"half a byte in the middle", "8900 8\n900", plainWS, `{"frame":1,"offset":0,"verdict":"ok","kind":"ping","opcode":9,"fin":true,"length":0,"text":""}
`, "line 1, byte 7: half a byte at the end of the line"},
	{"half a byte at the end", "8", plainWS, "", "line 1, byte 1: half a byte at the end"},
	{"nothing", "# nothing\n", plainWS, `{"frames":0,"bytes":0,"unfinished":0,"ended":"cut"}
`, ""},
}

// The lines do not depend on where reads end.
func TestWSLines(t *testing.T) {
	for _, c := range wsStreams {
		for how, in := range map[string]io.Reader{"whole": strings.NewReader(c.in), "bytewise": iotest.OneByteReader(strings.NewReader(c.in))} {
			var out bytes.Buffer
			err := WS(in, &out, c.o)
			if out.String() != c.out || (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
				t.Errorf("%s, %s: %v\n%s", c.name, how, err, out.String())
			}
		}
	}
}

func TestWSLimitIsNamed(t *testing.T) {
	for _, limit := range []int{-1, 0, websocket.CeilingMaxMessageBytes + 1} {
		if err := WS(strings.NewReader(""), io.Discard, WSOptions{MaxMessageBytes: limit}); err == nil || !strings.Contains(err.Error(), "between 1 and 67108864") {
			t.Errorf("%d: %v", limit, err)
		}
	}
}

// A frame is told when it is complete, what breaks is passed on, and what was complete before stays.
func TestWSBroken(t *testing.T) {
	broken := errors.New("broken")
	var out bytes.Buffer
	err := WS(io.MultiReader(strings.NewReader("8900 89"), iotest.ErrReader(broken)), &out, plainWS)
	if !errors.Is(err, broken) || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("%v\n%s", err, out.String())
	}
	if err := WS(strings.NewReader("8900"), full{}, plainWS); !errors.Is(err, errFull) {
		t.Error(err)
	}
}

// FuzzWS: no input panics, and a stream that is read without an error has a last line.
func FuzzWS(f *testing.F) {
	for _, c := range wsStreams {
		f.Add(c.in, c.o.Deflate)
	}
	f.Fuzz(func(t *testing.T, in string, deflate bool) {
		var out, again bytes.Buffer
		err := WS(strings.NewReader(in), &out, WSOptions{MaxMessageBytes: 1000, Deflate: deflate})
		err2 := WS(iotest.OneByteReader(strings.NewReader(in)), &again, WSOptions{MaxMessageBytes: 1000, Deflate: deflate})
		if out.String() != again.String() || (err == nil) != (err2 == nil) {
			t.Fatalf("whole %v\n%s\nbytewise %v\n%s", err, out.String(), err2, again.String())
		}
		if err == nil && !strings.Contains(out.String(), `"unfinished":`) {
			t.Fatal(out.String())
		}
	})
}
