package world

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/conform-dev/conform/core/checkpoint"
	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
	"github.com/conform-dev/conform/core/session"
	"github.com/conform-dev/conform/core/transport"
	"github.com/conform-dev/conform/simulator"
)

// Setup is what a scenario says about the world before the client is there: the feed, the faults, and the client's settings.
// It is data, and means the same in every lane. Zero values mean the defaults.
type Setup struct {
	Cross     bool         `json:"cross,omitempty"`     // the feed is that of fixture.CrossTransport, which every wire is run against
	Wire      string       `json:"wire,omitempty"`      // one of WireNames; empty is DefaultWire
	Records   int          `json:"records"`             // rows in the feed, and its head: it is as if each had been one change
	Retention int          `json:"retention,omitempty"` // changes the server keeps
	Changes   string       `json:"changes,omitempty"`   // what a publish makes up: upsert, delete, delta, mixed
	Heartbeat int          `json:"heartbeat,omitempty"` // in milliseconds; -1 sends none
	RetryHint int          `json:"retryHint,omitempty"` // in milliseconds
	Expiry    string       `json:"expiry,omitempty"`    // how the server says that a position is dead
	Deflate   string       `json:"deflate,omitempty"`   // what the server makes of an offer to compress; WebSocket
	PageSize  int          `json:"pageSize,omitempty"`  // entries on a page; OData
	Dialect   string       `json:"dialect,omitempty"`   // version of the protocol that the server speaks; OData
	Annotates string       `json:"annotates,omitempty"` // annotations on a page: all, or none as at a service that knows no contract; OData
	Faults    FaultList    `json:"faults,omitempty"`
	Stored    *Stored      `json:"stored,omitempty"` // what the store holds at the start
	NoStore   bool         `json:"noStore,omitempty"`
	Broken    bool         `json:"broken,omitempty"`  // nothing can be written below the shipped store
	File      bool         `json:"file,omitempty"`    // the shipped file store, held by a process of its own; process lane
	Limit     int          `json:"limit,omitempty"`   // scopes that the store keeps, with File
	Others    int          `json:"others,omitempty"`  // records of other sources that it holds at the start, with File
	Plugin    string       `json:"plugin,omitempty"`  // what is wrong with the transport's program: one of Programs; process lane
	Checked   bool         `json:"checked,omitempty"` // the server checks credentials: it takes that of CredentialAfter(0), then (1)
	Lane      Lane         `json:"lane,omitzero"`     // of the wake lane
	Client    ClientConfig `json:"client"`
}

// Stored is a record that the store holds before the client starts.
type Stored struct {
	Seq     event.Seq `json:"seq"`
	Version int       `json:"version,omitempty"` // source version of the feed that it came from; 0 means the feed's own
	Other   string    `json:"other,omitempty"`   // what it belongs to is another one: source, query, schema, viewer
	Age     int64     `json:"age,omitempty"`     // in milliseconds; 0 means a minute, below 0 it is from the future
	Wire    bool      `json:"wire,omitempty"`    // it is a position of another wire, in this one's place
	Damage  string    `json:"damage,omitempty"`  // what happened to the record on disk: one of Damages; with File
}

// Foreign says whether no shipped store would find the record for this subscription: only a store of somebody's own that
// does not look at what a record belongs to hands it over. The file store is asked itself.
func (s *Setup) Foreign() bool {
	return !s.File && s.Stored.foreign()
}

func (s *Stored) foreign() bool {
	return s != nil && (s.Other == "source" || s.Other == "query" || s.Other == "viewer")
}

// Damages are what can have happened to a record on disk.
var Damages = []string{"another format", "a damaged record"}

