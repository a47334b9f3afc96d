package browser

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
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

// chromium starts a browser that can reach loopback addresses only, with one page open.
func chromium(t *testing.T, page string) context.Context {
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
	if err := start(ctx, page); err != nil {
		t.Fatal(err)
	}
	// Closing by itself, the browser is gone when the test removes its folder.
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Errorf("chromium did not close: %v", err)
		}
	})
	return ctx
}

// start starts the browser: the context of the first call is the one that it lives as long as, so that one has no deadline of
// its own.
func start(ctx context.Context, page string) error {
	done := make(chan error, 1)
	go func() { done <- chromedp.Do(ctx, chromedp.Navigate(page)) }()
	select {
	case err := <-done:
		return err
	case <-time.After(longEnough):
		return errors.New("chromium did not start")
	}
}

// visit opens a page. What is asked from it then is of its own origin.
func visit(tab context.Context, page string) error {
	ctx, cancel := context.WithTimeout(tab, longEnough)
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
func evaluate[T any](tab context.Context, expression string) (T, error) {
	ctx, cancel := context.WithTimeout(tab, longEnough)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T](followJS+expression, chromedp.EvalAwaitPromise))
}
