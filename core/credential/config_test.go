package credential

import (
	"fmt"
	"strings"
	"testing"
)

func TestConfig(t *testing.T) {
	const known = "known are admissionTokenFile, planeAdmissionBearer, planeAdmissionBearerFile, planeBearer, planeBearerFile"
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "map[] <nil>"},
		{"a comment", "# nothing\n", "map[] <nil>"},
		{"all", "fleet:\n  planeAdmissionBearer: a\n  planeAdmissionBearerFile: b\n  planeBearer: 'c'\n  planeBearerFile: \"d\"\n  admissionTokenFile: e\n",
			"map[fleet.admissionTokenFile:e fleet.planeAdmissionBearer:a fleet.planeAdmissionBearerFile:b fleet.planeBearer:c fleet.planeBearerFile:d] <nil>"},
		{"null is nothing", "fleet: {planeBearer: ~}", "map[] <nil>"},
		{"unknown at the top", "fleet: {}\ns3cr3t: x\n", "line 2: unknown key; the only one at the top is fleet"},
		{"unknown leaf", "fleet:\n  s3cr3t: x\n", "line 2: unknown key under fleet; " + known},
		{"a number", "fleet:\n  planeBearer: 123\n", "line 2: fleet.planeBearer must be text; put it in quotes"},
		{"a list", "fleet:\n  planeBearer: [s3cr3t]\n", "line 2: fleet.planeBearer must be text; put it in quotes"},
		{"an alias", "fleet:\n  planeBearer: *s3cr3t\n", "is not YAML"},
		{"a tag", "fleet:\n  planeBearer: !s3cr3t x\n", "line 2: fleet.planeBearer must be text; put it in quotes"},
		{"twice", "fleet:\n  planeBearer: s3cr3t\n  planeBearer: x\n", "line 3: the key is there twice"},
		{"no mapping", "s3cr3t", "line 1: must be a mapping of keys to values"},
		{"fleet is text", "fleet: s3cr3t", "line 1: must be a mapping of keys to values"},
		{"a tab", "fleet:\n\tplaneBearer: s3cr3t\n", "line 2: is not YAML"},
		{"a quote that is open", "fleet:\n  planeBearer: \"s3cr3t\n", "is not YAML"},
	} {
		leaves, err := parseConfig([]byte(c.text))
		got := fmt.Sprint(leaves, " ", err)
		if err != nil {
			got = err.Error()
		}
		if !strings.HasSuffix(got, c.want) || err != nil && strings.Contains(got, "s3cr3t") {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

// FuzzConfig: no configuration file panics, and what is accepted are the five leaves.
func FuzzConfig(f *testing.F) {
	f.Add([]byte("fleet:\n  planeBearer: x\n"))
	f.Add([]byte("fleet: &a {planeBearer: *a}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		leaves, err := parseConfig(text)
		for leaf := range leaves {
			if Variable(leaf) == "" {
				t.Fatalf("accepted %s, %v", leaf, err)
			}
		}
	})
}
