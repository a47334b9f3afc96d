//go:build !cgo

package odata

import (
	"errors"
	"testing"

	"github.com/conform-dev/conform/internal/need"
)

// TestFindings says that nothing of this folder ran.
func TestFindings(t *testing.T) {
	need.Or(t, "cgo", errors.New("built with CGO_ENABLED=0, and the sqlite below go-odata is C"))
}