// ClientConfig are the settings of the client. Times are in milliseconds; 0 means the default of the lane.
type ClientConfig struct {
	Mode       string            `json:"mode,omitempty"` // snapshot, snapshot-then-delta, delta
	Arrival    bool              `json:"arrival,omitempty"`
	MaxPending int               `json:"maxPending,omitempty"`
	MaxIDs     int               `json:"maxIDs,omitempty"`
	SaveEvery  int               `json:"saveEvery,omitempty"`
	Base       int               `json:"base,omitempty"`
	Cap        int               `json:"cap,omitempty"`
	Connect    int               `json:"connect,omitempty"`
	Horizon    int               `json:"horizon,omitempty"`
	Idle       int               `json:"idle,omitempty"`
	ResetAfter int               `json:"resetAfter,omitempty"`
	Attempts   int               `json:"attempts,omitempty"`
	Jitter     *int              `json:"jitter,omitempty"` // fixed, in permille; nil takes the schedule's
	Options    map[string]string `json:"options,omitempty"`
	Claims     string            `json:"claims,omitempty"`  // what the transport's descriptor leaves out; see Claimed
	Renewed    string            `json:"renewed,omitempty"` // authorization scope of a renewed credential; empty: the same
}

// DefaultRecords is the size of a feed that nobody described.
const DefaultRecords = 5

// DefaultSetup is a feed of five records and a client with the contract's defaults.
func DefaultSetup() Setup { return Setup{Records: DefaultRecords} }

// FaultList is the simulator's faults as JSON.
type FaultList []simulator.Fault

// UnmarshalJSON reads faults as strictly as the simulator does.
func (l *FaultList) UnmarshalJSON(text []byte) error {
	s, err := simulator.ParseSchedule(append(append([]byte(`{"faults":`), text...), '}'))
	*l = s.Faults
	return err
}

// setting is one named member of a set-up, as feature files write it.
type setting struct {
	name string
	at   func(*Setup) *int
}

var numbers = []setting{
	{"max pending", func(s *Setup) *int { return &s.Client.MaxPending }},
	{"remembered ids", func(s *Setup) *int { return &s.Client.MaxIDs }},
	{"save every", func(s *Setup) *int { return &s.Client.SaveEvery }},
	{"base wait", func(s *Setup) *int { return &s.Client.Base }},
	{"wait cap", func(s *Setup) *int { return &s.Client.Cap }},
	{"connect limit", func(s *Setup) *int { return &s.Client.Connect }},
	{"horizon", func(s *Setup) *int { return &s.Client.Horizon }},
	{"idle limit", func(s *Setup) *int { return &s.Client.Idle }},
	{"reset after", func(s *Setup) *int { return &s.Client.ResetAfter }},
	{"attempts", func(s *Setup) *int { return &s.Client.Attempts }},
	{"retry hint", func(s *Setup) *int { return &s.RetryHint }},
	{"retention", func(s *Setup) *int { return &s.Retention }},
	{"page size", func(s *Setup) *int { return &s.PageSize }},
	{"store limit", func(s *Setup) *int { return &s.Limit }},
	{"viewer attempts", func(s *Setup) *int { return &s.Lane.Attempts }},
	{"other scopes", func(s *Setup) *int { return &s.Others }},
}

