package odata

import (
	"slices"
	"strings"
)

// EntryKind is what an entry of a page says about its row.
type EntryKind uint8

// The kinds.
const (
	Upsert EntryKind = iota + 1
	Removed
)

// String is the word for k.
func (k EntryKind) String() string { return [...]string{"", "upsert", "removed"}[k] }

// Entry is one entry of a page. It shares the bytes it was read from.
type Entry struct {
	Kind   EntryKind
	Key    Key
	Reason string // Removed: deleted or changed, empty if it says neither; both mean gone from this result (OData JSON 4.01)
	Set    string // the entity set that a context of the entry's own names, empty if it has none

	list []member
}

// Reader reads entries whose key properties are known.
type Reader struct {
	names  []string // of the key, sorted
	list   []member
	values []literal
}

// NewReader makes a reader for rows with these key properties, which CheckKey accepts.
func NewReader(key string) *Reader {
	names := strings.Split(key, ",")
	slices.Sort(names)
	return &Reader{names: names, values: make([]literal, len(names))}
}

// CheckKey says whether key is a list of 1 to MaxKeyParts different property names, joined by commas.
func CheckKey(key string) bool {
	names := strings.Split(key, ",")
	slices.Sort(names)
	for i, n := range names {
		if n == "" || len(n) > 128 || strings.ContainsAny(n, "@=()'\"/ \t\\") || i > 0 && n == names[i-1] {
			return false
		}
	}
	return len(names) <= MaxKeyParts
}

// control is what an entry's annotations say, whichever dialect it is in.
type control struct {
	context, id, removed []byte
	hasRemoved           bool
	nested               bool
	flaw                 *Flaw
}

// Read judges one entry, a valid JSON object, in the order of facts 6.5: a relationship, removed, or a row. The entry counts until the
// next call. Members may stand in any order.
func (r *Reader) Read(raw []byte) (Entry, *Flaw) {
	r.list = members(r.list[:0], raw)
	c := r.control()
	if c.flaw != nil {
		return Entry{}, c.flaw
	}
	set, kind := contextOf(c.context)
	switch {
	case kind == "$link" || kind == "$deletedLink" || kind == "" && r.isLink():
		return Entry{}, &Flaw{Word: FlawLink}
	case c.nested:
		return Entry{}, &Flaw{Word: FlawNested}
	case c.hasRemoved || kind == "$deletedEntity":
		e, flaw := r.removed(c)
		e.Set = set
		return e, flaw
	}
	k, flaw := r.key()
	return Entry{Kind: Upsert, Key: k, Set: set, list: r.list}, flaw
}

func (r *Reader) control() (c control) {
	once := func(into *[]byte, m member) {
		if *into != nil {
			c.flaw = &Flaw{Word: FlawTwice, Name: short(m.plain())}
		}
		*into = m.value
	}
	for _, m := range r.list {
		if !annotation(m) {
			continue
		}
		switch name := short(m.plain()); name {
		case "@context":
			once(&c.context, m)
		case "@id":
			once(&c.id, m)
		case "@removed":
			once(&c.removed, m)
			c.hasRemoved = true
		default:
			// What changed below a row would be lost silently, and would have to be numbered with it.
			c.nested = c.nested || strings.HasSuffix(name, "@delta") || strings.HasSuffix(name, "@odata.delta")
		}
	}
	return c
}

// annotation says whether a member is none of the row's own: no property has an @ in its name.
func annotation(m member) bool {
	for _, c := range m.name {
		if c == '@' || c == '\\' {
			return c == '@' || strings.Contains(m.plain(), "@")
		}
	}
	return false
}

// contextOf reads what a context URL says of an entry: its entity set, and the word behind the last slash of the fragment.
func contextOf(raw []byte) (set, kind string) {
	s, _ := text(raw)
	_, fragment, ok := strings.Cut(s, "#")
	if !ok {
		return "", ""
	}
	if at := strings.LastIndex(fragment, "/$"); at >= 0 {
		fragment, kind = fragment[:at], fragment[at+1:]
	}
	return setOf(fragment), kind
}

// setOf is the entity set at the front of a context's fragment.
func setOf(fragment string) string {
	if end := strings.IndexAny(fragment, "(/"); end >= 0 {
		fragment = fragment[:end]
	}
	return fragment
}

// isLink finds a link of the 4.0 form that says no context: it has the three members, and is not a row that has them by chance.
func (r *Reader) isLink() bool {
	for _, name := range []string{"source", "relationship", "target"} {
		if raw := r.find(name); len(raw) == 0 || raw[0] != '"' {
			return false
		}
	}
	for _, name := range r.names {
		if r.find(name) == nil {
			return true
		}
	}
	return false
}

