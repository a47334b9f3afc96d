package credential

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/conform-dev/conform/core/transport"
)

// The exact text of fleet facts 6, row 7.
const undeclared = "no fleet-surface credential declared (fleet.planeAdmissionBearer / fleet.planeAdmissionBearerFile) — poll remains the truth lane"

// setup writes secret files and is the environment that names them. A leaf's value that begins with @ goes into a file.
func setup(t *testing.T, leaves map[string]string) (Sources, string) {
	t.Helper()
	dir := t.TempDir()
	env := map[string]string{}
	for leaf, value := range leaves {
		if text, isFile := strings.CutPrefix(value, "@"); isFile {
			value = filepath.Join(dir, leaf)
			if err := os.WriteFile(value, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		env[Variable(leaf)] = strings.ReplaceAll(value, "DIR", dir)
	}
	return Sources{Lookup: func(name string) (string, bool) { v, set := env[name]; return v, set }}, dir
}

// show is what came of it, with the directory as DIR and the secrets revealed.
func show(r Relay, err error, dir string) string {
	text := ""
	switch {
	case err != nil:
		text = "refused: " + err.Error()
	case !r.Declared():
		text = r.Reason()
	default:
		text = r.Credential().Header + ": " + r.Credential().Value.Reveal()
	}
	for _, h := range r.Headers() {
		text += " | " + h.Name + ": " + h.Value.Reveal()
	}
	for _, n := range r.Notes() {
		text += " | " + n
	}
	return strings.ReplaceAll(text, dir, "DIR")
}

func TestResolve(t *testing.T) {
	const (
		own, file = LeafPlaneAdmissionBearer, LeafPlaneAdmissionBearerFile
		mcp, mcpF = LeafPlaneBearer, LeafPlaneBearerFile
		boot      = LeafAdmissionTokenFile
		poll      = " | Conform-Poll-Authorization: Bearer MCP-AAA"
		ledger    = "; the credential-class ledger forbids one secret in two classes: mint another one"
		aliasMCP  = "refused: fleet.planeAdmissionBearer holds the same secret as fleet.planeBearer, the plane-MCP bearer" + ledger
		aliasBoot = "refused: fleet.planeAdmissionBearerFile holds the same secret as fleet.admissionTokenFile, the bootstrap/healthcheck admission token" + ledger
	)
	type leaves = map[string]string
	for _, c := range []struct {
		name string
		in   leaves
		want string
	}{
		{"P-FW-12: nothing", leaves{own: "", mcp: "MCP-AAA", boot: "@BOOT-BBB"}, undeclared + poll},
		{"P-FW-12, A16: aliases the plane-MCP bearer", leaves{own: "MCP-AAA", mcp: "MCP-AAA", boot: "@BOOT-BBB"}, aliasMCP},
		{"P-FW-12, A17: aliases the bootstrap token", leaves{file: "@BOOT-BBB\n", mcp: "MCP-AAA", boot: "@BOOT-BBB"}, aliasBoot},
		{"P-FW-12: direct wins", leaves{own: "OWN-CCC", file: "@MCP-AAA", mcp: "MCP-AAA", boot: "@BOOT-BBB"}, "Authorization: Bearer OWN-CCC" + poll},
		{"P-FW-12: line ends", leaves{file: "@OWN-CCC\r\n", mcp: "MCP-AAA", boot: "@BOOT-BBB"}, "Authorization: Bearer OWN-CCC" + poll},
		{"P-FW-12: blank is empty", leaves{own: "   ", mcp: "MCP-AAA", boot: "@BOOT-BBB"}, undeclared + poll},
		{"A15: direct trimmed", leaves{own: " \tOWN-CCC\n"}, "Authorization: Bearer OWN-CCC"},
		{"A15: file trimmed", leaves{file: "@\uFEFF OWN-CCC \n\n"}, "Authorization: Bearer OWN-CCC"},
		{"A15: a plane bearer alone is no substitute", leaves{mcp: "MCP-AAA"}, undeclared + poll},
		{"A15, D-55: missing file", leaves{file: "DIR/none"}, undeclared + " · fleet.planeAdmissionBearerFile: file DIR/none: no such file or directory"},
		{"D-55: a directory", leaves{file: "DIR"}, undeclared + " · fleet.planeAdmissionBearerFile: file DIR is no regular file"},
		{"D-55: empty file", leaves{file: "@ \r\n"}, undeclared + " · fleet.planeAdmissionBearerFile: file DIR/fleet.planeAdmissionBearerFile is empty"},
		{"a file with a line end inside", leaves{file: "@OWN\nCCC"}, undeclared + " · fleet.planeAdmissionBearerFile: file DIR/fleet.planeAdmissionBearerFile holds a byte that no header may hold"},
		{"a direct value that cannot be sent is not stood in for", leaves{own: "OWN\x00CCC", file: "@OWN-CCC"}, undeclared + " · fleet.planeAdmissionBearer: environment variable CONFORM_FLEET_PLANE_ADMISSION_BEARER holds a byte that no header may hold"},
		{"as long as may be", leaves{own: strings.Repeat("x", MaxSecretBytes)}, "Authorization: Bearer " + strings.Repeat("x", MaxSecretBytes)},
		{"too long", leaves{own: strings.Repeat("x", MaxSecretBytes+1)}, undeclared + " · fleet.planeAdmissionBearer: environment variable CONFORM_FLEET_PLANE_ADMISSION_BEARER holds more than 8185 bytes"},
		{"a file too long", leaves{file: "@" + strings.Repeat("x", MaxSecretBytes+3)}, undeclared + " · fleet.planeAdmissionBearerFile: file DIR/fleet.planeAdmissionBearerFile is larger than 8187 bytes"},
		{"A8: plane bearer, direct wins", leaves{own: "OWN-CCC", mcp: " MCP-AAA ", mcpF: "@OTHER"}, "Authorization: Bearer OWN-CCC" + poll},
		{"A8: plane bearer, file trimmed", leaves{own: "OWN-CCC", mcpF: "@MCP-AAA\r\n"}, "Authorization: Bearer OWN-CCC" + poll},
		{"A8: plane bearer, missing file", leaves{own: "OWN-CCC", mcpF: "DIR/none"}, "Authorization: Bearer OWN-CCC | fleet.planeBearerFile: file DIR/none: no such file or directory; nothing was compared with it"},
		{"A10: plane bearer aliases the bootstrap token", leaves{mcp: "BOOT-BBB", boot: "@BOOT-BBB"}, "refused: fleet.planeBearer holds the same secret as fleet.admissionTokenFile, the bootstrap/healthcheck admission token" + ledger},
		{"A11, A18: distinct passes", leaves{own: "OWN-CCC", mcp: "MCP-AAA", boot: "@BOOT-BBB"}, "Authorization: Bearer OWN-CCC" + poll},
		{"A14: unreadable bootstrap token", leaves{own: "OWN-CCC", boot: "DIR/none"}, "Authorization: Bearer OWN-CCC | fleet.admissionTokenFile: file DIR/none: no such file or directory; nothing was compared with it"},
		{"A16: file against file, after trimming", leaves{file: "@MCP-AAA\n", mcpF: "@\tMCP-AAA"}, "refused: fleet.planeAdmissionBearerFile holds the same secret as fleet.planeBearerFile, the plane-MCP bearer" + ledger},
		{"A16: the plane-MCP check comes first", leaves{own: "X", mcp: "X", boot: "@X"}, aliasMCP},
		{"A18: nothing passes empty", leaves{}, undeclared},
		{"case counts", leaves{own: "own", mcp: "OWN"}, "Authorization: Bearer own | Conform-Poll-Authorization: Bearer OWN"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, dir := setup(t, c.in)
			r, err := Resolve(s)
			if got := show(r, err, dir); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
			var alias *AliasError
			if refused := strings.HasPrefix(c.want, "refused: "); refused != errors.As(err, &alias) || refused && (r.Declared() || r.Headers() != nil) {
				t.Errorf("refused: %v, %+v", err, r)
			}
		})
	}
}

// Where a leaf is taken from: a flag replaces both homes of its class, the environment comes before the configuration file.
func TestSources(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	secret := write("secret", "FROM-FILE\n")
	config := write("config", "fleet:\n  planeAdmissionBearer: FROM-CONFIG\n  planeBearerFile: "+secret+"\n  planeBearer: ~\n")
	env := func(pairs ...string) func(string) (string, bool) {
		m := map[string]string{}
		for i := 0; i+1 < len(pairs); i += 2 {
			m[pairs[i]] = pairs[i+1]
		}
		return func(name string) (string, bool) { v, set := m[name]; return v, set }
	}
	const variable = "CONFORM_FLEET_PLANE_ADMISSION_BEARER"
	for _, c := range []struct {
		name string
		s    Sources
		want string
	}{
		{"config", Sources{Config: config, Lookup: env()}, "Authorization: Bearer FROM-CONFIG | Conform-Poll-Authorization: Bearer FROM-FILE"},
		{"environment before config", Sources{Config: config, Lookup: env(variable, "FROM-ENV")}, "Authorization: Bearer FROM-ENV | Conform-Poll-Authorization: Bearer FROM-FILE"},
		{"a blank variable is none", Sources{Config: config, Lookup: env(variable, "  ")}, "Authorization: Bearer FROM-CONFIG | Conform-Poll-Authorization: Bearer FROM-FILE"},
		{"a flag's file before a direct value", Sources{AdmissionBearer: "file:" + secret, Lookup: env(variable, "FROM-ENV")}, "Authorization: Bearer FROM-FILE"},
		{"a flag's variable", Sources{AdmissionBearer: "env:MINE", PlaneBearer: "file:" + secret, Lookup: env(variable, "FROM-ENV", "MINE", "FROM-MINE")}, "Authorization: Bearer FROM-MINE | Conform-Poll-Authorization: Bearer FROM-FILE"},
		{"a flag's blank variable is empty, and nothing stands in", Sources{AdmissionBearer: "env:MINE", Lookup: env(variable, "FROM-ENV", "MINE", " ")}, undeclared},
		{"a flag's variable that is not set", Sources{AdmissionBearer: "env:MINE", Lookup: env()}, "refused: the admission bearer names the environment variable MINE, which is not set"},
		{"the bootstrap token by flag", Sources{AdmissionBearer: "env:MINE", AdmissionToken: "file:" + secret, Lookup: env("MINE", "FROM-FILE")}, "refused: fleet.planeAdmissionBearer holds the same secret as fleet.admissionTokenFile, the bootstrap/healthcheck admission token; the credential-class ledger forbids one secret in two classes: mint another one"},
		{"the bootstrap token from a variable", Sources{AdmissionToken: "env:MINE", Lookup: env("MINE", "x")}, "refused: the admission token must be file:PATH: fleet.admissionTokenFile is the only leaf of its class"},
		{"no config", Sources{Config: filepath.Join(dir, "none"), Lookup: env()}, "refused: config: file DIR/none: no such file or directory"},
		{"config too large", Sources{Config: write("large", strings.Repeat("#", MaxConfigBytes+1)), Lookup: env()}, "refused: config: file DIR/large is larger than 65536 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := Resolve(c.s)
			if got := show(r, err, dir); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
	t.Run("the process environment", func(t *testing.T) {
		t.Setenv(variable, "FROM-PROCESS")
		if r, err := Resolve(Sources{}); err != nil || r.Credential().Value.Reveal() != "Bearer FROM-PROCESS" {
			t.Errorf("got %v", err)
		}
	})
}

// A value in the place of a reference is refused, and is not repeated.
func TestValueFlags(t *testing.T) {
	const canary = "s3cr3t-canary"
	for _, text := range []string{canary, "value:" + canary, "env:" + canary, "env:", "file:", "file:\x00", "env:1A", "Bearer " + canary, "ENV:" + canary} {
		err := CheckReference(text)
		if !errors.Is(err, ErrValue) || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%q: %v", text, err)
		}
		var flag *FlagError
		if _, err := Resolve(Sources{AdmissionBearer: text}); !errors.As(err, &flag) || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"env:A_1", "file:/x:y", "file:relative"} {
		if err := CheckReference(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Secrets are read once, and no way of printing what holds them shows one.
func TestCanary(t *testing.T) {
	const one, three = "s3cr3t-one", "s3cr3t-three"
	s, dir := setup(t, map[string]string{LeafPlaneAdmissionBearerFile: "@" + one, LeafPlaneBearer: three})
	r, err := Resolve(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, LeafPlaneAdmissionBearerFile), []byte("rotated"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, scope, err := r.CredentialSource()(context.Background(), true)
	if err != nil || scope != "" || c.Value.Reveal() != "Bearer "+one {
		t.Errorf("rotation needs a restart: %v %q", err, scope)
	}
	h, err := r.HeaderSource()(context.Background())
	if err != nil || len(h) != 1 || h[0].Name != transport.PollCredential || h[0].Value.Reveal() != "Bearer "+three {
		t.Errorf("headers: %v %v", h, err)
	}
	text, err := json.Marshal(map[string]any{"relay": r, "credential": c, "headers": h})
	if err != nil {
		t.Fatal(err)
	}
	if all := fmt.Sprintf("%v %+v %#v %s %v %+v %s", r, r, r, r.Reason(), c, h, text); strings.Contains(all, "s3cr3t") {
		t.Errorf("printed: %s", all)
	}
	for _, leaves := range []map[string]string{
		{LeafPlaneAdmissionBearer: one, LeafPlaneBearer: one},
		{LeafPlaneAdmissionBearer: one + "\x01"},
		{LeafPlaneAdmissionBearerFile: "@" + one + "\ninner"},
		{LeafPlaneBearer: one + "\x01", LeafPlaneAdmissionBearer: "x"},
	} {
		s, dir := setup(t, leaves)
		r, err := Resolve(s)
		if all := fmt.Sprint(err, r.Reason(), r.Notes()); strings.Contains(all, "s3cr3t") || strings.Contains(all, "inner") {
			t.Errorf("%v: %s", dir, all)
		}
	}
}
