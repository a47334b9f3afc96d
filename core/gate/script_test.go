package gate_test

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/conform-dev/conform/core/event"
	"github.com/conform-dev/conform/core/gate"
)

// script runs the lines of a table file on a gate and its twin and tells what came of each.
//
//	start nothing | start held 10 cursor=c10 ids=a,b persisted | start refused query-changed
//	limits pending=2 ids=2 saves every=3      (before start)
//	baseline 10 cursor=c10 id=s10             (snapshot, applied, saved)
//	snapshot 5 | merge 5 | delta 6 id=x token=t | upsert - | malformed checkpoint-conflict    (- is a sequence that is none)
//	document {"type":"delta","sequence":11,"upserts":[]}     (captured by event.Parse)
//	applied | consumer-fails | saved | save-fails
//	refresh 10 token=d2                       (no event: a newer form of the held position)
//	require cursor-expired | fail delivery-failed | close | cancel
//
// What is due is taken after every line, unless the line ends with " ..." (the driver was slow).
type script struct {
	*twin
	cfg   gate.Config
	names map[gate.Ticket]string
	state gate.State
	out   strings.Builder
	rows  map[string]bool
}

func (s *script) run(input string) string {
	s.names, s.rows = map[gate.Ticket]string{}, map[string]bool{}
	for line := range strings.Lines(input) {
		line = strings.TrimSpace(line)
		if err := s.line(line); err != nil {
			fmt.Fprintf(&s.out, "%s: %v\n", line, err)
			break
		}
	}
	return s.out.String()
}

func (s *script) line(line string) error {
	words := strings.Fields(strings.TrimSuffix(line, "..."))
	slow := strings.HasSuffix(line, "...")
	verb, args := words[0], words[1:]
	switch verb {
	case "limits":
		return s.limits(args)
	case "start":
		return s.start(args)
	case "baseline":
		if err := s.input("snapshot", args); err != nil {
			return err
		}
		if err := s.settle(true); err != nil {
			return err
		}
		s.tell(line, nil)
		return nil
	}
	if err := s.input(verb, args); err != nil {
		return err
	}
	if slow {
		s.tell(line, nil)
		return nil
	}
	if err := s.take(); err != nil {
		return err
	}
	s.tell(line, s.outputs())
	return nil
}

// limits reads the configuration.
func (s *script) limits(args []string) error {
	for _, a := range args {
		name, value, _ := strings.Cut(a, "=")
		n, _ := strconv.Atoi(value)
		switch name {
		case "pending":
			s.cfg.MaxPending = n
		case "ids":
			s.cfg.MaxIDs = n
		case "saves":
			s.cfg.Saves = true
		case "every":
			s.cfg.SaveEvery = n
		default:
			return fmt.Errorf("unknown limit %q", a)
		}
	}
	return nil
}

func (s *script) start(args []string) error {
	var start gate.Start
	switch args[0] {
	case "nothing":
	case "refused":
		start.Refused, _ = event.ParseReason(args[1])
	case "held":
		ev, rest, err := readEvent("snapshot", args[1:])
		if err != nil {
			return err
		}
		start.Held = &gate.Held{Pos: ev.Pos}
		for _, a := range rest {
			if ids, ok := strings.CutPrefix(a, "ids="); ok {
				start.IDs = strings.Split(ids, ",")
			} else if a == "persisted" {
				start.Persisted = true
			}
		}
	}
	var err error
	if s.twin, err = newTwin(s.cfg, start); err != nil {
		return err
	}
	s.tell("start "+strings.Join(args, " "), nil)
	return nil
}

