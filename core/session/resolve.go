package session

// Resolve is p with its defaults filled in. It returns the error that New would for a policy outside its limits.
func (p Policy) Resolve() (Policy, error) { return p.resolve() }
