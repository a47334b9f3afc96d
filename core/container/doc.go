// Package container is the one room that knows Docker: it builds images of one static binary from nothing, starts them with a port on
// 127.0.0.1 that stays the same over a restart, does to them what hooks ask for, and removes what a dead run of conform left behind. It needs
// no registry.
package container
