package bolt

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/conform-dev/conform/core/event"
)

// op is one thing that a traced process did to its file, or said.
type op struct {
	kind  opKind
	at    int64 // write: offset; size: the size
	data  []byte
	scope int
	seq   event.Seq
}

type opKind uint8

const (
	opNothing opKind = iota
	opWrite
	opSize // truncated, or grown, to at
	opSync
	opLink // the file has its name
	opApplied
	opAcknowledged
)

func (o op) apply(to []byte) []byte {
	size, end := int64(len(to)), o.at+int64(len(o.data))
	if o.kind == opSize && end < size {
		return to[:end]
	}
	if end > size {
		to = append(to, make([]byte, end-size)...)
	}
	copy(to[o.at:], o.data)
	return to
}

type tape []op

func (t tape) of(kinds ...opKind) (out []op) {
	for _, o := range t {
		for _, k := range kinds {
			if o.kind == k {
				out = append(out, o)
			}
		}
	}
	return out
}

func (t tape) writes() []op { return t.of(opWrite, opSize) }

func (t tape) syncs() []op { return t.of(opSync) }

// record runs the writer under strace.
func record(t *testing.T, strace, path string) tape {
	t.Helper()
	log := filepath.Join(t.TempDir(), "strace.txt")
	writer := role("trace", path)
	cmd := exec.Command(strace, append([]string{"-f", "-qq", "-xx", "-s", "4194304", "-e", "signal=none", "-e",
		"trace=openat,close,pwrite64,write,ftruncate,fdatasync,fsync,link,linkat", "-o", log}, writer.Args...)...)
	cmd.Env = writer.Env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	f, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := reader{name: filepath.Base(path), fds: map[string]bool{}, half: map[string]string{}}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		if err := r.line(lines.Text()); err != nil {
			t.Fatal(err)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return r.tape
}

// reader makes a tape of strace's lines. A call that another thread's came in between has two of them.
type reader struct {
	name string
	fds  map[string]bool   // descriptors of the file, which has another name at first
	half map[string]string // by thread: a call that has not returned
	tape tape
}

var (
	callLine   = regexp.MustCompile(`^(\d+) +(\w+)\((.*)$`)
	resumeLine = regexp.MustCompile(`^(\d+) +<\.\.\. (\w+) resumed>(.*)$`)
	hexText    = regexp.MustCompile(`"((?:\\x[0-9a-f]{2})*)"`)
)

func (r *reader) line(text string) error {
	if m := resumeLine.FindStringSubmatch(text); m != nil {
		return r.call(m[2], r.half[m[1]]+m[3], false)
	}
	m := callLine.FindStringSubmatch(text)
	if m == nil {
		return nil // a thread began or ended
	}
	rest, cut := strings.CutSuffix(m[3], "<unfinished ...>")
	if !cut {
		return r.call(m[2], rest, false)
	}
	r.half[m[1]] = rest
	if m[2] == "pwrite64" || m[2] == "ftruncate" || m[2] == "write" { // from now on it may have happened
		return r.call(m[2], rest, true)
	}
	return nil
}

// call reads one call. begun says that it has not returned; its return is then seen a second time, and passed over.
func (r *reader) call(name, rest string, begun bool) error {
	args, result, _ := cutLast(rest, " = ")
	if !begun && strings.HasPrefix(result, "-1") {
		return nil
	}
	fd, _, _ := strings.Cut(args, ",")
	fd = strings.TrimRight(fd, ") ")
	var words []string
	for _, m := range hexText.FindAllStringSubmatch(args, -1) {
		raw, err := hex.DecodeString(strings.ReplaceAll(m[1], `\x`, ""))
		if err != nil {
			return err
		}
		words = append(words, string(raw))
	}
	add := func(o op) {
		if n := len(r.tape); n > 0 && !begun && r.tape[n-1].kind == o.kind && r.tape[n-1].at == o.at && string(r.tape[n-1].data) == string(o.data) && o.kind == opWrite {
			return // the return of a call that was taken down when it began
		}
		r.tape = append(r.tape, o)
	}
	number := func(i int) (int64, error) {
		parts := strings.Split(strings.TrimRight(args, ") "), ", ")
		if i = len(parts) - i; i < 0 {
			return 0, fmt.Errorf("not understood: %s(%.80s", name, args)
		}
		return strconv.ParseInt(strings.TrimSpace(parts[i]), 10, 64)
	}
	switch {
	case name == "openat" && len(words) == 1 && strings.HasPrefix(filepath.Base(words[0]), r.name):
		r.fds[strings.TrimSpace(result)] = true
	case name == "close":
		delete(r.fds, fd)
	case name == "linkat" || name == "link":
		add(op{kind: opLink})
	case name == "write" && fd == "1" && len(words) == 1:
		return r.said(words[0], add)
	case !r.fds[fd]:
	case name == "pwrite64" && len(words) == 1:
		at, err := number(1)
		if err != nil {
			return err
		}
		add(op{kind: opWrite, at: at, data: []byte(words[0])})
	case name == "ftruncate":
		at, err := number(1)
		if err != nil {
			return err
		}
		add(op{kind: opSize, at: at})
	case name == "fdatasync" || name == "fsync":
		add(op{kind: opSync})
	}
	return nil
}

// said takes down what the process said of a save.
func (r *reader) said(text string, add func(op)) error {
	var word string
	var o op
	if _, err := fmt.Sscanf(text, "%s %d %d\n", &word, &o.scope, &o.seq); err != nil {
		return fmt.Errorf("the process said %q: %w", text, err)
	}
	o.kind = map[string]opKind{"applied": opApplied, "acknowledged": opAcknowledged}[word]
	add(o)
	return nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
