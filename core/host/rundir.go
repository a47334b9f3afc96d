package host

import (
	"fmt"
	"os"
)

// socketTail is what go-plugin and the plugin append to the run directory: a directory and a socket, each with a random number of up
// to ten digits.
const socketTail = len("/plugin-dir0123456789/plugin0123456789")

// runDirName is the pattern of run directories; the random part has up to ten digits.
const runDirName = "conform-"

// makeRunDir makes a private directory for the sockets and temporary files of one plugin. The path of a unix socket must be short, so
// a deep temporary directory is passed over for /tmp.
func makeRunDir(bases ...string) (string, error) {
	for _, base := range bases {
		if len(base)+len("/"+runDirName+"0123456789")+socketTail > socketPathLimit {
			continue
		}
		dir, err := os.MkdirTemp(base, runDirName)
		if err == nil {
			return dir, nil
		}
	}
	most := socketPathLimit - socketTail - len("/"+runDirName+"0123456789")
	return "", fmt.Errorf("no directory for its socket: none of %q can be written and has at most %d bytes (a unix socket's path is limited; set TMPDIR)", bases, most)
}
