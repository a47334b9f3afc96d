package transport

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// OptionError says which setting of a transport was refused and what would be accepted. Nothing is ever clamped (D-13).
type OptionError struct {
	Name  string
	Value string
	Want  string // what the setting accepts
}

// maxShown bounds how much of a refused value an error repeats: enough to find it, not enough to flood a terminal.
const maxShown = 64

func (e *OptionError) Error() string {
	return fmt.Sprintf("option %s=%s: %s", quote(e.Name), quote(e.Value), e.Want)
}

func quote(s string) string {
	if len(s) > maxShown {
		return strconv.QuoteToASCII(s[:maxShown]) + "..."
	}
	return strconv.QuoteToASCII(s)
}

// CheckOptions says whether d knows every setting of options and accepts its value. The first refusal in the order of
// names is returned, as an *OptionError: an unknown name, an integer that is none or is below 1, one above its ceiling,
// or a word that is not in the list.
func (d Descriptor) CheckOptions(options map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(options)) {
		known := slices.IndexFunc(d.Options, func(o Option) bool { return o.Name == name })
		if known < 0 {
			return &OptionError{name, options[name], "unknown; known are: " + strings.Join(d.optionNames(), ", ")}
		}
		if err := d.Options[known].Check(options[name]); err != nil {
			return err
		}
	}
	return nil
}

// Check says whether o accepts value.
func (o Option) Check(value string) error {
	switch {
	case len(o.Values) > 0:
		if !slices.Contains(o.Values, value) {
			return &OptionError{o.Name, value, "must be one of " + strings.Join(o.Values, ", ")}
		}
	case o.Ceiling > 0:
		if _, err := o.Integer(value); err != nil {
			return err
		}
	}
	return nil
}

// Integer reads value as an integer setting: decimal digits, 1 to the ceiling.
func (o Option) Integer(value string) (int64, error) {
	want := fmt.Sprintf("must be an integer from 1 to %d", o.Ceiling)
	if value == "" || strings.Trim(value, "0123456789") != "" {
		return 0, &OptionError{o.Name, value, want}
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n > o.Ceiling {
		return 0, &OptionError{o.Name, value, fmt.Sprintf("is above the ceiling of %d", o.Ceiling)}
	}
	if n < 1 {
		return 0, &OptionError{o.Name, value, want}
	}
	return n, nil
}

// Value is the setting of that name: the one in options, else the default of d.
func (d Descriptor) Value(options map[string]string, name string) string {
	if v, ok := options[name]; ok {
		return v
	}
	for _, o := range d.Options {
		if o.Name == name {
			return o.Default
		}
	}
	return ""
}

func (d Descriptor) optionNames() []string {
	if len(d.Options) == 0 {
		return []string{"none"}
	}
	names := make([]string, len(d.Options))
	for i, o := range d.Options {
		names[i] = o.Name
	}
	return names
}
