package checkpoint

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/conform-dev/conform/core/event"
)

// The tests of this file are the contract's own, named by their labels (facts 8.2).

const planA = `{"id":"p1","source":"incidents","where":"state = 'open'","capabilityPolicy":{"resume":"required"},"fallbackPolicy":"none"}`

// sealed is a plan with its own fingerprint in it.
func sealed(t *testing.T, plan string) (doc []byte, fingerprint string) {
	t.Helper()
	fingerprint, err := SealPlan([]byte(plan))
	if err != nil {
		t.Fatal(err)
	}
	return []byte(strings.TrimSuffix(plan, "}") + `,"fingerprint":"` + fingerprint + `"}`), fingerprint
}

func example() Checkpoint {
	return Checkpoint{
		Context:   Context{"incidents", "sha256:q", "v7", "s3", "scope-a"},
		Resume:    event.Position{Seq: 41, Cursor: "cursor-x", Watermark: "wm-1", Timestamp: "2026-07-27T03:59:59.500Z", DeltaToken: "dt-9"},
		RecentIDs: []string{"e40", "e41"},
		SavedAt:   1785124800000,
	}
}

func mustJSON(t *testing.T, f func() ([]byte, error)) string {
	t.Helper()
	b, err := f()
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func reasonOf(t *testing.T, err error) event.Reason {
	t.Helper()
	var r *event.ResumeError
	if !errors.As(err, &r) {
		t.Fatalf("got %v, want a resume error", err)
	}
	return r.Reason
}

func TestPlanIdentity(t *testing.T) {
	plan, fingerprint := sealed(t, planA)
	ctx := Context{"incidents", fingerprint, "v7", "s3", "scope-a"}

	t.Run("ref:CON-01 the plan's own member is the canonical hash of the plan", func(t *testing.T) {
		own, err := PlanFingerprint(plan)
		if err != nil || own != fingerprint {
			t.Errorf("own member: %q, %v, want %q", own, err, fingerprint)
		}
		again, err := SealPlan(plan)
		if err != nil || again != own {
			t.Errorf("hash of the sealed plan: %q, %v, want %q", again, err, own)
		}
	})
	t.Run("ref:CON-02 a context bound to the plan is accepted", func(t *testing.T) {
		if err := CheckPlan(ctx, plan); err != nil {
			t.Error(err)
		}
		ctx.QueryFingerprint = " " + fingerprint + "\n"
		if err := CheckPlan(ctx, plan); err != nil {
			t.Errorf("with white space around it: %v", err)
		}
	})
	t.Run("ref:CON-03 another plan is query-changed", func(t *testing.T) {
		other, _ := sealed(t, strings.Replace(planA, "'open'", "'closed'", 1))
		r := reasonOf(t, CheckPlan(ctx, other))
		if r != event.QueryChanged || r.Class().Code != "realtime.checkpoint.invalid" {
			t.Errorf("got %v, code %s", r, r.Class().Code)
		}
	})
	t.Run("ref:CON-04 two queries never share a fingerprint", func(t *testing.T) {
		seen := map[string]string{}
		for _, p := range []string{
			planA,
			strings.Replace(planA, "'open'", "'closed'", 1),
			strings.Replace(planA, `"where"`, `"Where"`, 1),
			strings.Replace(planA, `"none"`, `"poll"`, 1),
			strings.Replace(planA, `"required"`, `"optional"`, 1),
			strings.Replace(planA, `"required"`, `["required"]`, 1),
			strings.Replace(planA, `"source":"incidents"`, `"source":"incidents","limit":1`, 1),
		} {
			_, f := sealed(t, p)
			if seen[f] != "" {
				t.Errorf("%s and %s share %s", p, seen[f], f)
			}
			seen[f] = p
		}
		if _, f := sealed(t, strings.Replace(planA, "p1", "p2", 1)); f != fingerprint {
			t.Error("the plan's id is part of its fingerprint")
		}
	})
}

func TestRotatedPlanRefusesTheOldCheckpoint(t *testing.T) {
	_, before := sealed(t, planA)
	_, after := sealed(t, strings.Replace(planA, `"none"`, `"poll"`, 1))
	old := example()
	old.Context.QueryFingerprint = before
	want := old.Context
	want.QueryFingerprint = after
	if r := Evaluate(want, &old); r != event.QueryChanged {
		t.Errorf("got %v, want query-changed", r)
	}
}

func TestAuthorityStates(t *testing.T) {
	c := example()
	at := func(age, stale int64) Clock {
		return Clock{Now: c.SavedAt + age, NowKnown: true, StaleAfter: stale, Bounded: true}
	}
	for _, phase := range []string{"awaiting-snapshot", "resuming", "resnapshot-required"} {
		t.Run("ref:CON-05 "+phase+" is replaying", func(t *testing.T) {
			if a := Derive(phase, &c, at(5, 100)); a.State != Replaying || a.Authoritative {
				t.Errorf("got %+v", a)
			}
		})
	}
	t.Run("ref:CON-06 live with a checkpoint is authoritative", func(t *testing.T) {
		if a := Derive("live", &c, at(5, 100)); a.State != LiveState || !a.Authoritative {
			t.Errorf("got %+v", a)
		}
	})
	t.Run("ref:CON-07 older than the limit is stale, at the limit is live", func(t *testing.T) {
		if a := Derive("live", &c, at(101, 100)); a.State != Stale || !a.Authoritative || a.AgeMs != 101 {
			t.Errorf("over: %+v", a)
		}
		if a := Derive("live", &c, at(100, 100)); a.State != LiveState || !a.AgeKnown || a.AgeMs != 100 {
			t.Errorf("at: %+v", a)
		}
	})
	t.Run("ref:CON-08 over is authoritative exactly when a checkpoint survives", func(t *testing.T) {
		for _, phase := range []string{"error", "closed"} {
			if a := Derive(phase, &c, at(101, 100)); a.State != Terminal || !a.Authoritative {
				t.Errorf("%s: %+v", phase, a)
			}
			if a := Derive(phase, nil, at(101, 100)); a.State != Terminal || a.Authoritative {
				t.Errorf("%s without one: %+v", phase, a)
			}
		}
	})
}

func TestSerializations(t *testing.T) {
	c := example()
	plain, shown := mustJSON(t, c.JSON), mustJSON(t, c.RedactedJSON)

	t.Run("ref:CON-09 member order does not matter", func(t *testing.T) {
		shuffled := `{"savedAt":"2026-07-27T04:00:00.000Z", "version":1, "resume":{"watermark":"wm-1","deltaToken":"dt-9","sequence":41,
			"timestamp":"2026-07-27T03:59:59.500Z","cursor":"cursor-x"}, "recentEventIds":["e40","e41"],
			"context":{"version":1,"authorizationScopeFingerprint":"scope-a","sourceVersion":"v7","schemaVersion":"s3",
			"queryFingerprint":"sha256:q","sourceId":"incidents","kind":"honua.realtime-resume-context"}, "kind":"honua.realtime-checkpoint"}`
		d, err := Decode([]byte(shuffled))
		if err != nil {
			t.Fatal(err)
		}
		if again := mustJSON(t, d.JSON); again != plain {
			t.Errorf("got  %s\nwant %s", again, plain)
		}
		if b, err := Canonical([]byte(shuffled)); err != nil || string(b) != plain {
			t.Errorf("got  %s, %v\nwant %s", b, err, plain)
		}
	})
	t.Run("ref:CON-10 redaction hides positions and counts ids", func(t *testing.T) {
		for _, secret := range []string{"cursor-x", "wm-1", "dt-9", `"e40"`, `"e41"`, `"recentEventIds"`} {
			if strings.Contains(shown, secret) {
				t.Errorf("%q is shown in %s", secret, shown)
			}
		}
		for _, open := range []string{`"recentEventIdCount":2`, `"sequence":41`, `"timestamp":"2026-07-27T03:59:59.500Z"`, `"savedAt":"2026-07-27T04:00:00.000Z"`} {
			if !strings.Contains(shown, open) {
				t.Errorf("%s is missing in %s", open, shown)
			}
		}
	})
	t.Run("ref:CON-11 equal positions have equal digests", func(t *testing.T) {
		other := example()
		other.RecentIDs, other.SavedAt = []string{"x", "y"}, c.SavedAt
		if again := mustJSON(t, other.RedactedJSON); again != shown {
			t.Errorf("got %s, want %s", again, shown)
		}
		other.Resume.Cursor = "cursor-y"
		if again := mustJSON(t, other.RedactedJSON); again == shown {
			t.Error("another cursor shows the same digest")
		}
		if RedactPosition("cursor", "x") == RedactPosition("watermark", "x") {
			t.Error("two fields share a digest")
		}
	})
	t.Run("ref:CON-12 fingerprints stay readable in both", func(t *testing.T) {
		for _, m := range c.Context.members() {
			for _, text := range []string{plain, shown} {
				if !strings.Contains(text, `"`+m.name+`":"`+*m.value+`"`) {
					t.Errorf("%s is not readable in %s", m.name, text)
				}
			}
		}
	})
	t.Run("serializing changes nothing", func(t *testing.T) {
		before := example()
		if !bytes.Equal([]byte(mustJSON(t, before.JSON)), []byte(plain)) || c.Resume != before.Resume {
			t.Error("RedactedJSON changed the checkpoint")
		}
	})
}
