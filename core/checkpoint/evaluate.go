package checkpoint

import "github.com/conform-dev/conform/core/event"

// Evaluate says whether have may be resumed from under want: Compatible, or the first reason against it in the contract's
// order (facts 3.1): shape, source, query, source version, schema version, authorization scope. Both contexts are trimmed
// before they are compared (D-20), texts are compared exactly, and age plays no part. want itself is not judged: a context
// is validated where it is made.
func Evaluate(want Context, have *Checkpoint) event.Reason {
	if have == nil || have.Check() != nil {
		return event.InvalidCheckpoint
	}
	return compare(want.Trim(), have.Context.Trim())
}

func compare(want, have Context) event.Reason {
	w, h := want.members(), have.members()
	for i := range w {
		if *w[i].value != *h[i].value {
			return w[i].changed
		}
	}
	return event.Compatible
}

// EvaluateJSON decodes an untrusted checkpoint and evaluates it. With Compatible the checkpoint is the decoded one and
// its context is want, trimmed; with InvalidCheckpoint err says what is wrong with the document.
func EvaluateJSON(want Context, doc []byte) (c Checkpoint, r event.Reason, err error) {
	if c, err = Decode(doc); err != nil {
		return Checkpoint{}, event.InvalidCheckpoint, err
	}
	if r = Evaluate(want, &c); r != event.Compatible {
		return Checkpoint{}, r, nil
	}
	c.Context = want.Trim()
	return c, r, nil
}
