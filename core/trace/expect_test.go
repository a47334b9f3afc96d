package trace

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// constants are the values of the typed constants of one file.
func constants(t *testing.T, file, typ string) map[string]string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	ast.Inspect(f, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok || len(v.Values) != 1 {
			return true
		}
		if id, ok := v.Type.(*ast.Ident); ok && id.Name == typ {
			s, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			out[v.Names[0].Name] = s
		}
		return true
	})
	return out
}

func TestEveryKindHasAnActor(t *testing.T) {
	all := constants(t, "kinds.go", "Kind")
	if len(all) < 40 {
		t.Fatalf("found %d kinds", len(all))
	}
	n := 0
	for _, kinds := range byActor {
		n += len(kinds)
	}
	if n != len(all) {
		t.Errorf("%d kinds are declared, %d belong to an actor", len(all), n)
	}
	for name, value := range all {
		found := false
		for actor := range byActor {
			found = found || strings.HasPrefix(strings.ToLower(name), string(actor)) && Known(actor, Kind(value))
		}
		if !found {
			t.Errorf("%s belongs to no actor of its name", name)
		}
	}
}

func TestEveryExpectationHasArguments(t *testing.T) {
	all := constants(t, "expect.go", "Expectation")
	if len(all) != len(expectations) {
		t.Errorf("%d are declared, %d have an argument list", len(all), len(expectations))
	}
	for name, value := range all {
		if _, ok := expectations[Expectation(value)]; !ok {
			t.Errorf("%s has no argument list", name)
		}
	}
	if !slices.IsSorted(Expectations()) || len(Expectations()) != len(all) {
		t.Error("list")
	}
	if got := strings.Join(Arguments(ExpectDelivery), " "); got != "event id reason status" {
		t.Error(got)
	}
	if Arguments("x") != nil {
		t.Error("arguments of nothing")
	}
}

func TestExpectArguments(t *testing.T) {
	for _, tc := range []struct {
		e    Expectation
		args string // name=value;...
		want string // part of the error; empty if good
	}{
		{ExpectConsumerSaw, "events=", ""},
		{ExpectConsumerSaw, "events=snapshot 5, delta 6", ""},
		{ExpectConsumerSaw, "events=snapshot 5,delta 6", "no number"},
		{ExpectConsumerSaw, "events=snap 5", "is not written like"},
		{ExpectConsumerSaw, "events=malformed 5", "is not written like"},
		{ExpectConsumerSaw, "", "needs the argument events"},
		{ExpectConsumerNotSaw, "", "needs one of the arguments seq, id"},
		{ExpectConsumerNotSaw, "seq=6", ""},
		{ExpectConsumerNotSaw, "seq=06", "no number"},
		{ExpectConsumerNotSaw, "seq=9007199254740992", "no number"},
		{ExpectConsumerNotSaw, "seq=9007199254740991", ""},
		{ExpectConsumerNotSaw, "seq=-1", "no number"},
		{ExpectDelivery, "event=delta 6;status=applied", ""},
		{ExpectDelivery, "status=applied", "needs one of the arguments event, id"},
		{ExpectDelivery, "id=e;status=applied;colour=red", `has no argument "colour"`},
		{ExpectRequest, "n=2;from=snapshot", ""},
		{ExpectRequest, "n=2;from=5", ""},
		{ExpectRequest, "n=2;from=nothing", "neither"},
		{ExpectRequest, "n=2", "needs one of"},
		{ExpectStored, "seq=nothing", ""},
		{ExpectStored, "seq=snapshot", "neither"},
		{ExpectPersisted, "value=yes", "neither true nor false"},
		{ExpectElapsed, "from=request 1;to=closed 2;min=5", ""},
		{ExpectElapsed, "from=request 0;to=closed 2;min=5", "with n from 1"},
		{ExpectElapsed, "from=connect 1;to=request 2;min=5", ""},
		{ExpectElapsed, "from=connect 0;to=request 2;min=5", "with n from 1"},
		{ExpectElapsed, "from=sent 1;to=closed 2;min=5", "with n from 1"},
		{ExpectElapsed, "from=request 1;to=closed 2", "needs one of"},
		{ExpectRunning, "", ""},
		{ExpectRunning, "x=", `has no argument "x"`},
		{"guess", "", `unknown expectation "guess"`},
	} {
		args := map[string]string{}
		for part := range strings.SplitSeq(tc.args, ";") {
			if name, value, ok := strings.Cut(part, "="); ok {
				args[name] = value
			}
		}
		r, err := Expect(tc.e, args)
		switch {
		case tc.want == "" && err != nil:
			t.Errorf("%s %s: %v", tc.e, tc.args, err)
		case tc.want == "" && (r.Kind != StageExpect || r.Status != string(tc.e) || r.Seq != -1):
			t.Errorf("%s: record %v", tc.e, r)
		case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
			t.Errorf("%s %s: error %v, want %q", tc.e, tc.args, err, tc.want)
		}
	}
}

func TestEventRefRoundTrip(t *testing.T) {
	for _, s := range []string{"snapshot 0", "upsert 9007199254740991"} {
		if e, err := ParseEvent(s); err != nil || e.String() != s {
			t.Errorf("%s: %v, %v", s, e, err)
		}
	}
}

func TestRecordText(t *testing.T) {
	r := New(Gate, GateDelivery)
	r.N, r.T, r.Ticket, r.Seq, r.Status, r.Reason = 12, 1250, 3, 5, "resnapshot-required", "sequence-gap"
	const want = "#12 1.250s gate delivery ticket=3 seq=5 resnapshot-required reason=sequence-gap"
	if got := r.String(); got != want {
		t.Errorf("%s", got)
	}
	r.Detail = "a\x1b[31mb\n" + strings.Repeat("x", 300)
	got := r.String()
	if strings.ContainsAny(got, "\x1b\n") || len(got) > MaxShown {
		t.Errorf("%q", got)
	}
}
