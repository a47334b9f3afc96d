package odata

import (
	"bytes"
	"fmt"
	"strings"
)

// Flaw is what is wrong with a page: a fixed word, and where. It holds nothing of what the server wrote.
type Flaw struct {
	Word  string
	Limit int64 // of a bound that was passed; 0 if it is none
	Row   int   // number of the entry on its page, from 1; 0 if it is none's
	At    int64 // byte of the page where what is wrong begins, from 0
	Name  string
}

// Error names the flaw and its place.
func (f *Flaw) Error() string {
	s := f.Word
	if f.Limit > 0 {
		s += fmt.Sprintf(": limit %d", f.Limit)
	} else if f.Name != "" {
		s += ": " + f.Name
	}
	if f.Row > 0 {
		s += fmt.Sprintf(", entry %d", f.Row)
	}
	return s + fmt.Sprintf(", at byte %d", f.At)
}

// The words of a Flaw.
const (
	FlawNotJSON     = "undecodable-payload" // not JSON, not UTF-8, nested too deep (D-44)
	FlawCut         = "page-cut"            // the page ended in the middle
	FlawNoObject    = "page-not-an-object"
	FlawNoValue     = "page-without-value"
	FlawValue       = "value-not-an-array"
	FlawRow         = "entry-not-an-object"
	FlawTwice       = "member-twice"
	FlawPageTooBig  = "page-too-large"
	FlawRowTooBig   = "row-too-large"
	FlawAnnotation  = "bad-annotation"
	FlawLink        = "unsupported-relationship-entry"
	FlawNested      = "unsupported-nested-delta"
	FlawForeign     = "entry-of-another-set"
	FlawNoKey       = "entry-without-key"
	FlawNoIdentity  = "removed-without-identity"
	FlawRemoved     = "bad-removed"
	FlawPatch       = "row-is-no-patch"
	FlawTooManyRows = "too-many-rows"
	FlawTooLarge    = "round-too-large"
	FlawInSnapshot  = "removed-in-snapshot"
)

// Page is what a page says beside its entries: the annotations that count, in either dialect (D-38). Raw values are JSON, nil if absent.
type Page struct {
	Context   string // @odata.context, @context
	NextLink  string
	DeltaLink string
	Rows      int
	Set       string // the entity set that entries with a context of their own name, empty if none does

	// What a contract server says on every page; see docs/wire.md.
	StreamEpoch                           string
	Sequence, Head                        []byte
	EventID, Cursor, Watermark, Timestamp []byte
	Type                                  []byte
}

// Decoder splits a page as it comes into its entries and its annotations. It holds one entry at a time, and starts no goroutine.
type Decoder struct {
	maxBytes, maxRow int64

	in   []byte // fed, not looked at yet
	at   int64  // bytes of the page in front of in
	step step
	raw  []byte // the value that is being read
	from int64  // where it began
	then step   // what comes after it
	lex  lexer
	name string
	page Page
	seen map[string]bool // annotations that were there
	flaw *Flaw
}

// step is what a page may go on with.
type step uint8

const (
	wantObject   step = iota
	wantFirst         // a name, or the end of the object
	wantName          // a name
	wantColon         // behind a name
	wantValue         // of a member
	wantMore          // a comma, or the end of the object
	wantFirstRow      // of the array, or its end
	wantRow
	wantMoreRows // a comma, or the end of the array
	wantNothing
	inValue
)

// NewDecoder makes a decoder for one page of at most maxBytes, with entries and annotations of at most maxRow bytes.
func NewDecoder(maxBytes, maxRow int64) *Decoder {
	return &Decoder{maxBytes: maxBytes, maxRow: maxRow, seen: map[string]bool{}}
}

// Feed takes the next bytes of the page, cut anywhere. Next is called until it says false before Feed is called again, and b must not
// change until then.
func (d *Decoder) Feed(b []byte) { d.in = b }

