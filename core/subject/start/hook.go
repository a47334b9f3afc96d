package start

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/conform-dev/conform/core/subject"
)

// ErrNoHook is wrapped by the error of a hook that the subject does not have.
var ErrNoHook = errors.New("the subject has no such hook")

// Do runs a hook with values for its placeholders, and waits until it is over, at most for its time. An error says which hook, what was
// done and what came back; no secret of the file stands in it.
func (r *Running) Do(ctx context.Context, name string, values map[string]string) error {
	h, ok := r.subject.Hooks[name]
	if !ok {
		return fmt.Errorf("%w: %s", ErrNoHook, name)
	}
	ctx, cancel := context.WithTimeout(ctx, h.Within)
	defer cancel()
	filled := map[string]string{"base": r.base}
	for k, v := range values {
		filled[k] = v
	}
	var err error
	switch {
	case h.HTTP != nil:
		err = r.request(ctx, h.HTTP, filled)
	case len(h.Command) > 0:
		err = r.command(ctx, h.Command, filled)
	default:
		if err = fmt.Errorf("container %s: the server runs in no container", h.Container); r.container != nil {
			err = r.container.Do(ctx, h.Container)
		}
	}
	if err != nil {
		return fmt.Errorf("%s: hooks.%s: %s", r.subject.File, name, r.mask(err.Error()))
	}
	return nil
}

func (r *Running) request(ctx context.Context, h *subject.HTTP, values map[string]string) error {
	url := subject.Fill(h.URL, values)
	if strings.HasPrefix(url, "/") {
		url = r.base + url
	}
	request, err := http.NewRequestWithContext(ctx, h.Method, url, strings.NewReader(subject.Fill(h.Body, values)))
	if err != nil {
		return err
	}
	if err := r.dress(request); err != nil {
		return err
	}
	for name, v := range h.Headers {
		text, err := v.Resolve(r.subject.Dir, os.LookupEnv)
		if err != nil {
			return fmt.Errorf("headers.%s: %w", name, err)
		}
		request.Header.Set(name, text)
	}
	response, err := r.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(response.Body, 4096))
	good := response.StatusCode/100 == 2
	if len(h.Status) > 0 {
		good = slices.Contains(h.Status, response.StatusCode)
	}
	if !good {
		return fmt.Errorf("%s %s was answered with %d: %s", h.Method, url, response.StatusCode, last(string(body)))
	}
	return nil
}

func (r *Running) command(ctx context.Context, words []string, values map[string]string) error {
	filled := make([]string, len(words))
	for i, w := range words {
		filled[i] = subject.Fill(w, values)
	}
	c := exec.CommandContext(ctx, filled[0], filled[1:]...)
	c.Dir, c.WaitDelay = r.subject.Dir, patience
	printed := newTail()
	c.Stdout, c.Stderr = printed, printed
	own(c)
	c.Cancel = func() error { kill(c); return nil }
	if err := c.Run(); err != nil {
		text, _ := printed.look()
		return fmt.Errorf("%s: %w; it printed last: %s", filled[0], err, last(text))
	}
	return nil
}
