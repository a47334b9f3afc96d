//go:build !cgo

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "goodata: built without cgo, which sqlite needs: CGO_ENABLED=1 go build ./goodata")
	os.Exit(1)
}
