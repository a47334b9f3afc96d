package probe

// means say what a subject file has to name for a capability.
var means = map[string]string{
	"claims":         "not claimed",
	"viewer":         "credentials.viewer.bearer",
	"another-viewer": "credentials.another-viewer.bearer",
	"stranger":       "credentials.stranger.bearer: somebody who is admitted and has no stable subject",
	"holder":         "credentials.holder.bearer: a token that proves possession and no identity",
	"visitors":       "credentials.visitors: enough people to fill limits.streams",
	"limits":         "limits: attempts, attemptWindow, viewerStreams, streams, wakeRequests, wakeWindow, wakeBody",
	"heartbeat":      "limits.heartbeat",
	"plane":          "credentials.viewer.plane",
	"other-plane":    "credentials.another-viewer.plane",
	"signing":        "credentials.viewer: login, subscription and key",
	"other-signing":  "credentials.another-viewer: login, subscription and key",
	"poll":           "endpoints.poll, and credentials.viewer: plane and subscription",
	"tool":           "endpoints.tool, and credentials.viewer: plane and subscription",
	"publish":        "hooks.publish",
	"restart":        "hooks.restart",
	"shutdown":       "hooks.shutdown, and hooks.restart to come back from it",
	"lose":           "hooks.lose",
	"serial":         "mapping.serial: where the number of the publish hook stands in a payload",
	"replay":         "mapping.resume.header or mapping.resume.query",
	"expiry":         "mapping.resume.expired, and hooks.trim or limits.history",
	"arm":            "hooks.arm and hooks.disarm",
}

// Means is what has to stand in a subject file for a capability.
func Means(capability string) string {
	if capability == "claims" {
		return means[capability]
	}
	return "needs " + means[capability]
}
