package simulator

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/conform-dev/conform/core/event"
)

// TestRetention: with a retention of k a position k events behind the head resumes, and k+1 expires, for every k (issue point 7).
func TestRetention(t *testing.T) {
	for k := 1; k <= 40; k++ {
		r := newRig(t, Options{Head: 100, Retention: k})
		r.publish(AutoMixed, 60)
		for back := range 60 {
			c := r.get("/stream", cursor(SSE, 7, event.Seq(160-back)))
			got := r.events(c)
			switch {
			case back > k && (len(got) != 1 || got[0].data != `{"type":"error","terminal":false,"code":"cursor-expired"}` || r.closed[c] != EOF):
				t.Fatalf("retention %d, %d behind: %v", k, back, got)
			case back <= k && (len(got) != back+1 || !strings.Contains(got[0].data, `"resumed":true`)):
				t.Fatalf("retention %d, %d behind: %d events, %v", k, back, len(got)-1, got[0])
			}
			r.sim.Gone(r.clock(), c)
			r.drain()
		}
	}
}

// TestHistoryBytes: history is bounded in bytes too; what is dropped expires honestly and is in the trace.
func TestHistoryBytes(t *testing.T) {
	r := newRig(t, Options{HistoryBytes: 10000})
	big := `{"text":"` + strings.Repeat("x", 3000) + `"}`
	for range 5 {
		if _, err := r.sim.Publish(r.clock(), Upsert("1", big)); err != nil {
			t.Fatal(err)
		}
	}
	if st := r.sim.State(); st.Head != 5 || st.Oldest != 3 {
		t.Errorf("oldest kept is %d of %d, want 3 of 5", st.Oldest, st.Head)
	}
	// One event alone is kept whatever its size: the head's own cursor must stay good.
	huge := `{"text":"` + strings.Repeat("x", 20000) + `"}`
	if _, err := r.sim.Publish(r.clock(), Upsert("1", huge)); err != nil {
		t.Fatal(err)
	}
	if st := r.sim.State(); st.Oldest != 6 {
		t.Errorf("oldest kept is %d, want 6", st.Oldest)
	}
}

// TestDigestHistory: the digest of each kept sequence is what it was when that sequence was the head, whatever was forgotten or
// undone in between; of others there is none.
func TestDigestHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newRig(asTB(t), Options{Head: 10, Retention: rapid.IntRange(1, 30).Draw(t, "retention")})
		was := map[event.Seq]string{10: r.sim.feed.digestNow()}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			f := r.sim.feed
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0:
				_ = r.sim.Trim(r.clock(), rapid.IntRange(0, 10).Draw(t, "keep"))
			case 1:
				head := f.head - event.Seq(rapid.IntRange(0, 5).Draw(t, "back"))
				if err := r.sim.Restart(r.clock(), Restart{Head: head}); err == nil && f.digestNow() != was[head] {
					t.Fatalf("restart at %d: another state", head)
				}
			default:
				kind := rapid.SampledFrom([]string{AutoUpsert, AutoDelete, AutoDelta, AutoMixed}).Draw(t, "kind")
				if _, err := r.sim.PublishAuto(r.clock(), kind, 1); err != nil {
					t.Fatal(err)
				}
				was[f.head] = f.digestNow()
			}
			r.drain()
			for seq := f.oldestKept() - 1; seq <= f.head; seq++ {
				if got, ok := r.sim.Digest(seq); !ok || got != was[seq] {
					t.Fatalf("digest of %d: %s %v, was %s", seq, got, ok, was[seq])
				}
				rows, _, ok := f.rowsAt(seq)
				set := rowSet{}
				for _, x := range rows {
					set.add(x.hash)
				}
				if !ok || set.digest() != was[seq] {
					t.Fatalf("rows at %d do not have its digest", seq)
				}
			}
			for _, seq := range []event.Seq{f.oldestKept() - 2, f.head + 1} {
				if _, ok := r.sim.Digest(seq); ok {
					t.Fatalf("a digest of %d, with %d to %d kept", seq, f.oldestKept(), f.head)
				}
			}
		}
	})
}

