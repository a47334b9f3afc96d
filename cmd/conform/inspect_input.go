package main

import (
	"context"
	"io"
)

// interruptible reads from in until ctx ends: then Read fails with ctx's error, even while it waits for bytes. What in
// gives after that is lost, so ctx should end only when the process is about to.
func interruptible(ctx context.Context, in io.Reader) io.Reader { return &input{ctx: ctx, in: in} }

type input struct {
	ctx context.Context
	in  io.Reader
	buf []byte // what the waiting goroutine fills; never the caller's, who may be gone
}

type inputResult struct {
	n   int
	err error
}

func (r *input) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	if len(r.buf) < len(p) {
		r.buf = make([]byte, len(p))
	}
	done := make(chan inputResult, 1)
	go func() {
		n, err := r.in.Read(r.buf[:len(p)])
		done <- inputResult{n, err}
	}()
	select {
	case res := <-done:
		return copy(p, r.buf[:res.n]), res.err
	case <-r.ctx.Done():
		return 0, r.ctx.Err()
	}
}
