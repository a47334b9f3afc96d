package fleet

// window is a fixed window per key: it begins with the key's first attempt, every attempt in it counts, refused ones too, and none
// of them moves its end (fleet facts 1.5). Not sliding, not aligned to the clock.
type window struct {
	most   int
	length int64 // milliseconds
	open   map[string]*span
}

type span struct {
	began int64
	count int
}

func newWindow(most int, length int64) *window {
	return &window{most: most, length: length, open: map[string]*span{}}
}

// attempt counts one; false if it is above what the window takes. left is how long the window still lasts.
func (w *window) attempt(key string, now int64) (ok bool, left int64) {
	sp := w.open[key]
	if sp == nil || now-sp.began >= w.length {
		sp = &span{began: now}
		w.open[key] = sp
	}
	sp.count++
	return sp.count <= w.most, sp.began + w.length - now
}
