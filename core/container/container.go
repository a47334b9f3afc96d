package container

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
)

// Limits of a container.
const (
	// MaxLog is how much of the end of a log is read, in bytes.
	MaxLog = 64 << 10
	// MaxMemory is what a container may use, in bytes.
	MaxMemory = 1 << 30
	// patience bounds what an engine is asked for.
	patience = time.Minute
)

// Spec is what to start: an image that the engine has, or a static binary that becomes one.
type Spec struct {
	Image   string
	Binary  string
	Command []string
	Env     map[string]string
	Port    int // that it listens on inside
}

// Container is one that was started.
type Container struct {
	engine *Engine
	c      testcontainers.Container
	built  bool
	addr   string
	once   sync.Once
	err    error
	net    string // that it was disconnected from
}

// Start builds what has to be built and starts it. Its port is bound to a free one of 127.0.0.1, which it keeps over a restart. It returns when the
// container runs; whether what is in it is ready is the caller's question.
func (e *Engine) Start(ctx context.Context, s Spec) (*Container, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	host, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	inside, err := network.ParsePort(strconv.Itoa(s.Port) + "/tcp")
	if err != nil {
		return nil, fmt.Errorf("port %d: %w", s.Port, err)
	}
	labels := e.owner.labels()
	r := testcontainers.ContainerRequest{Image: s.Image, Cmd: s.Command, Env: s.Env, Labels: labels, ExposedPorts: []string{inside.String()},
		HostConfigModifier: func(c *container.HostConfig) {
			c.PortBindings = network.PortMap{inside: {{HostIP: netip.MustParseAddr("127.0.0.1"), HostPort: host}}}
			c.Memory = MaxMemory
			c.ReadonlyRootfs, c.Tmpfs = true, map[string]string{"/tmp": "rw,size=64m"}
		}}
	if s.Binary != "" {
		archive, err := contextOf(s.Binary)
		if err != nil {
			return nil, err
		}
		r.Image = ""
		r.FromDockerfile = testcontainers.FromDockerfile{ContextArchive: archive, Repo: "conform", Tag: "run-" + e.owner.pid + "-" + host, KeepImage: true,
			BuildOptionsModifier: func(o *client.ImageBuildOptions) {
				o.Labels, o.Remove, o.ForceRemove = labels, true, true
			}}
	}
	c, err := testcontainers.GenericContainer(ctx, testcontainers.GenericContainerRequest{ContainerRequest: r, Started: true, Logger: quiet{}})
	out := &Container{engine: e, c: c, built: s.Binary != "", addr: "127.0.0.1:" + host}
	if err != nil {
		return nil, errors.Join(errors.New(firstLine(err)), out.Close())
	}
	return out, nil
}

// quiet keeps the library's own log out of conform's.
type quiet struct{}

func (quiet) Printf(string, ...any) {}

func freePort(ctx context.Context) (string, error) {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return strconv.Itoa(ln.Addr().(*net.TCPAddr).Port), ln.Close()
}

// Addr is where its port can be reached from here.
func (c *Container) Addr() string { return c.addr }

// ID is the engine's name for it.
func (c *Container) ID() string { return c.c.GetContainerID() }

// Verbs are what Do knows.
var Verbs = []string{"pause", "unpause", "kill", "restart", "disconnect", "connect"}

// Do does one of Verbs to the container. A killed one is started by restart.
func (c *Container) Do(ctx context.Context, verb string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	id, api := c.ID(), c.engine.client
	switch verb {
	case "pause":
		_, err = api.ContainerPause(ctx, id, client.ContainerPauseOptions{})
	case "unpause":
		_, err = api.ContainerUnpause(ctx, id, client.ContainerUnpauseOptions{})
	case "kill":
		_, err = api.ContainerKill(ctx, id, client.ContainerKillOptions{Signal: "KILL"})
	case "restart":
		soon := 1
		_, err = api.ContainerRestart(ctx, id, client.ContainerRestartOptions{Timeout: &soon})
	case "disconnect":
		return c.disconnect(ctx)
	case "connect":
		_, err = api.NetworkConnect(ctx, c.net, client.NetworkConnectOptions{Container: id})
	default:
		err = fmt.Errorf("%q is none of %v", verb, Verbs)
	}
	return err
}

func (c *Container) disconnect(ctx context.Context) error {
	info, err := c.engine.client.ContainerInspect(ctx, c.ID(), client.ContainerInspectOptions{})
	if err != nil {
		return err
	}
	for name := range info.Container.NetworkSettings.Networks {
		c.net = name
		if _, err := c.engine.client.NetworkDisconnect(ctx, name, client.NetworkDisconnectOptions{Container: c.ID(), Force: true}); err != nil {
			return err
		}
	}
	return nil
}

// Log is the end of what it printed.
func (c *Container) Log(ctx context.Context) (string, error) {
	r, err := c.engine.client.ContainerLogs(ctx, c.ID(), client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true, Tail: "500"})
	if err != nil {
		return "", err
	}
	defer r.Close()
	var b tail
	_, err = stdcopy.StdCopy(&b, &b, io.LimitReader(r, 16*MaxLog))
	return string(b), err
}

// tail keeps the end of what is written.
type tail []byte

func (t *tail) Write(b []byte) (int, error) {
	*t = append(*t, b...)
	if over := len(*t) - MaxLog; over > 0 {
		*t = append((*t)[:0], (*t)[over:]...)
	}
	return len(b), nil
}

// Close removes the container and the image that was built for it. Later calls do nothing.
func (c *Container) Close() error {
	c.once.Do(func() { c.err = c.remove() })
	return c.err
}

func (c *Container) remove() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if c.c == nil {
		return nil
	}
	api := c.engine.client
	info, err := api.ContainerInspect(ctx, c.ID(), client.ContainerInspectOptions{})
	if err != nil {
		if gone(err) {
			return nil
		}
		return err
	}
	_, err = api.ContainerRemove(ctx, c.ID(), client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	if gone(err) {
		err = nil
	}
	if c.built {
		if _, other := api.ImageRemove(ctx, info.Container.Image, client.ImageRemoveOptions{Force: true, PruneChildren: true}); other != nil && !gone(other) {
			err = errors.Join(err, other)
		}
	}
	return err
}
