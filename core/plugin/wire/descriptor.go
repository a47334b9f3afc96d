package wire

import (
	"fmt"

	pb "github.com/conform-dev/conform/core/plugin/wire/transportv1"
	"github.com/conform-dev/conform/core/transport"
)

// The vocabulary of a description; the index is the enum value, and 0 is a value that was forgotten.
var (
	freshness = []transport.Freshness{"", transport.Push, transport.Poll}
	orders    = []transport.Order{"", transport.ServerSequence, transport.RequestChain, transport.NoOrder}
	baselines = []transport.Baseline{"", transport.BaselineSnapshot, transport.BaselinePosition, transport.NoBaseline}
	modes     = []transport.Mode{"", transport.ByCursor, transport.ByWatermark, transport.ByTimestamp, transport.BySequence, transport.ByDeltaToken}
	takes     = []transport.Take{"", transport.TakesHeaders, transport.TakesTLS, transport.TakesProxy}
	vouches   = []transport.Vouch{"", transport.VouchFrame, transport.VouchImplicit, transport.NoVouch}
)

// number finds a word's enum value.
func number[W ~string](member string, words []W, word W) (int32, error) {
	for i := 1; i < len(words); i++ {
		if words[i] == word {
			return int32(i), nil
		}
	}
	return 0, fmt.Errorf("%s %q is not one of %q", member, cut(string(word), MaxName), words[1:])
}

// word finds the word of an enum value.
func word[W ~string](member string, words []W, n int32) (W, error) {
	if n < 1 || int(n) >= len(words) {
		return "", fmt.Errorf("%s %d is unknown", member, n)
	}
	return words[n], nil
}

// first keeps the first error of several checks.
type first struct{ err error }

func (f *first) note(err error) {
	if f.err == nil {
		f.err = err
	}
}

// FromDescriptor is what a plugin answers to Describe. It fails for what the host would refuse.
func FromDescriptor(d transport.Descriptor) (*pb.Description, error) {
	var f first
	enum := func(n int32, err error) int32 { f.note(err); return n }
	out := &pb.Description{
		Name: d.Name, Version: d.Version, Wire: d.Wire,
		Freshness:  pb.Freshness(enum(number("freshness", freshness, d.Freshness))),
		Order:      pb.Order(enum(number("order", orders, d.Order))),
		Baseline:   pb.Baseline(enum(number("baseline", baselines, d.Baseline))),
		Vouch:      pb.Vouch(enum(number("vouch", vouches, d.Vouch))),
		Heartbeats: d.Heartbeats, Watermarks: d.Watermarks,
	}
	for _, m := range d.Resume {
		out.Resume = append(out.Resume, pb.ResumeMode(enum(number("resume", modes, m))))
	}
	for _, t := range d.Takes {
		out.Takes = append(out.Takes, pb.Take(enum(number("takes", takes, t))))
	}
	for _, o := range d.Options {
		out.Options = append(out.Options, &pb.Option{Name: o.Name, Doc: o.Doc, Default: o.Default, Ceiling: o.Ceiling, Values: o.Values})
	}
	if f.err != nil {
		return nil, f.err
	}
	_, err := ToDescriptor(out)
	return out, err
}

// ToDescriptor checks what a plugin says about itself.
func ToDescriptor(in *pb.Description) (transport.Descriptor, error) {
	var f first
	d := transport.Descriptor{
		Name: in.GetName(), Version: in.GetVersion(), Wire: in.GetWire(), Heartbeats: in.GetHeartbeats(), Watermarks: in.GetWatermarks(),
	}
	f.note(checkName("name", d.Name, MaxName))
	f.note(checkName("version", d.Version, MaxName))
	f.note(checkName("wire", d.Wire, MaxName))
	var err error
	d.Freshness, err = word("freshness", freshness, int32(in.GetFreshness()))
	f.note(err)
	d.Order, err = word("order", orders, int32(in.GetOrder()))
	f.note(err)
	d.Baseline, err = word("baseline", baselines, int32(in.GetBaseline()))
	f.note(err)
	d.Vouch, err = word("vouch", vouches, int32(in.GetVouch()))
	f.note(err)
	if len(in.GetResume()) >= len(modes) {
		f.note(fmt.Errorf("resume lists %d modes, there are %d", len(in.GetResume()), len(modes)-1))
		return transport.Descriptor{}, f.err
	}
	for _, n := range in.GetResume() {
		m, err := word("resume", modes, int32(n))
		f.note(err)
		d.Resume = append(d.Resume, m)
	}
	if len(in.GetTakes()) >= len(takes) {
		f.note(fmt.Errorf("takes lists %d, there are %d", len(in.GetTakes()), len(takes)-1))
		return transport.Descriptor{}, f.err
	}
	for _, n := range in.GetTakes() {
		t, err := word("takes", takes, int32(n))
		f.note(err)
		d.Takes = append(d.Takes, t)
	}
	options, err := toOptions(in.GetOptions())
	f.note(err)
	d.Options = options
	if f.err != nil {
		return transport.Descriptor{}, f.err
	}
	return d, nil
}

func toOptions(in []*pb.Option) ([]transport.Option, error) {
	if len(in) > MaxList {
		return nil, fmt.Errorf("options lists %d, the limit is %d", len(in), MaxList)
	}
	var f first
	var out []transport.Option
	seen := make(map[string]bool, len(in))
	for i, o := range in {
		at := fmt.Sprintf("options[%d]", i)
		f.note(checkName(at+".name", o.GetName(), MaxName))
		f.note(checkText(at+".doc", o.GetDoc(), MaxText))
		f.note(checkText(at+".default", o.GetDefault(), MaxText))
		if o.GetCeiling() < 0 {
			f.note(fmt.Errorf("%s.ceiling %d is negative", at, o.GetCeiling()))
		}
		if len(o.GetValues()) > MaxList {
			return nil, fmt.Errorf("%s.values lists %d, the limit is %d", at, len(o.GetValues()), MaxList)
		}
		for _, v := range o.GetValues() {
			f.note(checkName(at+".values", v, MaxName))
		}
		if seen[o.GetName()] {
			f.note(fmt.Errorf("%s.name is listed twice", at))
		}
		seen[o.GetName()] = true
		out = append(out, transport.Option{Name: o.GetName(), Doc: o.GetDoc(), Default: o.GetDefault(), Ceiling: o.GetCeiling(), Values: o.GetValues()})
	}
	return out, f.err
}