// Next is the next complete entry, as JSON, and the byte of the page where it begins. The entry is valid until the next call. ok is false when
// more bytes are needed or the page is flawed.
func (d *Decoder) Next() (entry []byte, at int64, ok bool) {
	for d.flaw == nil && len(d.in) > 0 {
		if d.step == inValue {
			if d.collect() && d.finish() {
				return d.raw, d.from, true
			}
			continue
		}
		c := d.in[0]
		if !blank(c) {
			d.punctuation(c)
		}
		if d.step != inValue && d.flaw == nil {
			d.take(1)
		}
	}
	return nil, 0, false
}

// take counts n bytes as read.
func (d *Decoder) take(n int) {
	d.in = d.in[n:]
	if d.at += int64(n); d.at > d.maxBytes {
		d.fail(FlawPageTooBig, d.maxBytes, d.maxBytes)
	}
}

func (d *Decoder) fail(word string, limit, at int64) {
	if d.flaw == nil {
		d.flaw = &Flaw{Word: word, Limit: limit, At: at, Row: d.row()}
	}
}

// row is the number of the entry that is being read.
func (d *Decoder) row() int {
	if d.step == inValue && d.then == wantMoreRows {
		return d.page.Rows + 1
	}
	return 0
}

// punctuation judges a byte that is no white space and in no value.
func (d *Decoder) punctuation(c byte) {
	switch want := d.step; {
	case want == wantObject && c == '{':
		d.step = wantFirst
	case want == wantObject && c != 0:
		d.fail(FlawNoObject, 0, d.at)
	case (want == wantFirst || want == wantName) && c == '"':
		d.begin(wantColon)
	case want == wantColon && c == ':':
		d.step = wantValue
	case want == wantValue && d.name == "value" && c == '[':
		d.step = wantFirstRow
	case want == wantValue && d.name == "value":
		d.fail(FlawValue, 0, d.at)
	case want == wantValue:
		d.begin(wantMore)
	case (want == wantFirst || want == wantMore) && c == '}':
		d.step = wantNothing
	case want == wantMore && c == ',':
		d.step = wantName
	case (want == wantFirstRow || want == wantRow) && c == '{':
		d.begin(wantMoreRows)
	case (want == wantFirstRow || want == wantMoreRows) && c == ']':
		d.step = wantMore
	case want == wantMoreRows && c == ',':
		d.step = wantRow
	case want == wantFirstRow || want == wantRow:
		d.fail(FlawRow, 0, d.at)
	default:
		d.fail(FlawNotJSON, 0, d.at)
	}
}

// begin starts to read a value, whose first byte is the next one.
func (d *Decoder) begin(then step) {
	d.step, d.then, d.from = inValue, then, d.at
	d.raw, d.lex = d.raw[:0], lexer{}
}

// collect takes what belongs to the value that is being read; true if it is complete.
func (d *Decoder) collect() bool {
	n, done := d.lex.scan(d.in)
	if int64(len(d.raw)+n) > d.maxRow {
		d.fail(FlawRowTooBig, d.maxRow, d.from)
		return false
	}
	d.raw = append(d.raw, d.in[:n]...)
	d.take(n)
	return done && d.flaw == nil
}

// finish judges a complete value; true if it is an entry.
func (d *Decoder) finish() (entry bool) {
	if !valid(d.raw) {
		d.fail(FlawNotJSON, 0, d.from)
		return false
	}
	d.step = d.then
	switch d.then {
	case wantColon:
		d.name = member{name: d.raw[1 : len(d.raw)-1]}.plain()
		if d.name == "value" {
			d.once("value")
		}
	case wantMore:
		d.annotate()
	case wantMoreRows:
		d.page.Rows++
		return true
	}
	return false
}

// once notices a member that counts and is there a second time.
func (d *Decoder) once(name string) bool {
	if d.seen[name] {
		d.flaw = &Flaw{Word: FlawTwice, Name: name, At: d.from}
		return false
	}
	d.seen[name] = true
	return true
}

