package websocket

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/conform-dev/conform/core/transport"
)

// P-WS-09, P-WS-12: what each close code means, row by row (D-37). What is sent back is the same code.
func TestCloseCodes(t *testing.T) {
	const table = "closeCodes=4002=reconnect,4003=wait,4007=expired,4009=resnapshot,4401=unauthorized,4999=complete,3000=refuse"
	for _, c := range []struct {
		code int
		want string
	}{
		{1000, "ended server-stop (closed with 1000)"},
		{1001, "ended connection-lost (closed with 1001)"},
		{1002, "refused protocol-error (closed with 1002)"},
		{1003, "refused protocol-error (closed with 1003)"},
		{1007, "refused protocol-error (closed with 1007)"},
		{1008, "refused unauthorized (closed with 1008)"},
		{1009, "gap transport-gap (message-too-large: the server closed with 1009)"},
		{1010, "refused protocol-error (closed with 1010)"},
		{1011, "ended connection-lost (closed with 1011)"},
		{1012, "ended connection-lost (closed with 1012) retry-after="},
		{1013, "ended throttled (closed with 1013) retry-after="},
		{1014, "ended throttled (closed with 1014) retry-after="},
		{3000, "refused rejected (closed with 3000)"},
		{4001, "refused rejected (closed with 4001)"},
		{4002, "ended connection-lost (closed with 4002)"},
		{4003, "ended throttled (closed with 4003) retry-after="},
		{4007, "expired cursor-expired (closed with 4007)"},
		{4009, "gap resume-unsupported (closed with 4009)"},
		{4401, "refused unauthorized (closed with 4401)"},
		{4999, "ended server-stop (closed with 4999)"},
	} {
		m := openMachine("resume", table)
		m.Bytes(closing(c.code))
		want := fmt.Sprintf("send close %d\n%s", c.code, c.want)
		got := take(m)
		if got != want && !(strings.HasSuffix(want, "=") && strings.HasPrefix(got, want)) {
			t.Errorf("%d: got\n%s\nwant\n%s", c.code, got, want)
		}
	}
	m := openMachine()
	m.Bytes([]byte{0x88, 0})
	if got := take(m); got != "send close\nended connection-lost (closed without a code)" {
		t.Errorf("1005: %s", got)
	}
	m = openMachine()
	m.End(nil) // P-WS-09: 1006 is what a connection without a close frame means, and is never sent
	if got := take(m); got != "ended connection-lost (ended-without-close-frame)" {
		t.Errorf("1006: %s", got)
	}
	for _, code := range []int{0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65535} {
		m := openMachine()
		m.Bytes(closing(code))
		if got := take(m); got != "send close 1002\nrefused protocol-error (protocol-violation: invalid-close-code, frame 1 at byte 0)" {
			t.Errorf("%d: %s", code, got)
		}
	}
}

// A code that means "no" to this credential is like status 401: the session asks its source once for another one (P-WS-09, D-33).
func TestUnauthorizedCodeIsStatus401(t *testing.T) {
	if s := meaning(4401, closeTable{4401: ActionUnauthorized}, &chance{}); s.Status != 401 || s.Cause != transport.Unauthorized || s.Kind != transport.Refused {
		t.Errorf("%+v", s)
	}
	if s := meaning(CodePolicy, nil, &chance{}); s.Status != 0 {
		t.Errorf("1008: %+v", s)
	}
}

// P-WS-09: after a restart of the server its clients come back spread, and after 1013 late and spread.
func TestCloseSpreads(t *testing.T) {
	for _, c := range []struct {
		code        uint16
		least, most time.Duration
	}{{1012, 0, restartSpread}, {1013, longFloor, longFloor + longSpread}, {1014, longFloor, longFloor + longSpread}} {
		buckets := map[time.Duration]bool{}
		for i := range 50 {
			s := meaning(c.code, nil, &chance{draw: [32]byte{byte(i)}})
			if s.RetryAfter < c.least || s.RetryAfter >= c.most {
				t.Fatalf("%d: %v", c.code, s.RetryAfter)
			}
			buckets[s.RetryAfter/(250*time.Millisecond)] = true
		}
		if len(buckets) < 8 {
			t.Errorf("%d: 50 clients in %d quarter seconds", c.code, len(buckets))
		}
	}
}

func TestCloseCodesOption(t *testing.T) {
	most := make([]string, MaxCloseCodes)
	for i := range most {
		most[i] = fmt.Sprintf("%d=reconnect", 4000+i)
	}
	for text, want := range map[string]int{
		"": 0, "4001=refuse": 1, "4001=reconnect, 4002=expired": 2, strings.Join(most, ","): MaxCloseCodes,
		strings.Join(most, ",") + ",4999=refuse": -1,
		"4001":                                   -1, "4001=": -1, "4001=retry": -1, "=expired": -1, "1001=refuse": -1, "2999=refuse": -1, "5000=refuse": -1,
		"4001=refuse,4001=refuse": -1, "4001=refuse,": -1, "+4001=refuse": -1, "0x1000=refuse": -1,
	} {
		table, ok := parseCloseCodes(text)
		if ok != (want >= 0) || ok && len(table) != want {
			t.Errorf("%.40q: %v, %d codes", text, ok, len(table))
		}
	}
}
