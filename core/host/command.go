// Package host starts, supervises, locks in and kills plugin processes. A Plugin is a transport.Transport whose connections run in
// another process: what that process does, it cannot take the host with it, outlive it, read its environment, fill its memory
// or hang it.
package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/conform-dev/conform/core/plugin/wire"
)

// Command says how to start a plugin.
type Command struct {
	Name string   // for messages and events
	Path string   // of the executable; relative to the working directory
	Args []string // without the program's name
	// Inherit names environment variables of the host that the plugin gets beside DefaultEnv. Nothing else of the host's
	// environment reaches it: tokens live there.
	Inherit []string
	// Env is set for the plugin, each `KEY=VALUE`; it wins over what is inherited.
	Env []string
	// OnEvent is told what happens to the plugin's processes, one event at a time, from goroutines of the host. It must not call
	// the Plugin and should return soon. May be nil.
	OnEvent func(Event)
}

// DefaultEnv are the variables that a plugin inherits: where programs and trusted certificates are, time zone and language.
var DefaultEnv = []string{"PATH", "TZ", "LANG", "LC_ALL", "SSL_CERT_FILE", "SSL_CERT_DIR"}

// Self is the command that starts a transport bundled with the running program: `plugin serve NAME`, which plugin.ServeArgs answers. A
// test binary whose TestMain calls that is its own plugin.
func Self(name string) (Command, error) {
	path, err := os.Executable()
	if err != nil {
		return Command{}, fmt.Errorf("plugin %q: cannot find the running program: %w", name, err)
	}
	return Command{Name: name, Path: path, Args: []string{"plugin", "serve", name}}, nil
}

// check makes the path absolute and finds the mistakes that exec would report less clearly.
func (c *Command) check() error {
	if c.Name == "" {
		c.Name = filepath.Base(c.Path)
	}
	if c.Path == "" {
		return errors.New("no path given")
	}
	path, err := filepath.Abs(c.Path)
	if err != nil {
		return err
	}
	c.Path = path
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%s does not exist", path)
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a directory, not a program", path)
	case !runnable(info):
		return fmt.Errorf("%s is not executable (mode %v)", path, info.Mode())
	}
	return nil
}

// environ is the whole environment of the plugin, except for what go-plugin adds for the handshake.
func (c *Command) environ(dir string) []string {
	env := []string{
		// Temporary files of a plugin go away with its run directory.
		"TMPDIR=" + dir,
		wire.HostPIDKey + "=" + strconv.Itoa(os.Getpid()),
	}
	for _, names := range [][]string{DefaultEnv, c.Inherit} {
		for _, name := range names {
			if value, ok := os.LookupEnv(name); ok {
				env = append(env, name+"="+value)
			}
		}
	}
	return append(env, c.Env...)
}