// Set changes one setting by its name in feature files; a time is in milliseconds. A name with "option " in front is an
// option of the transport. An unknown name is an error that lists the known ones.
func (s *Setup) Set(name, value string) error {
	if option, ok := strings.CutPrefix(name, "option "); ok {
		if s.Client.Options == nil {
			s.Client.Options = map[string]string{}
		}
		s.Client.Options[option] = value
		return nil
	}
	if leaf, ok := strings.CutPrefix(name, "leaf "); ok {
		if !slices.Contains(Secrets, value) {
			return fmt.Errorf("leaf: %q is none of %s", value, strings.Join(Secrets, ", "))
		}
		if s.Lane.Leaves == nil {
			s.Lane.Leaves = map[string]string{}
		}
		s.Lane.Leaves[leaf] = value
		return nil
	}
	known := []string{"pacing", "mode", "changes", "expiry", "compression", "odata version", "annotations", "arming", "bearer", "poll bearer", "retry after", "heartbeat", "jitter", "store", "credentials", "renewed credential", "claims", "plugin"}
	for _, n := range numbers {
		known = append(known, n.name)
		if n.name == name {
			return whole(name, value, n.at(s))
		}
	}
	switch name {
	case "pacing":
		if value != "paced" && value != "arrival" {
			return fmt.Errorf("pacing: %q is neither paced nor arrival", value)
		}
		s.Client.Arrival = value == "arrival"
	case "store":
		if value != "none" && value != "broken" && value != "file" {
			return fmt.Errorf("store: %q is none of none, broken, file", value)
		}
		s.NoStore, s.Broken, s.File = value == "none", value == "broken", value == "file"
	case "credentials":
		if value != "checked" {
			return fmt.Errorf("credentials: %q is not checked", value)
		}
		s.Checked = true
	case "claims":
		if claims[value] == nil {
			return fmt.Errorf("claims: %q is none of %s", value, strings.Join(slices.Sorted(maps.Keys(claims)), ", "))
		}
		s.Client.Claims = value
	case "plugin":
		if !slices.Contains(Programs, value) {
			return fmt.Errorf("plugin: %q is none of %s", value, strings.Join(Programs, ", "))
		}
		s.Plugin = value
	case "arming":
		s.Lane.Arming = value
	case "bearer":
		if !slices.Contains(Bearers, value) {
			return fmt.Errorf("bearer: %q is none of %s", value, strings.Join(Bearers, ", "))
		}
		s.Lane.Bearer = value
	case "poll bearer":
		if value != "none" {
			return fmt.Errorf("poll bearer: %q is not none", value)
		}
		s.Lane.PollBearer = value
	case "retry after":
		if value != "on" {
			return fmt.Errorf("retry after: %q is not on", value)
		}
		s.Lane.RetryAfter = true
	case "renewed credential":
		s.Client.Renewed = value
	case "mode":
		s.Client.Mode = value
	case "compression":
		s.Deflate = value
	case "odata version":
		s.Dialect = value
	case "annotations":
		s.Annotates = value
	case "changes":
		s.Changes = value
	case "expiry":
		s.Expiry = value
	case "heartbeat":
		if value == "none" {
			s.Heartbeat = -1
			return nil
		}
		return whole(name, value, &s.Heartbeat)
	case "jitter":
		s.Client.Jitter = new(int)
		return whole(name, value, s.Client.Jitter)
	default:
		return fmt.Errorf("unknown setting %q; known are %s, option NAME and leaf NAME", name, strings.Join(known, ", "))
	}
	return nil
}

func whole(name, value string, into *int) (err error) {
	if *into, err = strconv.Atoi(value); err != nil || *into < 0 {
		return fmt.Errorf("%s: %q is no whole number", name, value)
	}
	return nil
}

// Simulator is the server's side of the set-up. The stamps of what is published are a function of the sequence, so that
// the same bytes go out in every run.
func (s *Setup) Simulator() simulator.Options {
	var accepts []string
	if s.Checked {
		accepts = []string{CredentialAfter(0).Value.Reveal(), CredentialAfter(1).Value.Reveal()}
	}
	opt := simulator.Options{
		Accepts: accepts,
		Source:  Source, Version: Version, Head: event.Seq(s.Records), Rows: s.Records, Stamp: Epoch,
		Retention: s.Retention, Heartbeat: heartbeat(s.Heartbeat), RetryHint: ms(s.RetryHint), Expiry: s.Expiry, Deflate: s.Deflate,
		ODataPageSize: s.PageSize, ODataVersion: s.Dialect, ODataAnnotations: s.Annotates,
		Schedule: simulator.Schedule{Faults: s.Faults},
	}
	if s.Cross {
		cross(&opt)
	}
	return opt
}

func heartbeat(v int) time.Duration {
	if v < 0 {
		return -1
	}
	return ms(v)
}

// Gate is the gate's side of the set-up.
func (s *Setup) Gate() gate.Config {
	c := &s.Client
	return gate.Config{MaxPending: c.MaxPending, MaxIDs: c.MaxIDs, SaveEvery: c.SaveEvery, Saves: !s.NoStore}
}

