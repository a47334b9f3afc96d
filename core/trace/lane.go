package trace

// Lane is how a scenario was run; every outcome names its own.
type Lane string

// The lanes. In the virtual lane T is virtual time and exact; in the other two it is wall time.
const (
	Virtual   Lane = "virtual"
	Process   Lane = "process"
	Container Lane = "container"
)

// Lanes is every lane, in the order of reports.
var Lanes = []Lane{Virtual, Process, Container}

// Exact says whether times of the lane are exact and repeat.
func (l Lane) Exact() bool { return l == Virtual }
