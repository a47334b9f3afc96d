// Package probe examines a server: it plays the scenarios that are tagged @server as a plain client would, with requests of its own
// making, and writes down what came back. It judges nothing, and it knows of the server only what its Target says.
package probe
