package simulator

var expiredAsFault = Spec{
	Name:  "expired-as",
	Doc:   "says that a token is dead by another status than 410, with a code that a client has to be told about",
	At:    []string{"connection", "request"},
	Wires: onOData,
	Params: []Param{
		{Name: "status", Kind: "integer", Doc: "the status", Default: "400", Min: 400, Max: 499},
		{Name: "code", Kind: "text", Doc: "the code in the error document", Default: "stamp-expired"},
	},
	build: func(a args) any { return &expiredAs{int(a.int("status")), a.text("code")} },
}

type expiredAs struct {
	status int
	code   string
}

func (e *expiredAs) answer(a *answer) bool {
	if !a.asked() {
		return false
	}
	a.dead(e.status, e.code)
	return true
}