// Policy is the session's side of the set-up; what the descriptor of the transport says comes on top. jitter draws the
// jitter of the n-th retry unless the set-up fixes it.
func (c *ClientConfig) Policy(jitter func(n int) int) session.Policy {
	if c.Jitter != nil {
		fixed := *c.Jitter
		jitter = func(int) int { return fixed }
	}
	return session.Policy{
		Base: ms(c.Base), Cap: ms(c.Cap), ConnectTimeout: ms(c.Connect), Horizon: ms(c.Horizon), Idle: ms(c.Idle),
		ResetAfter: ms(c.ResetAfter), Attempts: c.Attempts, Arrival: c.Arrival, Jitter: jitter, Notes: true,
	}
}

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// Args is the set-up as the arguments of its trace record: all of it, what the transport declares, and the planted secret.
func (s *Setup) Args(d transport.Descriptor) map[string]string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // a set-up is plain data
	}
	args := map[string]string{"setup": string(text), "canary": Canary, "transport": d.Name, "wire": d.Wire}
	var can []string
	if len(d.Resume) > 0 && d.Vouch != transport.NoVouch {
		can = append(can, "resume")
	}
	if d.Heartbeats {
		can = append(can, "heartbeats")
	}
	if d.Watermarks {
		can = append(can, "watermarks")
	}
	args["capabilities"] = strings.Join(can, ",")
	return args
}

// Canary is the secret of every scenario: the client's credential holds it, and no trace, report or log may (law 7).
const Canary = "canary-7f3a9c51e2"

// CredentialAfter is what the client presents when its credential was renewed so often.
func CredentialAfter(renewals int) transport.Credential {
	value := "Bearer " + Canary
	if renewals > 0 {
		value += "-" + strconv.Itoa(renewals)
	}
	return transport.Credential{Header: "Authorization", Value: transport.Secret(value)}
}

// What every world is made of. The names are public: a report shows them.
const (
	Source  = "incidents"
	Version = 7
	// Epoch is the wall clock of a world at time 0, in unix milliseconds: a round number that everybody recognises.
	Epoch = 1_700_000_000_000
)

// Context is the identity of the scenario's subscription. Its source version is the one that the application knows: that of
// its stored record, else the feed's.
func (s *Setup) Context() checkpoint.Context {
	return checkpoint.Context{SourceID: Source, QueryFingerprint: "all-incidents", SourceVersion: StreamEpoch(s.known()),
		SchemaVersion: "1", AuthorizationScopeFingerprint: "public"}
}

func (s *Setup) known() int {
	if s.Stored != nil && s.Stored.Version != 0 {
		return s.Stored.Version
	}
	return Version
}

// storedAge is how old the stored record is: far from the limits of any store.
const storedAge = 60_000

// Checkpoint is the record that the store holds at the start, taken a minute before; nil if there is none.
func (s *Setup) Checkpoint() *checkpoint.Checkpoint {
	if s.Stored == nil {
		return nil
	}
	w, err := WireOf(s.Wire)
	if err != nil {
		return nil // no world can be made of it
	}
	pos := w.position(s.known(), s.Stored.Seq)
	if s.Stored.Wire {
		pos = w.strange(s.known(), s.Stored.Seq)
	}
	return &checkpoint.Checkpoint{Context: s.storedContext(), Resume: pos, SavedAt: Epoch - s.StoredAge()}
}

// StoredAge is how old the stored record is, in milliseconds.
func (s *Setup) StoredAge() int64 {
	if s.Stored.Age != 0 {
		return s.Stored.Age
	}
	return storedAge
}

// storedContext is what the stored record belongs to.
func (s *Setup) storedContext() checkpoint.Context {
	c := s.Context()
	of := map[string]*string{"source": &c.SourceID, "query": &c.QueryFingerprint, "schema": &c.SchemaVersion, "viewer": &c.AuthorizationScopeFingerprint}
	if member := of[s.Stored.Other]; member != nil {
		*member = "another-" + s.Stored.Other
	}
	return c
}

// Query is what the client subscribes to.
func (c *ClientConfig) Query() transport.Query {
	return transport.Query{SourceID: Source, Mode: c.Mode}
}

// StreamEpoch is the stream epoch that the simulator names for a source version (D-41).
func StreamEpoch(version int) string { return Source + "-v" + strconv.Itoa(version) }
