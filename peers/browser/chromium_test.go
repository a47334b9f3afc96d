package browser

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/conform-dev/conform/internal/need"
)

// longEnough bounds every wait of these tests: what is waited for takes a few seconds, the browser's start included, and
// only a defect reaches it.
const longEnough = 30 * time.Second

//go:embed follow.js
var followJS string

// Event is one event as a client was given it.
type Event struct {
	Type string `json:"type"`
	Data string `json:"data"`
	ID   string `json:"id"` // lastEventId
}

// tab is the one page of a browser.
type tab struct {
	ctx context.Context

	mu  sync.Mutex
	got map[string]*tally // by the URL of the stream
}

// chromium starts a browser that resolves no host but 127.0.0.1, with one page open.
func chromium(t *testing.T, page string) *tab {
	t.Helper()
	path := need.Command(t, "chromium", "chromium", "chromium-browser", "google-chrome")
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path),
		chromedp.UserDataDir(t.TempDir()),
		chromedp.DisableGPU,
		chromedp.Flag("no-proxy-server", true),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"),
	)
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // it refuses to start as root otherwise
	}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &tab{ctx: ctx, got: map[string]*tally{}}
	if err := b.start(page); err != nil {
		t.Fatal(err)
	}
	// Closing by itself, the browser is gone when the test removes its folder.
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Errorf("chromium did not close: %v", err)
		}
	})
	return b
}

// start starts the browser: the context of the first call is the one that it lives as long as, so that one has no deadline of
// its own.
func (b *tab) start(page string) error {
	done := make(chan error, 1)
	go func() {
		done <- chromedp.Do(b.ctx, chromedp.ExposeFunc("tally", b.tally), chromedp.Navigate(page))
	}()
	select {
	case err := <-done:
		return err
	case <-time.After(longEnough):
		return errors.New("chromium did not start")
	}
}

// tally is called by follow.js.
func (b *tab) tally(_ context.Context, url string) (none chromedp.Void, _ error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if got := b.got[url]; got != nil {
		got.add()
	}
	return none, nil
}

// follow is a client: the page is one of the simulator's own origin, so that no proxy and no CORS stand between.
func (b *tab) follow(_ context.Context, url, last string, got *tally) ([]Event, error) {
	b.mu.Lock()
	b.got[url] = got
	b.mu.Unlock()
	host, _, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
	if err := b.visit("http://" + host + "/control/v1/state"); err != nil {
		return nil, err
	}
	return evaluate[[]Event](b, follow(url, types, last))
}

// visit opens a page.
func (b *tab) visit(page string) error {
	ctx, cancel := context.WithTimeout(b.ctx, longEnough)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Navigate(page)); err != nil {
		return fmt.Errorf("chromium at %s: %w", page, err)
	}
	return nil
}

// follow is a call of follow.js.
func follow(url string, types []string, last string) string {
	var args []string
	for _, a := range []any{url, types, last} {
		b, err := json.Marshal(a)
		if err != nil {
			panic(err) // texts only
		}
		args = append(args, string(b))
	}
	return fmt.Sprintf("follow(%s)", strings.Join(args, ", "))
}

// evaluate runs an expression in the page, waits for the promise that it is, and reads the result.
func evaluate[T any](b *tab, expression string) (T, error) {
	ctx, cancel := context.WithTimeout(b.ctx, longEnough)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T](followJS+expression, chromedp.EvalAwaitPromise))
}
