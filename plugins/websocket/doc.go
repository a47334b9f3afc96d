// Package websocket is the client side of the WebSocket wire: a pure RFC 6455 frame decoder that names every violation, the pure
// machine of one connection, and a thin driver over net/http's upgrade.
package websocket
