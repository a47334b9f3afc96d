package storetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/store"
)

func (k Kept) age(t *testing.T) {
	for _, tt := range []struct {
		maxAge, age int64 // milliseconds; 0 is the default of 15 minutes
		detail      string
		message     string
	}{
		{0, 0, "", ""},
		{0, 899_999, "", ""},
		{0, 900_000, "", ""},
		{0, 900_001, checkpoint.DetailExpired, "900001 ms old, the limit is 900000 ms"},
		{60_000, 60_000, "", ""},
		{60_000, 60_001, checkpoint.DetailExpired, "60001 ms old"},
		{0, -1, checkpoint.DetailTime, "1 ms in the future"},
		{0, -86_400_000, checkpoint.DetailTime, "86400000 ms in the future"},
	} {
		b := k.bench(t, store.Config{MaxAge: millis(tt.maxAge)})
		save(t, b, At(41, 2_000_000))
		b.now = 2_000_000 + tt.age
		a := b.Load(t.Context(), Scope())
		if tt.detail == "" {
			if a.Found != checkpoint.Stored {
				t.Errorf("age %d of %d: %v %v", tt.age, tt.maxAge, a.Found, a.Reason)
			}
			continue
		}
		if a.Found != checkpoint.Discarded || a.Reason != event.CursorExpired || a.Detail != tt.detail {
			t.Errorf("age %d of %d: %v %v %q", tt.age, tt.maxAge, a.Found, a.Reason, a.Detail)
		}
		d := b.wantHeard(t, store.Loading, store.Expired, event.CursorExpired)
		if !strings.Contains(d.Err.Message, tt.message) {
			t.Errorf("the diagnostic says %q, want %q (D-23)", d.Err.Message, tt.message)
		}
		b.now = 2_000_000 // the clock has caught up: the row is gone all the same
		wantNothing(t, b, Scope())
	}
}

func (k Kept) evicts(t *testing.T) {
	b := k.bench(t, store.Config{})
	scope := func(n int) checkpoint.Checkpoint {
		b.now++
		c := At(event.Seq(n), b.now)
		c.Context.SourceID = fmt.Sprint("scope-", n)
		return c
	}
	for n := 1; n <= store.DefaultMaxRecords; n++ {
		save(t, b, scope(n))
	}
	wantPosition(t, b, scope(1)) // a read does not make it younger
	save(t, b, scope(2))         // a write does
	save(t, b, scope(65))
	for n := 1; n <= 65; n++ {
		if found := b.Load(t.Context(), scope(n).Context).Found; (found == checkpoint.Stored) != (n != 1) {
			t.Errorf("scope %d: %v", n, found)
		}
	}
	if n := len(k.Dump(t, b.Store)); n != store.DefaultMaxRecords {
		t.Errorf("%d records", n)
	}
	one := k.bench(t, store.Config{MaxRecords: 1})
	one.now = b.now + 10
	save(t, one, scope(1))
	save(t, one, scope(2))
	wantPosition(t, one, scope(2)) // what was just written is never evicted
	if n := len(k.Dump(t, one.Store)); n != 1 {
		t.Errorf("%d records, want 1", n)
	}
	most := k.bench(t, store.Config{MaxRecords: store.CeilingMaxRecords})
	for n := 1; n <= store.CeilingMaxRecords+1; n++ {
		save(t, most, scope(n))
	}
	if n := len(k.Dump(t, most.Store)); n != store.CeilingMaxRecords {
		t.Errorf("%d records, want %d", n, store.CeilingMaxRecords)
	}
}

func (k Kept) ceilings(t *testing.T) {
	for want, cfg := range map[string]store.Config{
		"maxAgeMs cannot exceed 86400000, got 86400001":           {MaxAge: store.CeilingMaxAge + millis(1)},
		"maxAgeMs must be a safe integer greater than zero":       {MaxAge: -millis(1)},
		"maxAgeMs must be a safe integer greater than zero, got":  {MaxAge: 1},
		"maxAgeMs must be whole milliseconds":                     {MaxAge: millis(1) + 1},
		"maxRecords cannot exceed 512, got 513":                   {MaxRecords: store.CeilingMaxRecords + 1},
		"maxRecords must be a safe integer greater than zero, go": {MaxRecords: -1},
	} {
		_, err := k.Open(t, cfg)
		var r *event.ResumeError
		if !errors.As(err, &r) || r.Reason != event.InvalidCheckpoint || !strings.Contains(r.Message, want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, err := k.Open(t, store.Config{MaxAge: store.CeilingMaxAge, MaxRecords: store.CeilingMaxRecords}); err != nil {
		t.Errorf("at the ceilings: %v", err)
	}
}

func millis(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
