// Package proxy stands between a client and a server, changes neither, and does to their connections what networks do: it cuts at a byte,
// stalls, delays, drips, resets, forgets one side, refuses. What it does is a schedule, as data: the same schedule does the same to the same
// bytes. It knows nothing of any protocol.
package proxy
