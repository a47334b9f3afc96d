package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/conform-dev/conform/core/subject"
	"github.com/conform-dev/conform/core/subject/start"
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

// examined are the wires whose servers there are rows for.
var examined = []string{fleet.Wire}

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
	for _, path := range f.subjects {
		s := simulatorSubject(false)
		if path != simulatorName {
			var stop func() error
			if s, stop, err = serverSubject(ctx, path); err != nil {
				return end, usage("--subject: %v", err)
			}
			ends = append(ends, stop)
		}
		if names[s.Name] {
			return end, usage("--subject: there is another subject called %q", s.Name)
		}
		names[s.Name] = true
		opt.Subjects = append(opt.Subjects, s)
	}
	return end, nil
}
