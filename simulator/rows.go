package simulator

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Rows is the reader's side of the rows digest: the state that a consumer holds after the events it was given. It knows
// nothing of the feed; it reads the documents alone, by the rules of facts 7.7: a replacement snapshot clears what was
// there (D-40), an upsert and the rows of a delta overwrite their key, deletes remove it. It drops no duplicate and checks
// no number: that is the gate's work, and a mistake there must show.
//
// When what reached the consumer is right, Digest equals the simulator's digest at the same sequence.
type Rows struct {
	source string
	set    rowSet
	keys   map[string]rowHash
}

// NewRows makes an empty state. source is the source id of rows that name none.
func NewRows(source string) *Rows { return &Rows{source: source, keys: map[string]rowHash{}} }

type document struct {
	Type     string          `json:"type"`
	Kind     string          `json:"kind"`
	Event    json.RawMessage `json:"event"`
	Replace  *bool           `json:"replace"`
	Features []patch         `json:"features"`
	Upserts  []patch         `json:"upserts"`
	Deletes  []patch         `json:"deletes"`
	Feature  json.RawMessage `json:"feature"`
	patchKey
}

type patchKey struct {
	SourceID string          `json:"sourceId"`
	ID       json.RawMessage `json:"id"`
	Version  json.Number     `json:"version"`
}

type patch struct {
	patchKey
	Feature json.RawMessage `json:"feature"`
}

// Apply takes one event's document in one of the envelopes of facts 5.4. After an error the state is unchanged; an event
// that carries no rows is an error.
func (r *Rows) Apply(doc []byte) error {
	if depth(doc) > maxDepth {
		return fmt.Errorf("nested deeper than %d", maxDepth)
	}
	var d document
	if err := json.Unmarshal(doc, &d); err != nil {
		return fmt.Errorf("no event: %w", err)
	}
	if d.Type == "" && len(d.Event) > 0 && d.Event[0] == '{' {
		inner := d.Event
		d = document{}
		if err := json.Unmarshal(inner, &d); err != nil {
			return fmt.Errorf("no event: %w", err)
		}
	}
	if d.Type == "" {
		d.Type = d.Kind
	}
	var puts, drops []patch
	switch d.Type {
	case "snapshot":
		puts = d.Features
	case "upsert":
		var p patch
		if err := json.Unmarshal(d.Feature, &p); err != nil {
			return fmt.Errorf("upsert without a feature: %w", err)
		}
		puts = []patch{p}
	case "delete":
		drops = []patch{{patchKey: d.patchKey}}
	case "delta":
		puts, drops = d.Upserts, d.Deletes
	default:
		return fmt.Errorf("type %q carries no rows", d.Type)
	}
	return r.change(d.Type == "snapshot" && (d.Replace == nil || *d.Replace), puts, drops)
}

func (r *Rows) change(clearAll bool, puts, drops []patch) error {
	keys := make([]string, 0, len(puts)+len(drops))
	for _, p := range append(puts[:len(puts):len(puts)], drops...) {
		k, err := r.key(p.patchKey)
		if err != nil {
			return err
		}
		keys = append(keys, k)
	}
	if clearAll {
		clear(r.keys)
		r.set = rowSet{}
	}
	for i, p := range puts {
		r.remove(keys[i])
		version, _ := p.Version.Int64()
		h := hashRow(keys[i], version, p.Feature)
		r.keys[keys[i]] = h
		r.set.add(h)
	}
	for _, k := range keys[len(puts):] {
		r.remove(k)
	}
	return nil
}

// key is source id, colon, id. A number and a string of the same text are one id.
func (r *Rows) key(p patchKey) (string, error) {
	source := p.SourceID
	if source == "" {
		source = r.source
	}
	id := bytes.TrimSpace(p.ID)
	if len(id) > 0 && id[0] == '"' {
		var s string
		if err := json.Unmarshal(id, &s); err != nil {
			return "", fmt.Errorf("id: %w", err)
		}
		return source + ":" + s, nil
	}
	if len(id) == 0 || id[0] != '-' && (id[0] < '0' || id[0] > '9') {
		return "", fmt.Errorf("id: a row's id is a string or a number")
	}
	return source + ":" + string(id), nil
}

func (r *Rows) remove(key string) {
	if h, ok := r.keys[key]; ok {
		r.set.sub(h)
		delete(r.keys, key)
	}
}

// Len is how many rows there are.
func (r *Rows) Len() int { return r.set.count }

// Digest is the rows digest of the state.
func (r *Rows) Digest() string { return r.set.digest() }
