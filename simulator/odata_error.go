package simulator

import "github.com/conform-dev/conform/core/event"

// odataError turns a into an answer with a status and an OData error document.
func (a *answer) odataError(status int, code, message string) {
	a.status = status
	a.header["Content-Type"] = []string{a.odata.dialect.mediaType()}
	b := appendString([]byte(`{"error":{"code":`), code)
	b = appendString(append(b, `,"message":`...), message)
	a.body = append(b, '}', '}')
	if status == 204 || status == 304 {
		a.body = nil
		delete(a.header, "Content-Type")
	}
}

// dead answers that a token cannot be gone on from. code is one of the contract's reasons, or a fault's own word.
func (a *answer) dead(status int, code string) {
	message := "the token is older than the history, or names a cycle that is over; begin again without it"
	if code != event.CursorExpired.String() {
		message = "the token cannot be gone on from; begin again without it"
	}
	a.odataError(status, code, message)
	a.how = "expired"
	delete(a.header, "Location")
	if status == 410 && a.sim.opt.ODataLocation == "fresh" {
		a.header["Location"] = []string{a.stream.home.path + "?$deltatoken=" + freshToken}
	}
}

// asked says whether a names a place to go on from, of a delta link or a next link, that a fault can call dead.
func (a *answer) asked() bool {
	return a.odata != nil && (a.req.resume() || a.odata.skip != "") && (a.status == 200 && a.body == nil || a.how == "expired")
}

// Why faults of the other wires make no sense on this one. A fault that is aimed at this wire all the same is refused with the
// reason.
var notOnOData = map[string]string{
	"conflict":       "a page carries no nested checkpoint; pages-disagree is its like",
	"no-position":    "the position of a page is its delta link; no-links is its like",
	"merge-snapshot": "a snapshot of this wire always replaces",
	"gap-notice":     "there are no control frames; a server that lost something answers 410 (cursor-expired)",
	"insert":         "there are no blocks; status, media-type and undecodable replace an answer",
	"resumed-false":  "there is no connected frame; 410 (cursor-expired, resume-unsupported) refuses a token",
	"dialect":        "it is about lines; any-order, link-form and removed-form write a page in another legal way",
}

// whyNot is why a fault that has a wire trigger does not go with OData; empty if it does.
func (s *Spec) whyNot(wire string) string {
	if wire != OData || has(s.wires(), OData) {
		return ""
	}
	if why := notOnOData[s.Name]; why != "" {
		return why
	}
	return "it is about frames of WebSocket"
}
