//go:build !cgo

package odata

import "testing"

// TestFindings says that nothing of this folder ran.
func TestFindings(t *testing.T) {
	t.Skip("go-odata's sqlite needs cgo: a C compiler, and CGO_ENABLED=1")
}
