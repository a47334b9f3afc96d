package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/conform-dev/conform/core/subject"
	"github.com/conform-dev/conform/core/subject/start"
	"github.com/conform-dev/conform/features/probe"
	"github.com/conform-dev/conform/internal/certify"
	"github.com/conform-dev/conform/simulator"
	"github.com/conform-dev/conform/simulator/fleet"
)

// simulatorName names conform's own servers where a subject is asked for; with a hyphen and a wire behind it, the one of that wire.
const simulatorName = "simulator"

// simulators are conform's own servers as subjects: each scenario gets a fresh one.
func simulators(byDefault bool) []certify.Subject {
	of := func(wire string, can []string, begin func(context.Context) (*probe.Target, error)) certify.Subject {
		name := simulatorName + "-" + wire
		return certify.Subject{Name: name, Default: byDefault, Options: "--subject " + name,
			Server: &certify.Server{Version: version().Version, Wire: wire, Can: can, Begin: begin}}
	}
	return []certify.Subject{of(fleet.Wire, probe.Capabilities, probe.Simulator), of(simulator.SSE, probe.FeedCapabilities, probe.SimulatorFeed),
		of(simulator.WebSocket, probe.FeedCapabilities, probe.SimulatorSocket),
		of(simulator.OData, []string{"publish", "serial", "restart"}, probe.SimulatorOData)}
}

// examined are the wires whose servers there are rows for.
var examined = []string{fleet.Wire, simulator.SSE, simulator.WebSocket, simulator.OData}

// serverSubject makes the server of a subject file ready. end ends what was started for it.
func serverSubject(ctx context.Context, path string) (s certify.Subject, end func() error, err error) {
	file, err := subject.Load(path)
	if err != nil {
		return s, nil, err
	}
	if !slices.Contains(examined, file.Wire) {
		return s, nil, fmt.Errorf("%s: wire: there are no rows for a server of %s yet", path, file.Wire)
	}
	running, err := start.Start(ctx, file)
	if err != nil {
		return s, nil, err
	}
	target, err := probe.Of(file, running)
	if err != nil {
		return s, nil, err
	}
	return certify.Subject{Name: file.Name, Options: "--subject " + quoted(path), Server: &certify.Server{
		Wire: file.Wire, Can: target.Can, Claims: probe.Claimed(file), Shared: true, Timeout: probe.Timeout(file),
		Begin: func(context.Context) (*probe.Target, error) { return target, nil },
	}}, running.Close, nil
}

// servers adds the servers that --subject names. end ends what was started for them, and is never nil.
func (f runFlags) servers(ctx context.Context, opt *certify.Options) (end func(), err error) {
	var ends []func() error
	end = func() {
		for _, e := range slices.Backward(ends) {
			_ = e() // the report is made; what could not be ended is the operating system's
		}
	}
	names := map[string]bool{}
	for _, s := range opt.Subjects {
		names[s.Name] = true
	}
	add := func(s certify.Subject) error {
		if names[s.Name] {
			return usage("--subject: there is another subject called %q", s.Name)
		}
		names[s.Name] = true
		opt.Subjects = append(opt.Subjects, s)
		return nil
	}
	for _, path := range f.subjects {
		own := slices.DeleteFunc(simulators(false), func(s certify.Subject) bool { return path != simulatorName && path != s.Name })
		for _, s := range own {
			if err := add(s); err != nil {
				return end, err
			}
		}
		if len(own) > 0 {
			continue
		}
		s, stop, err := serverSubject(ctx, path)
		if err != nil {
			return end, usage("--subject: %v", err)
		}
		ends = append(ends, stop)
		if err := add(s); err != nil {
			return end, err
		}
	}
	return end, nil
}
