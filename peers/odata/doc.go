// Package odata runs github.com/nlstn/go-odata, an OData server that other people wrote, and follows it as any program would that embeds
// conform. Its tests name what conform finds, and run each finding again with its fix. docs/findings.md lists them. The server's sqlite
// is C: everything here needs cgo.
package odata
