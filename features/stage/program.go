package stage

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"github.com/conform-dev/conform/core/host"
	"github.com/conform-dev/conform/core/plugin/wire"
	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/simulator/world"
)

// program is the transport's command with what a scenario says is wrong with it: a shell in front of the real program, or in
// its place.
func program(c host.Command, wrong string) (host.Command, error) {
	if wrong == "" {
		return c, nil
	}
	if runtime.GOOS == "windows" {
		return c, fmt.Errorf("plugin %s: %w: there is no shell to make it with", wrong, ErrLane)
	}
	line := "1|" + strconv.Itoa(wire.ProtocolVersion) + "|unix|$PLUGIN_UNIX_SOCKET_DIR/s|grpc|"
	script := map[string]string{
		"speaks first":           `echo "Loading configuration..."; exec "$0" "$@"`,
		"speaks another version": `echo "1|99|unix|$PLUGIN_UNIX_SOCKET_DIR/s|grpc|AAAA"; exec cat`,
		"shows no certificate":   `echo "` + line + `"; exec cat`,
	}[wrong]
	c.Args = append([]string{"-c", script, c.Path}, c.Args...)
	c.Path = "/bin/sh"
	return c, nil
}

// unstarted writes down why the transport's program was refused, if it was one that should be.
func (p *process) unstarted(err error) error {
	var problem *host.Error
	if p.setup.Plugin == "" || !errors.As(err, &problem) {
		return err
	}
	r := trace.New(trace.Plugin, trace.PluginMeasured)
	r.Args = map[string]string{"refusal": strings.ReplaceAll(problem.Problem, `"`, "'")}
	p.book.add(r)
	p.missing = true
	return nil
}

// claimed is a transport that claims what the scenario says.
type claimed struct {
	transport.Transport
	as *world.ClientConfig
}

func (c claimed) Describe(ctx context.Context) (transport.Descriptor, error) {
	d, err := c.Transport.Describe(ctx)
	return c.as.Claimed(d), err
}
