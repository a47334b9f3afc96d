// Package need decides what a test does about something that a machine may not have: a browser, a container engine. Absent
// and optional, the test is skipped and says why; absent and named in CONFORM_REQUIRE, it fails. CI names what it installed, so
// that a test which quietly stopped running is noticed.
package need

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// Env is the environment variable that names what must be there: a list with commas, for example "chromium".
const Env = "CONFORM_REQUIRE"

// Known are the names that may stand in Env, each with how to get the thing. Any other name fails every test that has a need:
// a misspelt requirement would require nothing.
var Known = map[string]string{
	"curl":     "curl (Debian: apt-get install curl)",
	"strace":   "strace (Debian: apt-get install strace), with leave to trace processes",
	"cgo":      "a C compiler, and CGO_ENABLED=1 (Debian: apt-get install gcc libc6-dev)",
	"procfs":   "a /proc that shows the environment of one's own processes (Linux)",
	"docker":   "a Docker engine that answers (Debian: apt-get install docker.io), with leave to use it",
	"nchan":    "nginx with the nchan module (Debian: apt-get install nginx-light libnginx-mod-nchan)",
	"chromium": "a Chromium with headless mode (Debian: apt-get install chromium)",
}

// T is the part of testing.TB that is used.
type T interface {
	Helper()
	Skipf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Or returns if absent is nil. Otherwise name is not to be had, for the reason in absent: the test ends, as failed if Env
// names it, else as skipped.
func Or(t T, name string, absent error) {
	t.Helper()
	required, err := parse(os.Getenv(Env))
	switch {
	case err != nil:
		t.Fatalf("%v", err)
	case Known[name] == "":
		t.Fatalf("need: %q is not in need.Known", name)
	case absent == nil:
	case slices.Contains(required, name):
		t.Fatalf("%s is required by %s and absent: %v; it is %s", name, Env, absent, Known[name])
	default:
		t.Skipf("%s is absent: %v; it is %s", name, absent, Known[name])
	}
}

// Command is the path of the first of the commands that is installed. If there is none, the test ends as Or says.
func Command(t T, name string, commands ...string) string {
	t.Helper()
	for _, c := range commands {
		if path, err := exec.LookPath(c); err == nil {
			Or(t, name, nil)
			return path
		}
	}
	Or(t, name, fmt.Errorf("no command %s", strings.Join(commands, ", ")))
	return ""
}

// parse reads the value of Env.
func parse(list string) ([]string, error) {
	var names []string
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if name == "" {
			continue
		}
		if Known[name] == "" {
			return nil, fmt.Errorf("%s: %q is none of %s", Env, name, strings.Join(slices.Sorted(maps.Keys(Known)), ", "))
		}
		names = append(names, name)
	}
	return names, nil
}