// annotate keeps what counts of a member that is no entry. The two dialects are two spellings of one name; both at once is twice.
func (d *Decoder) annotate() {
	p := &d.page
	switch name := short(d.name); name {
	case "@context":
		d.text(name, &p.Context)
	case "@nextLink":
		d.text(name, &p.NextLink)
	case "@deltaLink":
		d.text(name, &p.DeltaLink)
	case "@conform.streamEpoch":
		d.text(name, &p.StreamEpoch)
	case "@conform.sequence":
		d.keep(name, &p.Sequence)
	case "@conform.headSequence":
		d.keep(name, &p.Head)
	case "@conform.eventId":
		d.keep(name, &p.EventID)
	case "@conform.type":
		d.keep(name, &p.Type)
	case "@conform.cursor":
		d.keep(name, &p.Cursor)
	case "@conform.watermark":
		d.keep(name, &p.Watermark)
	case "@conform.timestamp":
		d.keep(name, &p.Timestamp)
	}
}

// short is the 4.01 spelling of an annotation's name.
func short(name string) string {
	if len(name) > len("@odata.") && name[:len("@odata.")] == "@odata." {
		return "@" + name[len("@odata."):]
	}
	return name
}

func (d *Decoder) text(name string, into *string) {
	s, ok := text(d.raw)
	if !d.once(name) {
		return
	}
	if !ok || len(s) > MaxLinkBytes {
		d.flaw = &Flaw{Word: FlawAnnotation, Name: name, At: d.from}
		return
	}
	*into = s
}

func (d *Decoder) keep(name string, into *[]byte) {
	if !d.once(name) {
		return
	}
	if len(d.raw) > MaxAnnotationBytes {
		d.flaw = &Flaw{Word: FlawAnnotation, Name: name, At: d.from}
		return
	}
	*into = bytes.Clone(d.raw)
}

// sets notices the entity set that an entry's own context names: a page is of one.
func (d *Decoder) sets(set string) *Flaw {
	if d.page.Set != "" && d.page.Set != set {
		return &Flaw{Word: FlawForeign}
	}
	d.page.Set = set
	return nil
}

// Offset is how many bytes of the page were read.
func (d *Decoder) Offset() int64 { return d.at }

// Rows is how many entries were complete.
func (d *Decoder) Rows() int { return d.page.Rows }

// Page says what the page says beside its entries. It fails with a *Flaw if the page is flawed or not complete.
func (d *Decoder) Page() (Page, error) {
	switch {
	case d.flaw != nil:
		return Page{}, d.flaw
	case d.step != wantNothing:
		return Page{}, &Flaw{Word: FlawCut, At: d.at, Row: d.row()}
	case !d.seen["value"]:
		return Page{}, &Flaw{Word: FlawNoValue, At: d.at}
	}
	if _, fragment, ok := strings.Cut(d.page.Context, "#"); ok && d.page.Set != "" && setOf(fragment) != d.page.Set {
		return Page{}, &Flaw{Word: FlawForeign, At: d.at}
	}
	return d.page, nil
}

// Flawed is the flaw that was found, nil if there is none. An unfinished page has none yet.
func (d *Decoder) Flawed() *Flaw { return d.flaw }

// lexer finds the end of one JSON value. Whether it is JSON is judged when it is complete.
type lexer struct {
	begun   bool
	bare    bool // a number or a word: it ends where something else begins
	depth   int
	text    bool // inside a string
	escaped bool
}

// scan says how many bytes of b belong to the value, and whether it is complete with them.
func (l *lexer) scan(b []byte) (n int, done bool) {
	if !l.begun {
		l.begun, l.bare = true, b[0] != '"' && b[0] != '{' && b[0] != '['
	}
	if l.bare {
		for n < len(b) {
			if c := b[n]; blank(c) || c == ',' || c == '}' || c == ']' || c == ':' || c == '"' || c == '{' || c == '[' {
				return n, true
			}
			n++
		}
		return n, false
	}
	for n < len(b) {
		c := b[n]
		n++
		switch {
		case l.escaped:
			l.escaped = false
		case l.text && c == '\\':
			l.escaped = true
		case c == '"':
			if l.text = !l.text; !l.text && l.depth == 0 {
				return n, true
			}
		case l.text:
		case c == '{' || c == '[':
			l.depth++
		case c == '}' || c == ']':
			if l.depth--; l.depth == 0 {
				return n, true
			}
		}
	}
	return n, false
}
