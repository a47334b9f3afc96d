package simulator

// odataDialect is the dialect of an answer to a client that names no version.
func (o *Options) odataDialect() odataDialect {
	return odataDialect{short: o.ODataVersion == "4.01", removed: o.ODataRemoved}
}
