package proxy

import "time"

// Refuse resets a connection as soon as it was made: the server never hears of it.
const Refuse Kind = "refuse"

var refuse = kind{nothing, func(*pipe, *Fault, time.Duration) {}}

// refuses says whether a connection with these faults is refused.
func refuses(list []Fault) bool {
	for _, f := range list {
		if f.Kind == Refuse {
			return true
		}
	}
	return false
}
