package world

import (
	"errors"

	"github.com/conform-dev/conform/core/drive"
	"github.com/conform-dev/conform/core/trace"
	"github.com/conform-dev/conform/core/transport"
)

// claims are the ways in which a descriptor may claim less than the shipped one, by the setting's value.
var claims = map[string]func(*transport.Descriptor){
	"no order":       func(d *transport.Descriptor) { d.Order = transport.NoOrder },
	"no baseline":    func(d *transport.Descriptor) { d.Baseline = transport.NoBaseline },
	"no resume":      func(d *transport.Descriptor) { d.Resume = nil },
	"nobody vouches": func(d *transport.Descriptor) { d.Vouch = transport.NoVouch },
}

// Programs are the ways in which the program of a transport may be no plugin of ours.
var Programs = []string{"speaks first", "speaks another version", "shows no certificate"}

// Claimed is d as the client is told it: what the set-up says that the transport does not claim is left out (D-62).
func (c *ClientConfig) Claimed(d transport.Descriptor) transport.Descriptor {
	if less := claims[c.Claims]; less != nil {
		less(&d)
	}
	return d
}

// Refusal is the record of a client that was not opened because of what its transport claims, or of an option that the
// transport does not have; ok is false for every other error, which is the harness's own.
func Refusal(err error) (r trace.Record, ok bool) {
	var claim *drive.ClaimError
	var option *transport.OptionError
	if !errors.As(err, &claim) && !errors.As(err, &option) {
		return r, false
	}
	r = trace.New(trace.Plugin, trace.PluginRefused)
	r.Detail = err.Error()
	return r, true
}
