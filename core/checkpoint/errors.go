package checkpoint

import "github.com/conform-dev/conform/core/event"

// fail is a refusal with its reason. message names members and limits, never a value.
func fail(r event.Reason, message string) error {
	return &event.ResumeError{Reason: r, Message: message}
}
