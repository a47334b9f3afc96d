package start

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/conform-dev/conform/core/container"
	"github.com/conform-dev/conform/core/subject"
)

// contain starts the server in a container.
func (r *Running) contain(ctx context.Context) error {
	spec := container.Spec{}
	if i := r.subject.Server.Image; i != nil {
		spec = container.Spec{Image: i.Name, Command: i.Command, Env: i.Env, Port: i.Port}
	} else {
		b := r.subject.Server.Build
		path := b.Binary
		if !filepath.IsAbs(path) {
			path = filepath.Join(r.subject.Dir, path)
		}
		spec = container.Spec{Binary: path, Command: b.Command, Env: b.Env, Port: b.Port}
	}
	spec.Command = slices.Clone(spec.Command)
	for i, word := range spec.Command {
		spec.Command[i] = subject.Fill(word, map[string]string{"port": fmt.Sprint(spec.Port), "dir": "/tmp"})
	}
	engine, err := container.Connect(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", r.subject.File, err)
	}
	r.engine = engine
	if r.container, err = engine.Start(ctx, spec); err != nil {
		_ = engine.Close()
		return fmt.Errorf("%s: %w", r.subject.File, err)
	}
	r.base = "http://" + r.container.Addr()
	return nil
}

// logs waits until a line of the container's log matches.
func (r *Running) logs(ctx context.Context, pattern string) error {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return err
	}
	for {
		text, err := r.container.Log(ctx)
		if err == nil && re.MatchString(text) {
			return nil
		}
		timer := time.NewTimer(between)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("no line that matches %q; it printed last: %s", pattern, last(r.mask(text)))
		}
	}
}
