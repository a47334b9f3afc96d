package checkpoint

import "github.com/conform-dev/conform/core/event"

// PlanFingerprint is the identity that an accepted query plan carries itself: its member `fingerprint`, `sha256:` and 64
// hexadecimal digits (facts 3.2). The caller's planner made it and vouches for it; SealPlan is how one is made. It fails
// with invalid-checkpoint when the plan is no JSON object or has no such member.
func PlanFingerprint(plan []byte) (string, error) {
	o, err := split(plan, "plan", "fingerprint")
	if err != nil {
		return "", err
	}
	text, err := o.text("fingerprint")
	if err != nil || !isDigest(text) {
		return "", o.wrong("fingerprint", "is not sha256: and 64 hexadecimal digits")
	}
	return text, nil
}

// SealPlan computes a plan's fingerprint: the digest of its canonical JSON without the members `id` and `fingerprint`.
// Everything else is inside, capability and fallback policy included, so that a changed policy is another plan and the
// checkpoints of the old one are query-changed. It fails where Canonical does and for what is no object.
func SealPlan(plan []byte) (string, error) {
	v, err := parse(plan)
	if err != nil {
		return "", fail(event.InvalidCheckpoint, "plan: "+err.Error())
	}
	all, ok := v.(members)
	if !ok {
		return "", fail(event.InvalidCheckpoint, "plan is no object")
	}
	var sealed members
	for _, m := range all {
		if m.name != "id" && m.name != "fingerprint" {
			sealed = append(sealed, m)
		}
	}
	text, err := appendValue(nil, sealed)
	if err != nil {
		return "", fail(event.InvalidCheckpoint, "plan: "+err.Error())
	}
	return digest(string(text)), nil
}

// CheckPlan fails with query-changed unless ctx is bound to the plan, and as PlanFingerprint does.
func CheckPlan(ctx Context, plan []byte) error {
	text, err := PlanFingerprint(plan)
	if err != nil {
		return err
	}
	if trim(ctx.QueryFingerprint) != text {
		return fail(event.QueryChanged, "context.queryFingerprint is not the plan's fingerprint")
	}
	return nil
}
