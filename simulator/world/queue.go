package world

import "time"

// job is one thing that is going to happen. Jobs run in the order of (at, n): n is the insertion number, so two jobs of one
// instant run in the order in which they were planned, whatever the shape of the heap.
type job struct {
	at  time.Duration
	n   uint64
	run func()
}

func (j job) before(k job) bool { return j.at < k.at || j.at == k.at && j.n < k.n }

// queue is a binary heap of jobs.
type queue struct {
	jobs []job
	next uint64
}

func (q *queue) len() int { return len(q.jobs) }

// head is the time of the earliest job.
func (q *queue) head() (at time.Duration, ok bool) {
	if len(q.jobs) == 0 {
		return 0, false
	}
	return q.jobs[0].at, true
}

func (q *queue) push(at time.Duration, run func()) {
	q.next++
	q.jobs = append(q.jobs, job{at, q.next, run})
	for i := len(q.jobs) - 1; i > 0; {
		up := (i - 1) / 2
		if !q.jobs[i].before(q.jobs[up]) {
			return
		}
		q.jobs[i], q.jobs[up] = q.jobs[up], q.jobs[i]
		i = up
	}
}

func (q *queue) pop() job {
	top := q.jobs[0]
	last := len(q.jobs) - 1
	q.jobs[0] = q.jobs[last]
	q.jobs[last] = job{}
	q.jobs = q.jobs[:last]
	for i := 0; ; {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < last; c++ {
			if q.jobs[c].before(q.jobs[least]) {
				least = c
			}
		}
		if least == i {
			return top
		}
		q.jobs[i], q.jobs[least] = q.jobs[least], q.jobs[i]
		i = least
	}
}