// TestCursor: only what this simulator writes is read back, and each position has one text.
func TestCursor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, seq := rapid.IntRange(0, 1<<31-1).Draw(t, "version"), event.Seq(rapid.Int64Range(0, int64(event.MaxSeq)).Draw(t, "seq"))
		if gv, gs, ok := parseCursor(SSE, cursor(SSE, v, seq)); !ok || gv != v || gs != seq {
			t.Fatalf("%s read back as %d, %d, %v", cursor(SSE, v, seq), gv, gs, ok)
		}
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`c-[0-9+.-]{0,6}-[0-9 -]{0,18}`)).Draw(t, "text")
		if gv, gs, ok := parseCursor(SSE, text); ok && cursor(SSE, gv, gs) != text {
			t.Fatalf("%q is read as %s", text, cursor(SSE, gv, gs))
		}
	})
	for _, bad := range []string{"", "c-7", "c-7-", "c--1", "c-07-1", "c-7-01", "c-7-1 ", "C-7-1", "c-7-9007199254740992", "c-2147483648-1", "c-7-1-1", "c-+7-1"} {
		if v, seq, ok := parseCursor(SSE, bad); ok {
			t.Errorf("%q read as %d, %d", bad, v, seq)
		}
	}
}

// TestPublishRefuses: a change that could not be encoded is refused before anything is published.
func TestPublishRefuses(t *testing.T) {
	r := newRig(t, Options{})
	good := Upsert("1", `{}`)
	for _, c := range []struct {
		change Change
		want   string
	}{
		{Change{}, "type: a change is an upsert, a delete or a delta"},
		{Change{Kind: event.Snapshot}, "type: a change is an upsert, a delete or a delta"},
		{Upsert("", `{}`), "id: a row's id has 1 to 256 bytes of UTF-8"},
		{Upsert(strings.Repeat("x", 257), `{}`), "id: a row's id has 1 to 256 bytes of UTF-8"},
		{Upsert("1", `{`), "feature: a row's feature is a JSON object"},
		{Upsert("1", `[]`), "feature: a row's feature is a JSON object"},
		{Upsert("1", ``), "feature: a row's feature is a JSON object"},
		{Upsert("1", `{"a":"`+strings.Repeat("x", MaxFeatureBytes)+`"}`), fmt.Sprintf("feature: %d bytes, limit 1048576", MaxFeatureBytes+8)},
		{Upsert("1", `{"a":`+strings.Repeat("[", 70)+strings.Repeat("]", 70)+`}`), "feature: nested deeper than 64"},
		{Delete(""), "id: a row's id has 1 to 256 bytes of UTF-8"},
		{Change{Kind: event.Delta}, "a delta has at least one row or id"},
		{Change{Kind: event.Upsert}, "an upsert has exactly one row"},
		{Change{Kind: event.Delete}, "a delete has exactly one id"},
	} {
		if _, err := r.sim.Publish(r.clock(), good, c.change); err == nil || err.Error() != "changes[1]: "+c.want {
			t.Errorf("%+v: %v, want %s", c.change, err, c.want)
		}
	}
	if _, err := r.sim.Publish(r.clock()); err == nil {
		t.Error("nothing was published without an error")
	}
	if _, err := r.sim.PublishAuto(r.clock(), AutoMixed, MaxPublish+1); err == nil || err.Error() != "count: 10001 is not in 1 to 10000" {
		t.Errorf("too many: %v", err)
	}
	if st := r.sim.State(); st.Head != 0 {
		t.Errorf("head is %d after refusals", st.Head)
	}
}

// TestRowLimit: the state is bounded; what fits still goes in.
func TestRowLimit(t *testing.T) {
	r := newRig(t, Options{Rows: MaxRows})
	if _, err := r.sim.Publish(r.clock(), Upsert("one more", `{}`)); err == nil || !strings.Contains(err.Error(), "rows: the feed holds 16384 of at most 16384") {
		t.Errorf("error %v", err)
	}
	if _, err := r.sim.Publish(r.clock(), Delete("1"), Upsert("one more", `{}`)); err != nil {
		t.Error(err)
	}
}
