package container

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/log"
)

// NoDocker is the error of a machine without an engine: why, and what would change that.
type NoDocker struct{ Why string }

// Error says both.
func (e *NoDocker) Error() string {
	return "no Docker engine: " + e.Why + "; start one (Debian: apt-get install docker.io), or name it in DOCKER_HOST"
}

// reach bounds how long an engine may take to answer at all.
const reach = 5 * time.Second

// Engine is a Docker engine that answered.
type Engine struct {
	client *testcontainers.DockerClient
	owner  owner
}

// Version is what an engine says about itself.
type Version struct{ Engine, API string }

// Connect finds the engine of DOCKER_HOST, or the usual one, and removes what dead runs of conform left in it. The error of a machine without
// one is a *NoDocker.
func Connect(ctx context.Context) (*Engine, error) { return connect(ctx) }

func connect(ctx context.Context, more ...client.Opt) (*Engine, error) {
	// testcontainers' reaper is an image of a registry; conform sweeps by itself.
	if err := os.Setenv("TESTCONTAINERS_RYUK_DISABLED", "true"); err != nil {
		return nil, err
	}
	log.SetDefault(log.NewNoopLogger()) // it greets every engine, on standard error
	ctx, cancel := context.WithTimeout(ctx, reach)
	defer cancel()
	c, err := testcontainers.NewDockerClientWithOpts(ctx, more...)
	if err != nil {
		return nil, &NoDocker{firstLine(err)}
	}
	if _, err := c.Ping(ctx, client.PingOptions{}); err != nil {
		return nil, errors.Join(&NoDocker{firstLine(err)}, c.Close())
	}
	e := &Engine{client: c, owner: self()}
	if err := e.Sweep(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return e, nil
}

// Version asks the engine.
func (e *Engine) Version(ctx context.Context) (Version, error) {
	v, err := e.client.ServerVersion(ctx, client.ServerVersionOptions{})
	if err != nil {
		return Version{}, err
	}
	return Version{v.Version, v.APIVersion}, nil
}

// Close lets go of the engine. Containers are closed one by one.
func (e *Engine) Close() error { return e.client.Close() }

func firstLine(err error) string {
	text := err.Error()
	for i, c := range text {
		if c == '\n' {
			return text[:i]
		}
	}
	return text
}

// Sweep removes the containers and images of runs of conform that are over: their process is gone, or is another one by now. What a live run
// has is left alone, and so is everything that conform did not make.
func (e *Engine) Sweep(ctx context.Context) error {
	mine := make(client.Filters).Add("label", labelRun)
	list, err := e.client.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: mine})
	if err != nil {
		return fmt.Errorf("containers of dead runs: %w", err)
	}
	for _, c := range list.Items {
		if !ownerOf(c.Labels).alive() {
			if _, err := e.client.ContainerRemove(ctx, c.ID, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true}); err != nil && !gone(err) {
				return fmt.Errorf("a container of a dead run: %w", err)
			}
		}
	}
	images, err := e.client.ImageList(ctx, client.ImageListOptions{Filters: mine})
	if err != nil {
		return fmt.Errorf("images of dead runs: %w", err)
	}
	for _, i := range images.Items {
		if !ownerOf(i.Labels).alive() {
			if _, err := e.client.ImageRemove(ctx, i.ID, client.ImageRemoveOptions{Force: true, PruneChildren: true}); err != nil && !gone(err) {
				return fmt.Errorf("an image of a dead run: %w", err)
			}
		}
	}
	return nil
}
