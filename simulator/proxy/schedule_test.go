package proxy

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// TestParse: what is wrong is said with its line; each bound is hit.
func TestParse(t *testing.T) {
	many := "connections: [" + strings.Repeat("{faults: []},", MaxConnections) + "{faults: []}]"
	for text, want := range map[string]string{
		"rest: [{fault: explode, from: server}]":          `x:1: fault "explode" is none of cut, delay, drip, half-open, refuse, reset, stall`,
		"rest:\n  - {fault: cut, from: nobody}":           `x:2: from "nobody" is neither client nor server`,
		"rest: [{fault: cut}]":                            `from "" is neither`,
		"rest: [{fault: refuse, from: client}]":           "refuse has no from",
		"rest: [{fault: cut, from: server, at: -1}]":      "at -1 is not in 0 to",
		"rest: [{fault: delay, from: server}]":            "delay needs by",
		"rest: [{fault: drip, from: server, bytes: 1}]":   "drip needs bytes",
		"rest: [{fault: stall, from: server, for: 11m}]":  "for 11m0s is not in 0 to 10m0s",
		"rest: [{fault: cut, from: server, colour: red}]": `field "colour" not found`,
		"connection: []":                                  "field connection not found",
		"rest: []\n---\nrest: []":                         "more than one document",
		many:                                              "more than 1000 connections",
		"rest: [" + strings.Repeat("{fault: refuse},", MaxFaults) + "{fault: refuse}]": "more than 64 faults",
		strings.Repeat("#", MaxFile+1): "longer than 262144 bytes",
		"rest: [":                      "x: ",
	} {
		if _, err := Parse("x", []byte(text)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.50s: %v, want %s", text, err, want)
		}
	}
}

// FuzzParse: no text makes it panic, and what it takes makes pipes that move.
func FuzzParse(f *testing.F) {
	f.Add([]byte("rest: [{fault: cut, from: server, at: 3}]"))
	f.Add([]byte("connections: [{faults: [{fault: drip, from: client, bytes: 1, every: 1ms}, {fault: stall, from: client, for: 1s}]}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse("x", data)
		if err != nil {
			return
		}
		for _, side := range []Side{Client, Server} {
			p, now, left := newPipe(s.Of(1), side), time.Duration(0), 1000
			for range 100_000 {
				st := p.next(now, 0, left)
				if left -= st.forward + st.drop; left < 0 {
					t.Fatal("more than there was")
				}
				if left == 0 || st.end != goesOn || st.wait < 0 {
					break
				}
				if st.wait > 0 {
					if st.wait <= now {
						t.Fatal("a wait for what is over")
					}
					now = st.wait
				}
			}
		}
	})
}

// TestCuttingDoesNotMatter: whatever pieces the bytes come in, a fault strikes at its byte.
func TestCuttingDoesNotMatter(t *testing.T) {
	for size := 1; size <= 12; size++ {
		p := newPipe([]Fault{{Kind: Stall, From: Server, At: 5, For: time.Second}, {Kind: Cut, From: Server, At: 7}}, Server)
		var got bytes.Buffer
		now, data := time.Duration(0), []byte("0123456789ab")
		for at := 0; at < len(data); {
			b := data[at:min(at+size, len(data))]
			s := p.next(now, 0, len(b))
			if s.end != goesOn {
				break
			}
			if s.wait > 0 {
				if got.Len() != 5 {
					t.Errorf("pieces of %d: stalled behind %q", size, got.String())
				}
				now = s.wait
				continue
			}
			got.Write(b[:s.forward])
			at += s.forward
		}
		if got.String() != "0123456" || now != time.Second {
			t.Errorf("pieces of %d: %q after %v", size, got.String(), now)
		}
	}
}
