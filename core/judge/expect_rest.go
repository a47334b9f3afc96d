package judge

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/trace"
)

// stored holds what the client was told of its writes, and, where somebody looked into the store itself, what lies there (law 4): a store
// that says yes and writes nothing is believed by nobody.
func stored(p prefix, args map[string]string) seen {
	want := "the store holds " + args["seq"]
	told, at := "nothing", (*trace.Record)(nil)
	var held *trace.Record // the last look, if nothing was done to the store since
	for i := range p {
		r := &p[i]
		if r.Actor != trace.Store {
			continue
		}
		switch {
		case r.Kind == trace.StoreHeld:
			held = r
			continue
		case r.Kind == trace.StoreForget, r.Kind == trace.StoreLoad && r.Status != "record":
			told, at = "nothing", r
		case r.Kind == trace.StoreLoad, r.Kind == trace.StoreSave && r.Reason == "" && r.Seq != event.NoSeq:
			told, at = strconv.FormatInt(int64(r.Seq), 10), r
		}
		held = nil
	}
	if at == nil {
		return seen{want: want, got: "no record of the store"}
	}
	if held == nil {
		return seen{holds: told == args["seq"], want: want, got: told, at: one(at)}
	}
	found := held.Status
	if found == "record" {
		found = strconv.FormatInt(int64(held.Seq), 10)
	}
	got := told
	if found != told {
		got = fmt.Sprintf("%s as the client was told, %s in the store itself", told, found)
	}
	return seen{holds: told == args["seq"] && found == told, want: want, got: got, at: []int{at.N, held.N}}
}

func pluginStarts(p prefix, args map[string]string) seen {
	all := p.all(trace.Plugin, trace.PluginStarted)
	return seen{holds: strconv.Itoa(len(all)) == args["count"], want: args["count"] + " starts of the plugin", got: fmt.Sprintf("%d", len(all)), at: numbers(all)}
}

func pluginExit(p prefix, args map[string]string) seen {
	all := p.all(trace.Plugin, trace.PluginExited)
	got := "no exit"
	for _, r := range all {
		if strings.Contains(r.Detail, args["detail"]) {
			return seen{holds: true}
		}
		got = r.Detail
	}
	return seen{want: "the plugin exited with " + args["detail"], got: got, at: numbers(all)}
}

func measured(p prefix, args map[string]string) seen {
	name := args["name"]
	var r *trace.Record
	for _, m := range p.all(trace.Plugin, trace.PluginMeasured) {
		if _, ok := m.Args[name]; ok {
			r = m
		}
	}
	want := "measured " + name
	if equals, ok := args["equals"]; ok {
		want += fmt.Sprintf(" = %q", equals)
	}
	if _, limits, _ := bounds(0, args, ""); limits != "" {
		want += " " + strings.TrimSpace(limits)
	}
	if r == nil {
		return seen{want: want, got: "never measured", check: Exercised}
	}
	value := r.Args[name]
	s := seen{holds: true, want: want, got: fmt.Sprintf("%q", value), at: one(r)}
	if equals, ok := args["equals"]; ok && equals != value {
		s.holds = false
	}
	for _, limit := range []string{"min", "max"} {
		text, ok := args[limit]
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(value, 10, 64)
		bound, _ := trace.ParseSeq(text)
		if err != nil || limit == "min" && n < int64(bound) || limit == "max" && n > int64(bound) {
			s.holds = false
		}
	}
	return s
}
