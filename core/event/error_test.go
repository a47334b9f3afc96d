package event

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// TestErrorForm is facts 1.7: what leaves the process, byte for byte, and what must not.
func TestErrorForm(t *testing.T) {
	canary := errors.New("https://user:canary@host/path")
	for _, c := range []struct {
		err  *ResumeError
		want string
	}{
		{&ResumeError{Reason: SequenceGap, Message: "canary"},
			`{"kind":"honua.sdk.error.v1","name":"HonuaRealtimeResumeError","domain":"realtime","code":"realtime.sequence.gap","category":"protocol","retryable":true,"context":{"reasonCode":"sequence-gap"}}`},
		{&ResumeError{Reason: CheckpointLoadFailed, OperationID: "op-1", RequestID: "canary with spaces", Cause: canary},
			`{"kind":"honua.sdk.error.v1","name":"HonuaRealtimeResumeError","domain":"realtime","code":"realtime.protocol.terminal","category":"protocol","retryable":false,"operationId":"op-1","requestId":"[REDACTED]","context":{"reasonCode":"checkpoint-load-failed"},"cause":{"name":"Error"}}`},
		{&ResumeError{Reason: DeliveryFailed, Cause: &ResumeError{Reason: CursorExpired, Message: "canary", Cause: canary}},
			`{"kind":"honua.sdk.error.v1","name":"HonuaRealtimeResumeError","domain":"realtime","code":"realtime.protocol.terminal","category":"protocol","retryable":false,"context":{"reasonCode":"delivery-failed"},"cause":{"name":"HonuaRealtimeResumeError","domain":"realtime","code":"realtime.transport.reconnectable","category":"network","retryable":true}}`},
		{&ResumeError{Reason: Reason(99)},
			`{"kind":"honua.sdk.error.v1","name":"HonuaRealtimeResumeError","domain":"realtime","code":"realtime.protocol.terminal","category":"protocol","retryable":false,"context":{"reasonCode":"invalid-event"}}`},
	} {
		got, err := json.Marshal(c.err)
		if err != nil || string(got) != c.want {
			t.Errorf("%v\n got %s\nwant %s", err, got, c.want)
		}
		if strings.Contains(string(got), "canary") {
			t.Errorf("a secret leaves: %s", got)
		}
	}
	err := error(&ResumeError{Reason: ConsumerFailed, Message: "row 7", Cause: canary})
	if !errors.Is(err, canary) || err.Error() != "realtime: consumer-failed: row 7: "+canary.Error() {
		t.Errorf("locally: %v", err)
	}
}

func TestIdentifier(t *testing.T) {
	const hidden = "[REDACTED]"
	for id, want := range map[string]string{
		"": "", "a": "a", "9._:/-Z": "9._:/-Z", "-a": hidden, ".a": hidden, "a b": hidden, "a\n": hidden, "é": hidden, "a?token=1": hidden,
		strings.Repeat("a", 256): strings.Repeat("a", 256), strings.Repeat("a", 257): hidden,
	} {
		if got := identifier(id); got != want {
			t.Errorf("identifier(%.20q) = %.20q, want %.20q", id, got, want)
		}
	}
}
