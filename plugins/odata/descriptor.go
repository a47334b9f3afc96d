package odata

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/conform-dev/conform/core/transport"
)

// The options and their words. docs/wire.md explains them.
const (
	OptionKey            = "key"
	OptionRows           = "rows"
	OptionOrder          = "order"
	OptionPollIntervalMs = "pollIntervalMs"
	OptionDeltaToken     = "deltaTokenOption"
	OptionFilter         = "filter"
	OptionSelect         = "select"
	OptionOrderBy        = "orderBy"
	OptionTop            = "top"
	OptionExpiredStatus  = "expiredStatus"
	OptionExpiredCode    = "expiredCode"
	OptionMaxPages       = "maxPages"
	OptionMaxRows        = "maxRows"
	OptionMaxPageBytes   = "maxPageBytes"
	OptionMaxRowBytes    = "maxRowBytes"
	OptionMaxEventBytes  = "maxEventBytes" // the host reads it too: it takes documents as large as that
	OptionMaxResnapshots = "maxConsecutiveResnapshots"

	RowsAuto   = "auto"
	RowsPatch  = "patch"
	RowsEntity = "entity"

	ServerSequence = string(transport.ServerSequence)
	RequestChain   = string(transport.RequestChain)

	defaultKey        = "id"
	defaultDeltaToken = "$deltatoken"
	ceilingTop        = 1_000_000_000
)

// Version of this transport, for reports.
const Version = "0.1.0"

// Describe is the transport's descriptor (D-42). Each call makes a new one. It claims no push and no heartbeats: what it shows is as old as
// the last poll. A subscription with the option order=request-chain is numbered by the transport, which its reports then have to say.
func Describe() transport.Descriptor {
	count := func(name, doc string, def, ceiling int64) transport.Option {
		return transport.Option{Name: name, Doc: doc, Default: strconv.FormatInt(def, 10), Ceiling: ceiling}
	}
	return transport.Descriptor{
		Name:       "odata",
		Version:    Version,
		Wire:       "odata",
		Freshness:  transport.Poll,
		Order:      transport.ServerSequence,
		Baseline:   transport.BaselineSnapshot,
		Resume:     []transport.Mode{transport.ByDeltaToken},
		Vouch:      transport.VouchImplicit,
		Watermarks: true,
		Takes:      []transport.Take{transport.TakesHeaders, transport.TakesTLS, transport.TakesProxy},
		Options: []transport.Option{
			{Name: OptionKey, Doc: "key properties of a row, joined by commas", Default: defaultKey},
			{Name: OptionRows, Doc: "what a row is: the contract's patch with id, version and feature, or an entity that is the feature; auto: patch with order server-sequence, else entity", Default: RowsAuto, Values: []string{RowsAuto, RowsPatch, RowsEntity}},
			{Name: OptionOrder, Doc: "who numbers the rounds: the server, in @conform.sequence, or this transport, by counting them", Default: ServerSequence, Values: []string{ServerSequence, RequestChain}},
			count(OptionPollIntervalMs, "milliseconds from the end of a cycle to the next poll", DefaultPollInterval.Milliseconds(), CeilingPollInterval.Milliseconds()),
			{Name: OptionDeltaToken, Doc: "the query option of a delta link that holds its token", Default: defaultDeltaToken},
			{Name: OptionFilter, Doc: "$filter of a snapshot's first request"},
			{Name: OptionSelect, Doc: "$select of a snapshot's first request; it must include the key"},
			{Name: OptionOrderBy, Doc: "$orderby of a snapshot's first request"},
			{Name: OptionTop, Doc: "$top of a snapshot's first request"},
			{Name: OptionExpiredStatus, Doc: "a status from 400 to 499 that means an expired position beside 410; empty: none"},
			{Name: OptionExpiredCode, Doc: "with it: only if the answer's error.code is this one"},
			count(OptionMaxPages, "most pages of one cycle", DefaultMaxPages, CeilingMaxPages),
			count(OptionMaxRows, "most entries of one cycle", DefaultMaxRows, CeilingMaxRows),
			count(OptionMaxPageBytes, "most bytes of one page", DefaultMaxPageBytes, CeilingMaxPageBytes),
			count(OptionMaxRowBytes, "most bytes of one entry", DefaultMaxRowBytes, CeilingMaxRowBytes),
			count(OptionMaxEventBytes, "most bytes of the document that a cycle becomes", DefaultMaxEventBytes, CeilingMaxEventBytes),
			count(OptionMaxResnapshots, "most snapshots in a row that were needed to recover", DefaultMaxResnapshots, CeilingMaxResnapshots),
		},
	}
}

