package subject

import "time"

// Subject is a server under test.
type Subject struct {
	Name      string            // in reports
	Wire      string            // one of Wires
	Server    Server            // exactly one of its members is set
	Ready     Ready             // how one sees that it is ready; zero: it is taken as it is
	Endpoints map[string]string // path or URL by the name that the wire gives it (Endpoints)
	Headers   map[string]Value  // sent with every request
	CA        string            // file of the certificates that are trusted; empty: the system's
	People    map[string]Person // credentials, by whom they belong to (People)
	Visitors  []Person          // enough people to fill the server
	Claims    []string          // groups of rows that the server is held to; empty: all that the file gives the means for
	Limits    Limits            // what the server declares
	Hooks     map[string]Hook   // by what they make the server do (Hooks)
	Mapping   *Mapping          // for a wire that does not carry the contract's own JSON

	File string // where it was read
	Dir  string // folder that relative paths start from
}

// Server says where the server is.
type Server struct {
	URL   string // its origin, when it runs already
	Exec  *Exec
	Image *Image
	Build *Build
}

// Exec starts it as a process of this machine.
type Exec struct {
	Command []string // no shell; {port} is a free port of conform's choice, {dir} a folder that is removed afterwards
	Env     map[string]string
}

// Image starts it as a container of an image that the Docker engine has.
type Image struct {
	Name    string
	Command []string
	Env     map[string]string
	Port    int // that it listens on inside
}

// Build starts it as a container of an image that holds one static binary and nothing else.
type Build struct {
	Binary  string // file
	Command []string
	Env     map[string]string
	Port    int
}

// Ready says how one sees that a started server is ready: by an answer, or by a line of its log.
type Ready struct {
	Path   string
	Status int    // 200
	Log    string // regular expression
	Within time.Duration
}

// Value is a text, or the place of one. Exactly one member is set; a secret is never Text.
type Value struct {
	Text string
	Env  string // name of a variable
	File string // path; line ends around its content do not count
}

// Person is somebody the examiner may speak for.
type Person struct {
	Login        string // @login: the identity of its wakes
	Subscription string // id of its wake subscription
	Bearer       *Value // class 1: for the wire itself
	Plane        *Value // class 3: for the plane's tool and the poll
	Key          *Value // signing key of its subscription
}

// Limits are what the server declares about itself; zero is not declared.
type Limits struct {
	Attempts      int
	AttemptWindow time.Duration
	ViewerStreams int
	Streams       int
	WakeRequests  int
	WakeWindow    time.Duration
	WakeBody      int // bytes
	Heartbeat     time.Duration
	History       int // changes that can be resumed from
}

// Hook makes the server do one thing. Exactly one of HTTP, Command and Container is set.
type Hook struct {
	HTTP      *HTTP
	Command   []string      // no shell; may hold placeholders
	Container string        // pause, unpause, kill, restart, disconnect, connect
	Within    time.Duration // DefaultWithin
}

// HTTP is a request. Its texts may hold the placeholders of Placeholders.
type HTTP struct {
	Method  string // POST
	URL     string // path at the server, or a URL
	Headers map[string]Value
	Body    string
	Status  []int // that mean it was done; any 2xx if none is named
}

// Mapping says what an event of the server means (D-42). Texts that point into a payload are JSON pointers.
type Mapping struct {
	Format   string // json; contract: the contract's own envelope
	Order    string // server-sequence, request-chain, none
	Type     string // event type: a pointer, or empty
	Sequence string // pointer; with order server-sequence
	ID       string // where the id of an event stands: id (the wire's own), or a pointer
	Serial   string // pointer to the number that the publish hook put into the payload
	Resume   Resume
}

// Resume says how a client asks for what it missed.
type Resume struct {
	Header  string   // request header that carries the last id
	Query   string   // or parameter
	Vouched string   // what says that nothing is missing: always, never, same-header:NAME, status:N
	Expired []string // what says that something is: status:N, other-header:NAME, event:NAME; a status of 400 and above always does
}
