package credential

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/conform-dev/conform/core/endpoint"
	"github.com/conform-dev/conform/core/transport"
)

// The leaves: the names that configuration, reasons and refusals use.
const (
	LeafPlaneAdmissionBearer     = "fleet.planeAdmissionBearer"
	LeafPlaneAdmissionBearerFile = "fleet.planeAdmissionBearerFile"
	LeafPlaneBearer              = "fleet.planeBearer"
	LeafPlaneBearerFile          = "fleet.planeBearerFile"
	LeafAdmissionTokenFile       = "fleet.admissionTokenFile"
)

// MaxSecretBytes bounds a secret: with its scheme it must fit a header.
const MaxSecretBytes = transport.MaxHeaderValue - len("Bearer ")

// variables are the environment variables of the leaves.
var variables = map[string]string{
	LeafPlaneAdmissionBearer:     "CONFORM_FLEET_PLANE_ADMISSION_BEARER",
	LeafPlaneAdmissionBearerFile: "CONFORM_FLEET_PLANE_ADMISSION_BEARER_FILE",
	LeafPlaneBearer:              "CONFORM_FLEET_PLANE_BEARER",
	LeafPlaneBearerFile:          "CONFORM_FLEET_PLANE_BEARER_FILE",
	LeafAdmissionTokenFile:       "CONFORM_FLEET_ADMISSION_TOKEN_FILE",
}

// Variable is the environment variable that declares a leaf; empty for a name that is none.
func Variable(leaf string) string { return variables[leaf] }

// homes are where one class may be declared; direct is empty for the bootstrap token, which has a file only.
type homes struct{ direct, file string }

var (
	admission = homes{LeafPlaneAdmissionBearer, LeafPlaneAdmissionBearerFile} // class 1
	plane     = homes{LeafPlaneBearer, LeafPlaneBearerFile}                   // class 3
	bootstrap = homes{"", LeafAdmissionTokenFile}
)

// held is the secret of one class.
type held struct {
	value   transport.Secret // trimmed; empty for none
	leaf    string           // that it came from; empty if nothing was declared
	problem string           // why what was declared is no secret, in one line
}

// declared is what the sources say about one leaf.
type declared struct {
	value string // trimmed; empty for nothing
	from  string // for people
}

// resolve reads one class: direct wins, then the file, then empty. A declared home that cannot be used is a problem and is not stood in
// for by the next one.
func resolve(h homes, leaves map[string]declared) held {
	if d := leaves[h.direct]; h.direct != "" && d.value != "" {
		return check(h.direct, d.from, d.value)
	}
	d := leaves[h.file]
	if d.value == "" {
		return held{}
	}
	text, err := endpoint.ReadFile(d.value, MaxSecretBytes+len("\r\n"))
	if err != nil {
		return held{leaf: h.file, problem: fmt.Sprintf("%s: %v", h.file, err)}
	}
	return check(h.file, "file "+d.value, trim(text))
}

func check(leaf, from, value string) held {
	why := ""
	switch {
	case value == "":
		why = "is empty"
	case len(value) > MaxSecretBytes:
		why = fmt.Sprintf("holds more than %d bytes", MaxSecretBytes)
	case !transport.IsHeaderValue(value):
		why = "holds a byte that no header may hold"
	default:
		return held{value: transport.Secret(value), leaf: leaf}
	}
	return held{leaf: leaf, problem: fmt.Sprintf("%s: %s %s", leaf, from, why)}
}

// trim takes white space off both ends, line ends above all, and a byte order mark.
func trim(text string) string {
	return strings.TrimFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r == '\uFEFF' })
}

// reference is where a flag points.
type reference struct{ variable, file string }

// ErrValue is the error for a flag that is no reference. It repeats nothing of it: it may be a secret in the wrong place.
var ErrValue = errors.New("is not env:VARIABLE or file:PATH; the value itself does not belong on a command line")

// CheckReference says whether the value of a flag is a reference, env:VARIABLE or file:PATH; the error is ErrValue. A command calls it
// itself, after its flags were read: what reads flags repeats a refused value in its error.
func CheckReference(text string) error {
	_, err := parseReference(text)
	return err
}

func parseReference(text string) (r reference, err error) {
	kind, where, _ := strings.Cut(text, ":")
	switch {
	case where == "" || strings.ContainsRune(where, 0):
		return r, ErrValue
	case kind == "env" && isVariable(where):
		r.variable = where
	case kind == "file":
		r.file = where
	default:
		return r, ErrValue
	}
	return r, nil
}

func isVariable(name string) bool {
	for i, c := range name {
		if !(c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || i > 0 && c >= '0' && c <= '9') {
			return false
		}
	}
	return name != ""
}