// settings are the options of one attempt, checked.
type settings struct {
	key            string
	asPatch, chain bool
	interval       time.Duration
	deltaToken     string
	query          []transport.Param // of the first URL of a snapshot cycle
	expiredStatus  int
	expiredCode    string
	maxPages       int
	maxRows        int
	maxPageBytes   int64
	maxRowBytes    int64
	maxEventBytes  int
	maxResnapshots int
}

func parseSettings(a transport.Attempt) (s settings, err error) {
	d := Describe()
	if err := d.CheckOptions(a.Options); err != nil {
		return s, err
	}
	value := func(name string) string { return d.Value(a.Options, name) }
	number := func(name string) int64 { // within its ceiling: checked above
		n, _ := strconv.ParseInt(value(name), 10, 64)
		return n
	}
	no := func(name, want string) (settings, error) {
		return s, &transport.OptionError{Name: name, Value: value(name), Want: want}
	}
	if s.key = value(OptionKey); !CheckKey(s.key) {
		return no(OptionKey, fmt.Sprintf("must be 1 to %d different property names, joined by commas", MaxKeyParts))
	}
	s.chain = value(OptionOrder) == RequestChain
	s.asPatch = value(OptionRows) == RowsPatch || value(OptionRows) == RowsAuto && !s.chain
	if s.asPatch && strings.Contains(s.key, ",") {
		return no(OptionKey, "must be one property where rows are patches: a patch has one id")
	}
	if s.deltaToken = value(OptionDeltaToken); !isQueryOption(s.deltaToken) {
		return no(OptionDeltaToken, "must be 1 to 128 letters, digits or any of $ ! - _ .")
	}
	s.interval = time.Duration(number(OptionPollIntervalMs)) * time.Millisecond
	s.maxPages, s.maxRows, s.maxEventBytes = int(number(OptionMaxPages)), int(number(OptionMaxRows)), int(number(OptionMaxEventBytes))
	s.maxPageBytes, s.maxRowBytes, s.maxResnapshots = number(OptionMaxPageBytes), number(OptionMaxRowBytes), int(number(OptionMaxResnapshots))
	if text := value(OptionExpiredStatus); text != "" {
		if s.expiredStatus, err = strconv.Atoi(text); err != nil || len(text) != 3 || s.expiredStatus < 400 || s.expiredStatus > 499 {
			return no(OptionExpiredStatus, "must be a status from 400 to 499")
		}
	}
	if s.expiredCode = value(OptionExpiredCode); s.expiredCode != "" && s.expiredStatus == 0 {
		return no(OptionExpiredCode, "needs the option "+OptionExpiredStatus)
	}
	return s, s.ask(a, value)
}

// ask makes the query options of the first URL of a snapshot cycle. What a subscription's query says stands in for an option that is not
// set; what it says and cannot be asked for is an error, since rows that nobody asked for would come instead.
func (s *settings) ask(a transport.Attempt, value func(string) string) error {
	q := a.Query
	if q.LayerID != "" || q.SpatialFilter != "" {
		return fmt.Errorf("query: layerId and spatialFilter have no form in OData; use the option %s", OptionFilter)
	}
	for _, p := range []struct{ name, option, also string }{
		{"$filter", OptionFilter, q.Where},
		{"$select", OptionSelect, strings.Join(q.Fields, ",")},
		{"$orderby", OptionOrderBy, ""},
		{"$top", OptionTop, ""},
	} {
		v := value(p.option)
		switch {
		case v == "":
			v = p.also
		case p.also != "" && p.also != v:
			return fmt.Errorf("query: it and the option %s say different things", p.option)
		}
		if p.option == OptionTop && v != "" {
			if _, err := (transport.Option{Name: OptionTop, Ceiling: ceilingTop}).Integer(v); err != nil {
				return err
			}
		}
		if v != "" {
			s.query = append(s.query, transport.Param{Name: p.name, Value: v})
		}
	}
	return nil
}

func isQueryOption(name string) bool {
	for i := range len(name) {
		c := name[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("$!-_.", c) >= 0) {
			return false
		}
	}
	return name != "" && len(name) <= 128
}
