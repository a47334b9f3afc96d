package world

import (
	"errors"
	"fmt"
	"slices"

	"github.com/conform-dev/conform/simulator"
	"github.com/conform-dev/conform/simulator/fleet"
)

// Check refuses a set-up with a setting that would do nothing: a scenario that believes in it would show something else than it says.
func (s *Setup) Check() error {
	wire, err := WireOf(s.Wire)
	if err != nil {
		return err
	}
	damage := ""
	if s.Stored != nil {
		damage = s.Stored.Damage
	}
	for _, of := range []struct {
		wire, name string
		set        bool
	}{
		{simulator.WebSocket, "compression", s.Deflate != ""}, {simulator.OData, "page size", s.PageSize != 0},
		{simulator.OData, "odata version", s.Dialect != ""}, {simulator.OData, "annotations", s.Annotates != ""},
		{fleet.Wire, "arming, bearers, retry after or viewer attempts", s.Lane.said()},
	} {
		if of.set && wire.Name != of.wire {
			return fmt.Errorf("%s: only %s has that, and this is %s", of.name, of.wire, wire.Name)
		}
	}
	switch {
	case damage != "" && !slices.Contains(Damages, damage):
		return fmt.Errorf("stored position: nothing is known of %q", damage)
	case !s.File && (s.Limit != 0 || s.Others != 0 || damage != ""):
		return errors.New("store limit, other scopes and a damaged record need the setting store file")
	case s.Cross && s.Changes != "":
		return errors.New("changes: the feed that every wire is run against has its own")
	}
	return nil
}
