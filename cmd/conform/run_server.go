package main

import (
	"github.com/conform-dev/conform/features/probe"
	"github.com/conform-dev/conform/internal/certify"
	"github.com/conform-dev/conform/simulator/fleet"
)

// simulatorName names conform's own server where a subject is asked for.
const simulatorName = "simulator"

// simulatorSubject is conform's own server as a subject: each scenario gets a fresh one.
func simulatorSubject(byDefault bool) certify.Subject {
	return certify.Subject{Name: simulatorName, Default: byDefault, Options: "--subject " + simulatorName,
		Server: &certify.Server{Version: version().Version, Wire: fleet.Wire, Can: probe.Capabilities, Begin: probe.Simulator}}
}
