// Package fleetserve puts the fleet-wake server on a real socket, with the plane's tool over MCP's streamable HTTP beside it, and a
// control API. It is thin: what is said, to whom and when is the machine's (package fleet).
package fleetserve
