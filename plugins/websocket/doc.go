// Package websocket is the client side of the WebSocket wire: a pure RFC 6455 frame decoder that names every violation
// (decoder.go), the pure machine of one connection (machine.go), and a thin driver over net/http's upgrade (http.go).
package websocket
