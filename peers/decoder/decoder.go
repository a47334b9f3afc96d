// Package decoder compares the decoder of plugins/sse with the one of github.com/tmaxmax/go-sse, the best of the libraries
// for Go: the same bytes, in the same run. Its tests are all there is to it.
package decoder
