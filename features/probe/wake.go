package probe

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// envelope is what is signed and posted, in the order of the fields on the wire.
type envelope struct {
	SchemaVersion  string         `json:"schemaVersion"`
	EventType      string         `json:"eventType"`
	EventID        string         `json:"eventId"`
	LogID          int            `json:"logId"`
	AgentIdentity  string         `json:"agentIdentity"`
	SubscriptionID string         `json:"subscriptionId"`
	Payload        map[string]any `json:"payload"`
	EmittedAt      string         `json:"emittedAt"`
}

// letter is a wake on its way: each part can be made to be wrong.
type letter struct {
	whom      string
	envelope  envelope
	header    http.Header
	body      []byte // in place of the envelope
	key       []byte
	signature string // in place of the right one
	most      int    // bytes that a body may have
	late      string // appended to the body after it was signed
}

// names of the headers of a wake.
const (
	wakeSubscription = "X-Neo-Wake-Subscription-Id"
	wakeEvent        = "X-Neo-Wake-Event-Id"
	wakeSchema       = "X-Neo-Wake-Schema-Version"
	wakeSignature    = "X-Neo-Wake-Signature"
)

// write makes an honest wake for whom.
func (p *Probe) write(whom string) (*letter, error) {
	person, ok := p.target.People[whom]
	if !ok || person.Key == nil {
		return nil, fmt.Errorf("the subject names no signing key for %s", whom)
	}
	key, err := person.Key()
	if err != nil {
		return nil, err
	}
	p.serial++
	id := "EVT:conform-" + strconv.Itoa(p.serial)
	l := &letter{whom: whom, most: p.target.Limits.WakeBody, key: []byte(key), envelope: envelope{"1.0", "wake/digest", id, p.serial, person.Login, person.Subscription,
		map[string]any{"totalEvents": 1}, "2026-08-14T08:00:00.000Z"}}
	l.header = http.Header{"Content-Type": {"application/json"}, wakeSubscription: {person.Subscription}, wakeEvent: {id}, wakeSchema: {"1.0"}}
	return l, nil
}

// parts are what a table may say about a wake, and what it does.
var parts = map[string]func(l *letter, value string) error{
	"subscription header": setHeader(wakeSubscription),
	"event header":        setHeader(wakeEvent),
	"schema header":       setHeader(wakeSchema),
	"identity":            func(l *letter, v string) error { l.envelope.AgentIdentity = v; return nil },
	"subscription":        func(l *letter, v string) error { l.envelope.SubscriptionID = v; return nil },
	"event id":            func(l *letter, v string) error { l.envelope.EventID = v; return nil },
	"event type":          func(l *letter, v string) error { l.envelope.EventType = v; return nil },
	"schema version":      func(l *letter, v string) error { l.envelope.SchemaVersion = v; return nil },
	"body":                setBody,
	"signature":           setSignature,
}

func setHeader(name string) func(*letter, string) error {
	return func(l *letter, v string) error {
		l.header.Set(name, v)
		if v == "none" {
			l.header.Del(name)
		}
		return nil
	}
}

func setBody(l *letter, v string) error {
	switch {
	case v == "not JSON":
		l.body = []byte("{not json")
	case v == "null":
		l.body = []byte("null")
	case v == "empty":
		l.body = []byte{}
	case v == "one space more than was signed":
		l.late = " "
	case v == "as long as it may be":
		return l.pad(l.most)
	case v == "one byte too long":
		return l.pad(l.most + 1)
	case strings.HasSuffix(v, " bytes"):
		n, err := strconv.Atoi(strings.TrimSuffix(v, " bytes"))
		if err != nil || n < 1 || n > maxLetter {
			return fmt.Errorf("body: %q is not 1 to %d bytes", v, maxLetter)
		}
		return l.pad(n)
	default:
		return fmt.Errorf("body: %q is unknown", v)
	}
	return nil
}

// maxLetter bounds the body of a wake that a scenario posts.
const maxLetter = 1 << 20

// pad makes the envelope n bytes long.
func (l *letter) pad(n int) error {
	l.envelope.Payload["padding"] = ""
	b, err := json.Marshal(l.envelope)
	if err != nil {
		return err
	}
	if len(b) > n {
		return fmt.Errorf("body: an envelope has %d bytes at least", len(b))
	}
	l.envelope.Payload["padding"] = strings.Repeat("x", n-len(b))
	return nil
}

func setSignature(l *letter, v string) error {
	switch v {
	case "of another key":
		l.key = []byte(strings.Repeat("0", 64))
	case "of the decoded key":
		raw, err := hex.DecodeString(string(l.key))
		if err != nil {
			return fmt.Errorf("the signing key is no text of hex digits")
		}
		l.key = raw
	case "in upper case", "with a prefix", "none", "63 digits":
		l.signature = v
	default:
		return fmt.Errorf("signature: %q is unknown", v)
	}
	return nil
}

// post signs a wake and sends it.
func (p *Probe) post(ctx context.Context, l *letter, odd []string) error {
	body := l.body
	if body == nil {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(l.envelope); err != nil {
			return err
		}
		body = bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	}
	mac := hmac.New(sha256.New, l.key)
	mac.Write(body)
	signature := hex.EncodeToString(mac.Sum(nil))
	switch l.signature {
	case "in upper case":
		signature = strings.ToUpper(signature)
	case "with a prefix":
		signature = "sha256=" + signature
	case "63 digits":
		signature = signature[1:]
	}
	if l.signature != "none" {
		l.header.Set(wakeSignature, signature)
	}
	slices.Sort(odd)
	_, _, err := p.ask(ctx, question{method: "POST", path: p.target.Wake, header: l.header, body: append(slices.Clone(body), l.late...), odd: strings.Join(odd, "; ")})
	return err
}
