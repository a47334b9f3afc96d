package host

import "time"

// Deadlines. go-plugin's own Ping and Kill have none and hang on a plugin that is stopped, so every step here has one.
const (
	// StartTimeout bounds the time from exec to a described plugin. A Go plugin with mutual TLS needs 30 ms, a Python one 200; a
	// loaded CI machine may need twenty times that.
	StartTimeout = 10 * time.Second
	// DescribeTimeout bounds one Describe: it must not connect anywhere.
	DescribeTimeout = 5 * time.Second
	// PingTimeout bounds one health check. A plugin that does not answer it is killed before a connection is given to it.
	PingTimeout = 2 * time.Second
	// Grace is what a plugin has to end by itself when it is told to, before its process group is killed.
	Grace = 2 * time.Second
	// crashWait is how long a broken connection may precede the exit that explains it: a dying Go process needs some milliseconds, one
	// that writes a large stack trace some more. After that it is killed.
	crashWait = time.Second
	// pipeWait is how long output may still come after the exit: somebody outside the process group may hold the pipe.
	pipeWait = 200 * time.Millisecond
)

// A plugin that keeps crashing is not started for ever.
const (
	MaxRestarts   = 3
	RestartWindow = time.Minute
)

// What is kept of a plugin's output.
const (
	// MaxLines and MaxLine bound the last lines: enough for the top of a Go stack trace.
	MaxLines = 64
	MaxLine  = 1024
	// maxSecret is how much of a secret is searched for; tokens are shorter. It also bounds the buffer of an unfinished line.
	maxSecret = 8 << 10
	// maxSecrets is how many different secrets are remembered, the latest ones: credentials rotate.
	maxSecrets = 64
	// maxHandshake bounds the handshake line; one with a P-521 certificate has about 900 bytes, an RSA one 2,000.
	maxHandshake = 8 << 10
)

// socketPathLimit is the longest path of a unix socket: 107 bytes on Linux, 103 on macOS.
const socketPathLimit = 103

// deadlines are the timeouts above as values, so that tests of a hanging plugin need not wait for them in full.
type deadlines struct {
	start, describe, ping, grace time.Duration
}

var standard = deadlines{start: StartTimeout, describe: DescribeTimeout, ping: PingTimeout, grace: Grace}
