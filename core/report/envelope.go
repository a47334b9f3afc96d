package report

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/conform-dev/conform/core/ledger"
	"github.com/conform-dev/conform/core/trace"
)

// Format names the envelope's form; a change that breaks readers gets another number.
const Format = "conform.report/1"

//go:embed envelope.schema.json
var schemas embed.FS

// Schema is the JSON schema of envelope.json.
func Schema() []byte {
	b, err := schemas.ReadFile("envelope.schema.json")
	if err != nil {
		panic(err) // it is built in
	}
	return b
}

type envelope struct {
	Format     string           `json:"format"`
	Version    string           `json:"version"`
	Started    string           `json:"started"`
	DurationMs int64            `json:"durationMs"`
	Command    string           `json:"command"`
	Seed       uint64           `json:"seed"`
	Strict     bool             `json:"strict"`
	Partial    bool             `json:"partial"`
	ExitCode   int              `json:"exitCode"`
	Subjects   []Subject        `json:"subjects"`
	Lanes      []trace.Lane     `json:"lanes"`
	Rows       []envelopeRow    `json:"rows"`
	Results    []envelopeResult `json:"results"`
	Unproven   []string         `json:"unproven"`
	Stale      []string         `json:"stale,omitempty"`
}

type envelopeRow struct {
	Row     string       `json:"row"`
	Level   ledger.Level `json:"level"`
	Subject string       `json:"subject"`
	Outcome string       `json:"outcome"`
	Results int          `json:"results"`
	Known   bool         `json:"known,omitempty"`
}

// envelopeKnown is the entry of a baseline that knows of a failure.
type envelopeKnown struct {
	Issue   string `json:"issue"`
	Owner   string `json:"owner"`
	Expires string `json:"expires"`
}

type envelopeResult struct {
	Row         string            `json:"row"`
	Title       string            `json:"title"`
	Level       ledger.Level      `json:"level"`
	Surface     string            `json:"surface"`
	Actor       string            `json:"actor"`
	Profiles    []string          `json:"profiles"`
	Authority   []string          `json:"authority"`
	Scenario    string            `json:"scenario"`
	File        string            `json:"file"`
	Line        int               `json:"line"`
	Subject     string            `json:"subject"`
	Wire        string            `json:"wire"`
	Lane        trace.Lane        `json:"lane"`
	SelfCheck   bool              `json:"selfCheck"`
	Outcome     string            `json:"outcome"`
	Why         string            `json:"why,omitempty"`
	Fingerprint string            `json:"fingerprint,omitempty"`
	Known       *envelopeKnown    `json:"known,omitempty"`
	Findings    []envelopeFinding `json:"findings,omitempty"`
	More        int               `json:"moreFindings,omitempty"`
	Excerpt     []string          `json:"excerpt,omitempty"`
	Stderr      []string          `json:"stderr,omitempty"`
	Seed        uint64            `json:"seed"`
	DurationMs  int64             `json:"durationMs"`
	Trace       string            `json:"trace,omitempty"`
	TraceHash   string            `json:"traceHash,omitempty"`
	Repeat      string            `json:"repeat"`
}

type envelopeFinding struct {
	Check    string `json:"check"`
	Expected string `json:"expected"`
	Seen     string `json:"seen"`
	Record   int    `json:"record,omitempty"`
	Related  []int  `json:"related,omitempty"`
}

// Envelope is the run as JSON, checked against Schema. red may be nil.
func Envelope(run Run, red *Redactor) ([]byte, error) {
	if err := run.check(); err != nil {
		return nil, err
	}
	e := envelope{Format: Format, Version: run.Version, Started: run.Started.UTC().Format(time.RFC3339Nano), DurationMs: run.Duration.Milliseconds(),
		Command: run.Command, Seed: run.Seed, Strict: run.Strict, Partial: run.Partial, ExitCode: ExitCode(run, run.Strict),
		Subjects: append([]Subject{}, run.Subjects...), Lanes: append([]trace.Lane{}, run.Lanes...), Unproven: append([]string{}, run.Unproven...), Stale: run.Stale,
		Rows: []envelopeRow{}, Results: []envelopeResult{}}
	for _, o := range run.Rows() {
		e.Rows = append(e.Rows, envelopeRow{o.Row, o.Level, o.Subject, string(o.Verdict), o.Results, o.Known})
	}
	hashes := map[string]string{}
	for i := range run.Results {
		r, err := resultOf(&run.Results[i], hashes)
		if err != nil {
			return nil, err
		}
		e.Results = append(e.Results, r)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(e); err != nil {
		return nil, err
	}
	out := []byte(red.Text(b.String()))
	if err := Validate(out); err != nil {
		return nil, fmt.Errorf("report: envelope does not fit its own schema: %w", err)
	}
	return out, nil
}

func resultOf(r *Result, hashes map[string]string) (envelopeResult, error) {
	out := envelopeResult{Row: r.Row.ID, Title: r.Row.Title, Level: r.Row.Level, Surface: r.Row.Surface, Actor: r.Row.Actor,
		Profiles: append([]string{}, r.Row.Profiles...), Authority: []string{}, Scenario: r.Scenario, File: r.File, Line: r.Line, Subject: r.Subject,
		Wire: r.Wire, Lane: r.Lane, SelfCheck: r.SelfCheck, Outcome: string(r.Outcome.Verdict), Why: r.Outcome.Why, More: r.Outcome.More,
		Excerpt: r.Outcome.Excerpt, Stderr: tail(r.Stderr, MaxStderr), Seed: r.Seed, DurationMs: r.Duration.Milliseconds(), Repeat: r.Repeat}
	out.Fingerprint = r.Fingerprint()
	if k := r.Known; k != nil {
		out.Known = &envelopeKnown{k.Issue, k.Owner, k.Expires}
	}
	for _, a := range r.Row.Authority {
		out.Authority = append(out.Authority, a.String())
	}
	for _, f := range r.Outcome.Findings {
		out.Findings = append(out.Findings, envelopeFinding{string(f.Check), f.Expected, f.Seen, f.Record, f.Related})
	}
	if len(r.Records) == 0 {
		return out, nil
	}
	out.Trace = traceName(r)
	if hashes[out.Trace] == "" {
		h, err := trace.Hash(trace.Canonical(r.Records, r.Lane))
		if err != nil {
			return out, err
		}
		hashes[out.Trace] = h
	}
	out.TraceHash = hashes[out.Trace]
	return out, nil
}

// Validate says what in an envelope does not fit the schema; nil if nothing does not.
func Validate(doc []byte) error {
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		return err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	if err := c.AddResource("envelope.schema.json", schema); err != nil {
		return err
	}
	compiled, err := c.Compile("envelope.schema.json")
	if err != nil {
		return err
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		return err
	}
	return compiled.Validate(v)
}