func (s *script) input(verb string, args []string) error {
	switch verb {
	case "applied", "consumer-fails", "saved", "save-fails":
		want := map[bool]string{true: "apply", false: "save"}[verb == "applied" || verb == "consumer-fails"]
		if s.owed != want {
			return fmt.Errorf("owed is %q", s.owed)
		}
		return s.result(verb == "applied" || verb == "saved")
	case "refresh":
		ev, _, err := readEvent("delta", args)
		if err != nil {
			return err
		}
		return s.refresh(ev.Pos)
	case "require":
		r, _ := event.ParseReason(args[0])
		return s.require(r, strings.Join(args[1:], " "))
	case "fail":
		r, _ := event.ParseReason(args[0])
		return s.fail(r)
	case "close":
		return s.close(event.Closed)
	case "cancel":
		return s.close(event.Cancelled)
	}
	var ev event.Event
	name := verb
	if verb == "document" {
		event.Parse([]byte(strings.Join(args, " ")), &ev)
	} else {
		var err error
		if ev, _, err = readEvent(verb, args); err != nil {
			return err
		}
		name += " " + args[0]
	}
	t, err := s.enqueue(ev)
	s.names[t] = name
	return err
}

// readEvent reads an event line; what it does not know is the rest.
func readEvent(verb string, args []string) (ev event.Event, rest []string, err error) {
	ev.Pos = event.NoPosition
	switch verb {
	case "merge":
		ev.Kind, ev.Merge = event.Snapshot, true
	case "malformed":
		ev.Fault, _ = event.ParseReason(args[0])
		return ev, nil, nil
	default:
		if ev.Kind = event.ParseKind(verb); ev.Kind == event.Malformed {
			return ev, nil, fmt.Errorf("unknown line %q", verb)
		}
	}
	if args[0] != "-" {
		n, err := strconv.ParseInt(args[0], 10, 64)
		if err != nil {
			return ev, nil, err
		}
		ev.Pos.Seq = event.Seq(n)
	}
	for _, a := range args[1:] {
		name, value, _ := strings.Cut(a, "=")
		to := map[string]*string{"cursor": &ev.Pos.Cursor, "token": &ev.Pos.DeltaToken, "watermark": &ev.Pos.Watermark, "timestamp": &ev.Pos.Timestamp, "id": &ev.ID}[name]
		if to == nil {
			rest = append(rest, a)
			continue
		}
		*to = value
	}
	return ev, rest, nil
}

// outputs is what the last Take handed out, in its order.
func (s *script) outputs() []string {
	var out []string
	if s.due.Abort {
		out = append(out, "abort")
	}
	for _, d := range s.due.Resolved {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s is %s %s", s.names[d.Ticket], d.Status, d.Reason)))
	}
	if ev := s.due.Apply; ev != nil {
		out = append(out, fmt.Sprintf("to the consumer: %s %d", ev.Kind, ev.Pos.Seq))
	}
	if h := s.due.Save; h != nil {
		out = append(out, "to the store: "+positionText(h.Pos))
	}
	return out
}

func positionText(p event.Position) string {
	text := strconv.FormatInt(int64(p.Seq), 10)
	for _, f := range []struct{ name, value string }{{"cursor", p.Cursor}, {"watermark", p.Watermark}, {"timestamp", p.Timestamp}, {"token", p.DeltaToken}} {
		if f.value != "" {
			text += " " + f.name + "=" + f.value
		}
	}
	return text
}

// tell writes one input, what came of it, and the state when it changed.
func (s *script) tell(line string, outputs []string) {
	for _, r := range s.twin.rows {
		s.rows[r] = true
	}
	s.twin.rows = nil
	fmt.Fprintln(&s.out, line)
	for _, o := range outputs {
		fmt.Fprintln(&s.out, "  "+o)
	}
	now := s.g.State()
	if now == s.state {
		return
	}
	s.state = now
	text := now.Phase.String()
	if now.Reason != event.None {
		text += " (" + now.Reason.String() + ")"
	}
	if h, ok := s.g.Held(); ok {
		text += ", held " + positionText(h.Pos)
	}
	if now.Persisted {
		text += ", persisted"
	}
	for _, c := range []struct {
		name string
		n    uint64
	}{{"pending", uint64(now.Pending)}, {"accepted", now.Accepted}, {"duplicates", now.Duplicates}, {"gaps", now.Gaps}, {"overflows", now.Overflows}} {
		if c.n > 0 {
			text += fmt.Sprintf(", %s %d", c.name, c.n)
		}
	}
	fmt.Fprintln(&s.out, "  = "+text)
}