// find is the value of a property, nil if it is absent.
func (r *Reader) find(name string) []byte {
	for _, m := range r.list {
		if string(m.name) == name || len(m.name) > len(name) && m.plain() == name {
			return m.value
		}
	}
	return nil
}

// key reads the key out of the properties.
func (r *Reader) key() (Key, *Flaw) {
	size := 0
	for i, name := range r.names {
		count := 0
		for _, m := range r.list {
			if string(m.name) == name || len(m.name) > len(name) && m.plain() == name {
				count++
			}
		}
		if count > 1 {
			return Key{}, &Flaw{Word: FlawTwice, Name: name}
		}
		v, ok := jsonLiteral(r.find(name))
		if size += len(v.text); !ok || size > MaxKeyBytes {
			return Key{}, &Flaw{Word: FlawNoKey, Name: name}
		}
		r.values[i] = v
	}
	return newKey(r.names, r.values), nil
}

// removed reads who is gone. An entry of 4.0 has an entity id in a plain member `id`, and no properties; one of 4.01 has its key properties,
// or an id as an annotation.
func (r *Reader) removed(c control) (Entry, *Flaw) {
	reason := []byte(nil)
	if c.hasRemoved {
		if len(c.removed) == 0 || c.removed[0] != '{' {
			return Entry{}, &Flaw{Word: FlawRemoved}
		}
		for _, m := range members(nil, c.removed) {
			if m.plain() == "reason" {
				reason = m.value
			}
		}
	} else {
		reason = r.find("reason")
	}
	e := Entry{Kind: Removed, list: r.list}
	if s, _ := text(reason); s == "deleted" || s == "changed" {
		e.Reason = s
	}
	if !c.hasRemoved {
		if id, ok := text(r.find("id")); ok {
			if e.Key, ok = KeyOfID(id, r.names); ok {
				return e, nil
			}
		}
	}
	k, flaw := r.key()
	if flaw == nil {
		e.Key = k
		return e, nil
	}
	if flaw.Word == FlawTwice {
		return Entry{}, flaw
	}
	if id, ok := text(c.id); ok {
		if e.Key, ok = KeyOfID(id, r.names); ok {
			return e, nil
		}
	}
	return Entry{}, &Flaw{Word: FlawNoIdentity}
}

// size is at most what appendRow appends, and the comma behind it.
func (e Entry) size() int {
	n := 64 + 6*len(e.Key.id)
	for _, m := range e.list {
		n += len(m.name) + len(m.value) + 4
	}
	return n
}

// appendRow appends the contract's patch of an upsert: the row without annotations as its feature or, with asPatch, the members of the row
// as the patch's own. Values are copied byte for byte: a number is exactly what the server wrote.
func (e Entry) appendRow(dst []byte, asPatch bool) ([]byte, *Flaw) {
	dst = e.Key.AppendID(append(dst, `{"id":`...))
	if !asPatch {
		return append(e.AppendFeature(append(dst, `,"feature":`...)), '}'), nil
	}
	featured := false
	for _, m := range e.list {
		switch m.plain() {
		case "feature":
			if featured || m.value[0] != '{' {
				return dst, &Flaw{Word: FlawPatch, Name: "feature"}
			}
			featured = true
		case "version", "updatedAt", "sourceId":
		default:
			continue
		}
		dst = append(append(append(append(dst, ',', '"'), m.plain()...), `":`...), m.value...)
	}
	if !featured {
		return dst, &Flaw{Word: FlawPatch, Name: "feature"}
	}
	return append(dst, '}'), nil
}

// appendDelete appends the contract's delete patch; with asPatch it has what the entry says of it beside its key.
func (e Entry) appendDelete(dst []byte, asPatch bool) []byte {
	dst = e.Key.AppendID(append(dst, `{"id":`...))
	for _, m := range e.list {
		if !asPatch {
			break
		}
		switch name := m.plain(); name {
		case "version", "updatedAt", "sourceId", "deletedAt":
			dst = append(append(append(append(dst, ',', '"'), name...), `":`...), m.value...)
		}
	}
	return append(dst, '}')
}

// AppendFeature appends the entry's own properties as one object.
func (e Entry) AppendFeature(dst []byte) []byte {
	dst = append(dst, '{')
	for _, m := range e.list {
		if !annotation(m) {
			dst = append(append(append(append(dst, '"'), m.name...), `":`...), m.value...)
			dst = append(dst, ',')
		}
	}
	if dst[len(dst)-1] == ',' {
		dst = dst[:len(dst)-1]
	}
	return append(dst, '}')
}
