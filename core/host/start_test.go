//go:build linux

package host

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/conform-dev/conform/core/plugin/wire"
)

func TestStartSaysWhyInOneLine(t *testing.T) {
	leakCheck(t)
	dir := t.TempDir()
	file := func(name, content string, mode os.FileMode) Command {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return Command{Name: name, Path: path}
	}
	self := mustSelf("x").Path
	for _, c := range []struct {
		name    string
		command Command
		want    string
	}{
		{"missing file", Command{Name: "gone", Path: dir + "/gone"}, dir + "/gone does not exist"},
		{"no path", Command{Name: "none"}, "no path given"},
		{"directory", Command{Name: "dir", Path: dir}, "is a directory, not a program"},
		{"not executable", file("plain", "#!/bin/sh\n", 0o644), "is not executable (mode -rw-r--r--)"},
		{"wrong architecture", file("foreign", foreignELF(), 0o755), "is no program for " + runtime.GOOS + "/" + runtime.GOARCH},
		{"text without #!", file("notes", "hello\n", 0o755), "is no program for"},
		{"missing interpreter", file("script", "#!/no/such/interpreter\n", 0o755), "the interpreter or loader that it names does not exist"},
		{"polluted stdout", rogueCommand("says", "Loading configuration..."), `its first line on standard output is no handshake, but "Loading configuration..."; nothing else may be printed there`},
		{"endless first line", rogueCommand("floods", ""), "its first line on standard output is longer than 8192 bytes"},
		{"foreign socket", rogueCommand("says", "1|1|unix|/run/docker.sock|grpc|abc"), "not at a unix socket in the directory it was given"},
		{"foreign host", rogueCommand("says", "1|1|tcp|192.0.2.1:80|grpc|abc"), "not at a unix socket in the directory it was given"},
		{"net/rpc", rogueCommand("says", "1|1|unix|TMP/s|netrpc|abc"), "not at a unix socket"},
		{"other core protocol", rogueCommand("says", "2|1|unix|/x|grpc|abc"), `version "2" of go-plugin's handshake`},
		{"dies at once", rogueCommand("dies", ""), `it ended before its handshake: exit status 7 (it printed: "config: no such file")`},
		{"other protocol version", rogueCommand("serves", "version"), `it speaks protocol version "2", this conform speaks 1`},
		{"invalid description", rogueCommand("serves", "no-name"), "its description is invalid: name is missing"},
		{"never describes itself", mustSelf("mute"), "it did not describe itself within 500ms"},
		{"never says anything", rogueCommand("sleeps", filepath.Join(dir, "pid")), "it was not ready within 3s"},
		{"unknown bundled name", Command{Name: "nope", Path: self, Args: []string{"plugin", "serve", "nope"}}, "exit status 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := &eventLog{}
			c.command.OnEvent = log.add
			p, err := start(context.Background(), c.command, hasty, time.Now)
			if err == nil {
				p.Close()
				t.Fatal("it started")
			}
			var problem *Error
			if !errors.As(err, &problem) || problem.Plugin != c.command.Name {
				t.Errorf("error is %#v", err)
			}
			if text := err.Error(); !strings.Contains(text, c.want) || strings.ContainsRune(text, '\n') {
				t.Errorf("got  %s\nwant %s", text, c.want)
			}
			if log.kinds() != "refused" {
				t.Errorf("events: %s", log.kinds())
			}
		})
	}
	if pid, err := os.ReadFile(filepath.Join(dir, "pid")); err != nil || !dead(atoi(string(pid))) {
		t.Errorf("the process that never spoke lives on (pid %s, %v)", pid, err)
	}
}

// foreignELF is the head of an ELF program for a machine that nobody has.
func foreignELF() string {
	head := make([]byte, 4096)
	copy(head, "\x7fELF\x02\x01\x01")
	binary.LittleEndian.PutUint16(head[16:], 2)      // executable
	binary.LittleEndian.PutUint16(head[18:], 0xfedc) // machine
	binary.LittleEndian.PutUint32(head[20:], 1)
	return string(head)
}

func atoi(s string) int {
	n := 0
	for _, c := range s {
		n = n*10 + int(c-'0')
	}
	return n
}

func TestStartIsCancelled(t *testing.T) {
	leakCheck(t)
	ctx, cancel := context.WithCancel(context.Background())
	file := filepath.Join(t.TempDir(), "pid")
	go func() {
		for {
			if b, _ := os.ReadFile(file); len(b) > 0 {
				cancel()
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	if _, err := Start(ctx, rogueCommand("sleeps", file)); err == nil || !strings.Contains(err.Error(), "context canceled") {
		t.Errorf("got %v", err)
	}
}

func TestByHandAPluginExplainsItself(t *testing.T) {
	bundled := mustSelf("script")
	program := filepath.Base(bundled.Path)
	for _, c := range []struct {
		args []string
		want string
	}{
		{bundled.Args, "script is a transport plugin for conform (protocol version 1).\nconform starts it and talks to it; by itself it does nothing. To certify it:\n\n    " + program + " run --transport script\n"},
		{[]string{"rogue", "sdk", ""}, program + " is a transport plugin for conform (protocol version 1).\nconform starts it and talks to it; by itself it does nothing. To certify it:\n\n    conform run --plugin " + program + "=" + bundled.Path + "\n"},
	} {
		out, err := exec.Command(bundled.Path, c.args...).CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 1 {
			t.Errorf("exit: %v, want status 1", err)
		}
		if string(out) != c.want {
			t.Errorf("it says:\n%s\nwant:\n%s", out, c.want)
		}
	}
}

func TestHandshakeLine(t *testing.T) {
	const dir = "/run/c"
	for line, want := range map[string]string{
		"1|1|unix|/run/c/d/s|grpc|MIIB\n":      "",
		"1|1|unix|/run/c/d/s|grpc|MIIB|true\n": "",
		"1|1|unix|/run/c/d/s|grpc|":            "presented no certificate",
		"1|1|unix|/run/c/../x|grpc|MIIB":       "not at a unix socket",
		"1|1|unix|/run/c|grpc|MIIB":            "not at a unix socket",
		"1|1|unix|d/s|grpc|MIIB":               "not at a unix socket",
		"1|1|unix|/run/c/d/s|netrpc|MIIB":      "offers \"netrpc\" instead of grpc",
		"1|01|unix|/run/c/d/s|grpc|MIIB":       "protocol version \"01\"",
		"1|1|unix":                             "is no handshake",
		"":                                     "is no handshake",
		"\xff\xfe|||||":                        "is no handshake",
	} {
		err := checkHandshake(line, dir)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: got %v, want %q", line, err, want)
		}
	}
}

func TestRunDirKeepsSocketPathsShort(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("d", 60))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := makeRunDir(long); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Errorf("only a long base: %v", err)
	}
	run, err := makeRunDir(long, "/tmp")
	if err != nil {
		t.Fatal(err)
	}
	defer run.remove()
	if got := len(run.path) + socketTail; got > socketPathLimit {
		t.Errorf("socket path may have %d bytes", got)
	}
	if info, err := os.Stat(run.path); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v: want mode 0700", info.Mode(), err)
	}
	if _, err := makeRunDir("/no/such/dir"); err == nil {
		t.Error("a missing base was accepted")
	}
}

func TestSelfNamesTheRunningProgram(t *testing.T) {
	p, _ := startT(t, mustSelf("script"), standard, time.Now)
	d, err := p.Describe(context.Background())
	if err != nil || d.Name != "test" || d.Options[0].Name != wire.OptionMaxEventBytes {
		t.Errorf("%+v, %v", d, err)
	}
}
