package subscription_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/subscription"
	"github.com/conform-dev/conform/core/transport"
)

// tokened offers one cycle that is named by token, or by nothing but its number.
func tokened(to transport.Sink, seq int, token string) error {
	named := ""
	if token != "" {
		named = fmt.Sprintf(`,"deltaToken":%q`, token)
	}
	if err := to.Document(transport.Document{JSON: fmt.Appendf(nil, `{"type":"delta","sequence":%d,"features":[]%s}`, seq, named)}); err != nil {
		return err
	}
	return polled(to, seq, true)
}

// TestPollOlderToken: behind a round whose link holds no token that could be kept (D-22) the older token stands beside the newer number
// (D-03). The next start asks from there, so it gets that round's rows again, and whatever number the service gives them nothing
// is lost: a newer one is applied, the held one under another name is a conflict that a snapshot ends, and without a name it is a duplicate.
func TestPollOlderToken(t *testing.T) {
	for name, tc := range map[string]struct {
		seq   int
		token string
		seen  string
		asked int    // connections of the second start
		saved string // last, by the second start
	}{
		"a newer number":                     {7, "t7", "[delta 7]", 1, "7/t7"},
		"a newer number without a token":     {7, "", "[delta 7]", 1, "7/t5"},
		"the held number, another token":     {6, "t6", "[snapshot 9]", 2, "9/t9"},
		"the held number without a token":    {6, "", "[]", 1, "6/t5"},
		"a number that leaves something out": {8, "t8", "[snapshot 9]", 2, "9/t9"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := newStore(t)
				s := open(t, newPoller(func(ctx context.Context, _ transport.Attempt, to transport.Sink) error {
					_ = round(to, "snapshot", 5)
					_ = tokened(to, 6, "")
					<-ctx.Done()
					return nil
				}), (&seen{}).apply, subscription.WithStore(st))
				time.Sleep(time.Minute)
				closeAndWait(t, s)

				got := &seen{}
				again := newPoller(func(ctx context.Context, _ transport.Attempt, to transport.Sink) error {
					_ = tokened(to, tc.seq, tc.token)
					<-ctx.Done()
					return nil
				}, func(ctx context.Context, _ transport.Attempt, to transport.Sink) error {
					_ = round(to, "snapshot", 9)
					<-ctx.Done()
					return nil
				})
				s = open(t, again, got.apply, subscription.WithStore(st))
				time.Sleep(10 * time.Minute)
				closeAndWait(t, s)
				asked := again.attempts()
				if asked[0].Resume != (event.Position{Seq: 6, DeltaToken: "t5"}) {
					t.Errorf("it asked from %+v", asked[0].Resume)
				}
				if len(asked) != tc.asked || tc.asked == 2 && asked[1].Resume.Seq != event.NoSeq {
					t.Errorf("asked %+v, want %d times, the second time for a snapshot", asked, tc.asked)
				}
				all, err := st.Records(t.Context())
				if err != nil || len(all) != 1 {
					t.Fatalf("%d records, %v", len(all), err)
				}
				last := all[0].Resume
				if held := fmt.Sprintf("%d/%s", last.Seq, last.DeltaToken); got.all() != tc.seen || held != tc.saved {
					t.Errorf("seen %s, stored %s; want %s, %s", got.all(), held, tc.seen, tc.saved)
				}
			})
		})
	}
}
