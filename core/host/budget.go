package host

import "time"

// budget says whether a crashed plugin may be started once more: at most MaxRestarts times within RestartWindow.
type budget struct {
	taken []time.Time // restarts granted within the window, oldest first
}

// take grants a restart at now, or refuses it.
func (b *budget) take(now time.Time) bool {
	for len(b.taken) > 0 && now.Sub(b.taken[0]) >= RestartWindow {
		b.taken = b.taken[1:]
	}
	if len(b.taken) >= MaxRestarts {
		return false
	}
	b.taken = append(b.taken, now)
	return true
}
