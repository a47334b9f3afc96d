package transport

import (
	"errors"
	"strings"
	"testing"
)

var optionsUnderTest = Descriptor{Options: []Option{
	{Name: "maxEventBytes", Default: "100", Ceiling: 1000},
	{Name: "resumeBy", Default: "header", Values: []string{"header", "parameter"}},
	{Name: "parameterName", Default: "cursor"},
}}

func TestCheckOptions(t *testing.T) {
	for _, c := range []struct {
		name  string
		value string
		want  string // "" means accepted
	}{
		{"maxEventBytes", "1", ""},
		{"maxEventBytes", "1000", ""},
		{"maxEventBytes", "0001000", ""},
		{"maxEventBytes", "1001", `option "maxEventBytes"="1001": is above the ceiling of 1000`},
		{"maxEventBytes", "99999999999999999999", `option "maxEventBytes"="99999999999999999999": is above the ceiling of 1000`},
		{"maxEventBytes", "0", `option "maxEventBytes"="0": must be an integer from 1 to 1000`},
		{"maxEventBytes", "-1", `option "maxEventBytes"="-1": must be an integer from 1 to 1000`},
		{"maxEventBytes", "+1", `option "maxEventBytes"="+1": must be an integer from 1 to 1000`},
		{"maxEventBytes", "1e2", `option "maxEventBytes"="1e2": must be an integer from 1 to 1000`},
		{"maxEventBytes", "", `option "maxEventBytes"="": must be an integer from 1 to 1000`},
		{"resumeBy", "parameter", ""},
		{"resumeBy", "Header", `option "resumeBy"="Header": must be one of header, parameter`},
		{"parameterName", "anything", ""},
		{"maxeventbytes", "1", `option "maxeventbytes"="1": unknown; known are: maxEventBytes, resumeBy, parameterName`},
		{"x", strings.Repeat("v", 100) + "\n", `option "x"="` + strings.Repeat("v", maxShown) + `"...: unknown; known are: maxEventBytes, resumeBy, parameterName`},
	} {
		err := optionsUnderTest.CheckOptions(map[string]string{c.name: c.value})
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%s=%q: got %v, want %q", c.name, c.value, err, c.want)
		}
		var refused *OptionError
		if err != nil && (!errors.As(err, &refused) || refused.Name != c.name || refused.Value != c.value) {
			t.Errorf("%s=%q: %#v", c.name, c.value, err)
		}
	}
	if err := optionsUnderTest.CheckOptions(nil); err != nil {
		t.Errorf("no options: %v", err)
	}
}

// Of several bad settings the first by name is told, so that the message is the same each time.
func TestCheckOptionsIsStable(t *testing.T) {
	for range 20 {
		err := optionsUnderTest.CheckOptions(map[string]string{"z": "1", "resumeBy": "x", "maxEventBytes": "0"})
		if err == nil || !strings.Contains(err.Error(), `"maxEventBytes"="0"`) {
			t.Fatalf("got %v", err)
		}
	}
	if err := (Descriptor{}).CheckOptions(map[string]string{"a": "1"}); err == nil || err.Error() != `option "a"="1": unknown; known are: none` {
		t.Errorf("a transport without options: %v", err)
	}
}

func TestValue(t *testing.T) {
	set := map[string]string{"resumeBy": "parameter"}
	for name, want := range map[string]string{"resumeBy": "parameter", "maxEventBytes": "100", "parameterName": "cursor", "none": ""} {
		if got := optionsUnderTest.Value(set, name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
