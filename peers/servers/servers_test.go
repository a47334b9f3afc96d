// Package servers certifies other people's servers as their users would: by their subject files, with conform's own binary.
package servers

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/conform-dev/conform/internal/need"
)

// patience bounds a build or a run.
const patience = 3 * time.Minute

// command runs a program in dir.
func command(t *testing.T, dir, name string, args ...string) (out string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c := exec.CommandContext(ctx, name, args...)
	c.Dir, c.Env, c.WaitDelay = dir, append(os.Environ(), "CGO_ENABLED=0"), 5*time.Second
	text, err := c.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s %v: %v\n%s", name, args, err, text)
	}
	return string(text), c.ProcessState.ExitCode()
}

// conform builds the binary.
func conform(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "conform")
	if out, code := command(t, "../..", "go", "build", "-o", path, "./cmd/conform"); code != 0 {
		t.Fatal(out)
	}
	return path
}

// failed are the rows that a run says failed.
func failed(out string) (rows []string) {
	for line := range strings.Lines(out) {
		if rest, ok := strings.CutPrefix(line, "failed        "); ok && strings.Contains(line, " on ") {
			row, _, _ := strings.Cut(rest, " ")
			rows = append(rows, row)
		}
	}
	return rows
}

// certify runs a subject and wants just these rows to fail.
func certify(t *testing.T, conform, subject, baseline string, want string, code int) {
	t.Helper()
	args := []string{"run", "--subject", subject, "--out", filepath.Join(t.TempDir(), "out")}
	if baseline != "" {
		args = append(args, "--baseline", baseline)
	}
	out, got := command(t, "..", conform, args...)
	if rows := strings.Join(failed(out), " "); rows != want || got != code {
		t.Errorf("%s: failed: %q, want %q; exit code %d, want %d\n%s", subject, rows, want, got, code, out)
	}
}

// TestNchan: a position that nchan has forgotten is answered as if nothing were lost. With a history that holds everything there is nothing
// to forget; an id that nobody sent is still gone on from.
func TestNchan(t *testing.T) {
	need.Command(t, "nchan", "nginx")
	if _, err := os.Stat("/usr/lib/nginx/modules/ngx_nchan_module.so"); err != nil {
		need.Or(t, "nchan", err)
	}
	c := conform(t)
	certify(t, c, "nchan/subject.yaml", "", "SSE-105 SSE-106", 1)
	certify(t, c, "nchan/subject.yaml", "nchan/baseline.yaml", "SSE-105 SSE-106", 0)
	certify(t, c, "nchan/larger.yaml", "", "SSE-106", 1)
	certify(t, c, "nchan/larger.yaml", "nchan/larger-baseline.yaml", "SSE-106", 0)
}

// TestMercure: mercure names the id that it really goes on from, so that whoever looks sees the gap.
func TestMercure(t *testing.T) {
	c := conform(t)
	if out, code := command(t, "..", "go", "build", "-o", "mercure/mercure", "./mercure"); code != 0 {
		t.Fatal(out)
	}
	certify(t, c, "mercure/subject.yaml", "", "", 0)
}

// maxImage is the largest image of conform itself, in bytes (35 MB).
const maxImage = 35_000_000

// TestSimulatorInAContainer: conform's own binary in an image made of nothing else, examined from outside; afterwards nothing of it is left.
func TestSimulatorInAContainer(t *testing.T) {
	binary := "../simulator/conform"
	if out, code := command(t, "../..", "go", "build", "-trimpath", "-ldflags=-s -w", "-o", "peers/simulator/conform", "./cmd/conform"); code != 0 {
		t.Fatal(out)
	}
	var machine []struct {
		What, Says string
		OK         bool
	}
	out, _ := command(t, "..", "simulator/conform", "doctor", "--json")
	if err := json.Unmarshal([]byte(out), &machine); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, m := range machine {
		if m.What == "docker" && !m.OK {
			need.Or(t, "docker", errors.New(m.Says))
		}
	}
	info, err := os.Stat(binary)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the image holds %d bytes", info.Size())
	if info.Size() > maxImage {
		t.Errorf("the binary has %d bytes, at most %d", info.Size(), maxImage)
	}
	absolute, err := filepath.Abs(binary)
	if err != nil {
		t.Fatal(err)
	}
	certify(t, absolute, "simulator/subject.yaml", "", "", 0)
	docker, err := exec.LookPath("docker") // its command line is not needed but to look
	if err != nil {
		return
	}
	for _, list := range [][]string{{"ps", "--all", "--quiet", "--filter", "label=conform.run"}, {"images", "--quiet", "--filter", "label=conform.run"}} {
		if out, _ := command(t, "..", docker, list...); strings.TrimSpace(out) != "" {
			t.Errorf("docker %s: left behind: %s", list[0], out)
		}
	}
}

// TestGoOData: with its tracker in memory a delta link of before a restart is answered as if nothing had changed; with the tracker in the file
// nothing is lost.
func TestGoOData(t *testing.T) {
	if out, code := command(t, "..", "go", "env", "CC"); code != 0 || os.Getenv("CGO_ENABLED") != "1" {
		need.Or(t, "cgo", errors.New("CGO_ENABLED is not 1, or there is no compiler: "+strings.TrimSpace(out)))
	}
	c := conform(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	build := exec.CommandContext(ctx, "go", "build", "-o", "goodata/goodata", "./goodata")
	build.Dir, build.Env = "..", append(os.Environ(), "CGO_ENABLED=1")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	certify(t, c, "goodata/subject.yaml", "", "ODATA-103", 1)
	certify(t, c, "goodata/subject.yaml", "goodata/baseline.yaml", "ODATA-103", 0)
	certify(t, c, "goodata/persistent.yaml", "", "", 0)
}
