// Command conform-odata is the bundled OData delta transport as a plugin process of its own, for those who want it apart from the
// conform binary. conform starts it; started by hand it says what it is.
package main

import (
	"github.com/conform-dev/conform/core/plugin"
	"github.com/conform-dev/conform/plugins/odata"
)

func main() { plugin.Serve(odata.New()) }
