package probe

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/conform-dev/conform/core/trace"
)

// Limits of one scenario.
const (
	// Patience bounds one wait for something that the server owes at once.
	Patience = 5 * time.Second
	// MaxBody is how much of an answer that is no stream is read, in bytes.
	MaxBody = 64 << 10
	// MaxRequests bounds the requests of one scenario: the largest honest one fills 64 places and a window besides.
	MaxRequests = 2000
	// receiveBuffer is the kernel's buffer of the examiner's sockets, in bytes: a stream that is not read fills it soon.
	receiveBuffer = 16 << 10
)

// Probe plays one scenario. Its verbs are called one after the other; streams are read beside them.
type Probe struct {
	begin           func(context.Context) (*Target, error)
	target          *Target
	client          *http.Client
	dialer          net.Dialer
	began           time.Time
	serial          int   // of wakes
	loaded          []int // how many changes there were when each round of a polled service was asked for
	base, published int   // of the changes of a feed: the server's count when the scenario began, and how many came since
	// patience is Patience; a test of what never comes has less.
	patience time.Duration

	mu      sync.Mutex
	log     *trace.Log
	changed chan struct{} // closed and replaced with every record
	asked   int
	streams map[int]*stream
	sealed  bool
	mask    *strings.Replacer
}

// New makes an examiner of the server that begin answers.
func New(begin func(context.Context) (*Target, error)) *Probe {
	log, err := trace.NewLog(0)
	if err != nil {
		panic(err) // the default limit is valid
	}
	p := &Probe{patience: Patience, begin: begin, target: &Target{}, began: time.Now(), log: log, changed: make(chan struct{}), streams: map[int]*stream{}, mask: strings.NewReplacer()}
	p.dialer.Control = smallReceiveBuffer
	p.client = &http.Client{
		Transport: &http.Transport{DialContext: p.dialer.DialContext, DisableKeepAlives: true, DisableCompression: true,
			MaxResponseHeaderBytes: MaxBody},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return p
}

// Begin makes the server ready to be examined; it is called once, before the first step.
func (p *Probe) Begin(ctx context.Context) error {
	t, err := p.begin(ctx)
	if err != nil {
		return err
	}
	p.target = t
	if t.Client != nil { // its certificates, with the examiner's own way of dialling
		if from, ok := t.Client.Transport.(*http.Transport); ok {
			p.client.Transport.(*http.Transport).TLSClientConfig = from.TLSClientConfig
		}
	}
	p.base = t.serial
	p.learn()
	r := trace.New(trace.Stage, trace.StageSetup)
	r.Args = map[string]string{"examined": t.Wire}
	if t.Feed != nil {
		r.Args["expired"] = strings.Join(t.Feed.Expired, " ")
	}
	for name, secret := range t.Canaries {
		r.Args[name] = secret
	}
	p.add(r)
	return nil
}

// learn takes the secrets that must not be written down; a restart may have made new ones.
func (p *Probe) learn() {
	var pairs []string
	for _, s := range p.target.Secrets() {
		if s != "" {
			pairs = append(pairs, s, "SECRET")
		}
	}
	mask := strings.NewReplacer(pairs...)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mask = mask
}

// add writes one record and stamps its time. What a server says may hold a credential that it was sent: no record does.
func (p *Probe) add(r trace.Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sealed {
		return
	}
	if r.Actor == trace.Examiner {
		r.Detail, r.ID = p.mask.Replace(r.Detail), p.mask.Replace(r.ID)
		for name, value := range r.Args {
			r.Args[name] = p.mask.Replace(value)
		}
	}
	r.T = time.Since(p.began).Milliseconds()
	p.log.Append(r)
	close(p.changed)
	p.changed = make(chan struct{})
}

// count is how often request n heard what, and whether its stream is over.
func (p *Probe) look(n int, what string) (times int, over bool, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.log.Since(0) {
		if r.Actor != trace.Examiner || int(r.Epoch) != n {
			continue
		}
		switch {
		case r.Kind == trace.ExaminerHeard && r.Type == what:
			times++
		case r.Kind == trace.ExaminerEnded, r.Kind == trace.ExaminerAnswered && r.Status != "200" && r.Status != "101":
			over = true
		}
	}
	return times, over, p.changed
}

// wait returns nil when done holds or when patience has run out, which it records; an error only when ctx is over.
func (p *Probe) wait(ctx context.Context, what string, patience time.Duration, done func() (bool, <-chan struct{})) error {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		ok, changed := done()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-timer.C:
			if ok, _ := done(); !ok {
				r := trace.New(trace.Stage, trace.StageLate)
				r.Detail, r.Ms = what, patience.Milliseconds()
				p.add(r)
			}
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Step writes the text of a step.
func (p *Probe) Step(text string) {
	r := trace.New(trace.Stage, trace.StageStep)
	r.Detail = text
	p.add(r)
}

// Expect writes what a scenario expects at this place.
func (p *Probe) Expect(e trace.Expectation, args map[string]string) error {
	r, err := trace.Expect(e, args)
	if err != nil {
		return err
	}
	p.add(r)
	return nil
}

// Records is the trace so far.
func (p *Probe) Records() []trace.Record {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.Records()
}

// Close leaves every stream, waits until nothing reads any more, and closes the target.
func (p *Probe) Close() error {
	p.mu.Lock()
	p.sealed = true
	streams := p.streams
	p.streams = map[int]*stream{}
	p.mu.Unlock()
	for _, s := range streams {
		s.leave()
	}
	p.client.CloseIdleConnections()
	if p.target.Close == nil {
		return nil
	}
	return p.target.Close()
}
