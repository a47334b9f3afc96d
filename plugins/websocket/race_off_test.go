//go:build !race

package websocket

const raceOn = false
