package subject

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

// validator is the shipped schema.
func validator(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("urn:conform:subject:1", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("urn:conform:subject:1")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// fits says whether the schema takes a text that the loader read.
func fits(t *testing.T, s *jsonschema.Schema, text string) error {
	t.Helper()
	var any any
	if err := yaml.Unmarshal([]byte(text), &any); err != nil {
		return err
	}
	data, err := json.Marshal(any)
	if err != nil {
		return err
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(data)))
	if err != nil {
		return err
	}
	return s.Validate(doc)
}

// TestSchema: what the loader takes the schema takes, and what it does not know by name the schema does not either.
func TestSchema(t *testing.T) {
	s := validator(t)
	for _, wire := range Wires {
		text, err := New(wire)
		if err != nil {
			t.Fatal(err)
		}
		if err := fits(t, s, text); err != nil {
			t.Errorf("%s: %v", wire, err)
		}
	}
	for _, path := range []string{"../../peers/nchan/subject.yaml", "../../peers/mercure/subject.yaml", "../../peers/simulator/subject.yaml"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Parse(path, text); err != nil {
			t.Error(err)
		}
		if err := fits(t, s, string(text)); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	names, files, says := faultCases(t)
	refused := 0
	for i := range names {
		if err := fits(t, s, files[i]); err != nil {
			refused++
		} else if strings.Contains(says[i], "unknown key") || strings.Contains(says[i], "credential is not written here") && !strings.Contains(names[i], "header") {
			t.Errorf("%s: the schema takes it", names[i])
		}
	}
	if refused < 20 {
		t.Errorf("the schema refuses %d of %d faults", refused, len(names))
	}
}

// TestSchemaNamesEveryKey: each key that the loader reads stands in the schema, and each of the schema's is read.
func TestSchemaNamesEveryKey(t *testing.T) {
	var doc struct {
		Properties map[string]struct {
			Properties map[string]any `json:"properties"`
		} `json:"properties"`
		Defs map[string]struct {
			Properties map[string]any `json:"properties"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal([]byte(Schema()), &doc); err != nil {
		t.Fatal(err)
	}
	same := func(where string, readers map[string]reader, keys []string) {
		t.Helper()
		if got, want := strings.Join(keys, " "), strings.Join(sorted(readers), " "); got != want {
			t.Errorf("%s: the schema has %s, the loader reads %s", where, got, want)
		}
	}
	s := &Subject{People: map[string]Person{}}
	same("the file", s.readers(), sorted(doc.Properties))
	same("exec", (&Exec{}).readers(), sorted(doc.Properties["exec"].Properties))
	same("image", (&Image{}).readers(), sorted(doc.Properties["image"].Properties))
	same("build", (&Build{}).readers(), sorted(doc.Properties["build"].Properties))
	same("limits", (&Limits{}).readers(), sorted(doc.Properties["limits"].Properties))
	same("mapping", (&Mapping{}).readers(), sorted(doc.Properties["mapping"].Properties))
	same("credentials", s.people(), sorted(doc.Properties["credentials"].Properties))
	same("a person", (&Person{}).readers(), sorted(doc.Defs["person"].Properties))
	if got, want := strings.Join(sorted(doc.Properties["hooks"].Properties), " "), strings.Join(Hooks(), " "); got != want {
		t.Errorf("hooks: the schema has %s, the loader reads %s", got, want)
	}
}
