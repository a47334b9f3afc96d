// Package endpoint gets what an endpoint needs beside its URL from where people keep it: headers and credentials from the environment
// or a file, certificates from files, the proxy from the environment. It also turns what an attempt brings along into
// what crypto/tls and net/url take, for transports that are written in Go.
//
// A reference names a place, never a value, so that it can stand on a command line or in a configuration file. No error of this
// package holds a value, nor any part of a reference that is none: it may be a value in the wrong place.
package endpoint

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/conform-dev/conform/core/transport"
)

// reference is one header by name, and where its value is.
type reference struct {
	name string // canonical
	env  string // or
	file string
}

var errNoReference = errors.New("is not NAME=env:VARIABLE or NAME=file:PATH; the value itself does not belong here")

// parse reads NAME=env:VARIABLE or NAME=file:PATH.
func parse(text string) (r reference, err error) {
	name, place, _ := strings.Cut(text, "=")
	kind, where, _ := strings.Cut(place, ":")
	r.name = transport.CanonicalHeader(name)
	switch {
	case r.name == "" || where == "" || strings.ContainsRune(where, 0):
		return r, errNoReference
	case kind == "env" && isVariable(where):
		r.env = where
	case kind == "file":
		r.file = where
	default:
		return r, errNoReference
	}
	return r, nil
}

func isVariable(name string) bool {
	for i := range len(name) {
		c := name[i]
		if !(c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || i > 0 && c >= '0' && c <= '9') {
			return false
		}
	}
	return true
}

// read gets the value. Line ends behind the text of a file are taken off: editors and echo put them there.
func (r reference) read() (transport.Secret, error) {
	value, from := "", "environment variable "+r.env
	if r.env != "" {
		var set bool
		if value, set = os.LookupEnv(r.env); !set {
			return "", fmt.Errorf("%s: %s is not set", r.name, from)
		}
	} else {
		text, err := readFile(r.file, transport.MaxHeaderValue+len("\r\n"))
		if err != nil {
			return "", fmt.Errorf("%s: %w", r.name, err)
		}
		value, from = strings.TrimRight(text, "\r\n"), "file "+r.file
	}
	switch {
	case value == "":
		return "", fmt.Errorf("%s: %s is empty", r.name, from)
	case len(value) > transport.MaxHeaderValue:
		return "", fmt.Errorf("%s: %s holds %d bytes, the limit is %d", r.name, from, len(value), transport.MaxHeaderValue)
	case !transport.IsHeaderValue(value):
		return "", fmt.Errorf("%s: %s holds a byte that no header may hold, or white space around the value", r.name, from)
	}
	return transport.Secret(value), nil
}

// ReadFile is readFile for other rooms that keep secrets in files. Its error names the file and what is wrong, and nothing of what it
// holds.
func ReadFile(path string, limit int) (string, error) { return readFile(path, limit) }

// readFile reads a regular file of at most limit bytes. Others are refused unread: a pipe would block, and could not be read
// again before the next connection.
func readFile(path string, limit int) (string, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return "", fmt.Errorf("file %s is no regular file", path)
	}
	var text []byte
	if err == nil {
		var f *os.File
		if f, err = os.Open(path); err == nil {
			defer f.Close()
			text, err = io.ReadAll(io.LimitReader(f, int64(limit)+1))
		}
	}
	var at *os.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("file %s: %w", path, err)
	case len(text) > limit:
		return "", fmt.Errorf("file %s is larger than %d bytes", path, limit)
	}
	return string(text), nil
}
