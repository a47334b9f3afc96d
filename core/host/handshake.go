package host

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/conform-dev/conform/core/plugin/wire"
)

// coreProtocol is the version of go-plugin's own handshake.
const coreProtocol = "1"

// checkHandshake judges a plugin's first line, `1|VERSION|unix|PATH|grpc|CERTIFICATE`, before go-plugin acts on it: the line says
// where the host connects to, and that is not left to the plugin.
func checkHandshake(line, dir string) error {
	line = strings.TrimSpace(line)
	parts := strings.Split(line, "|")
	if len(parts) < 6 || strings.Trim(parts[0], "0123456789") != "" {
		return fmt.Errorf("its first line on standard output is no handshake, but %s; nothing else may be printed there", excerpt(line))
	}
	if parts[0] != coreProtocol {
		return fmt.Errorf("it speaks version %s of go-plugin's handshake, this conform speaks %s", excerpt(parts[0]), coreProtocol)
	}
	if parts[1] != strconv.Itoa(wire.ProtocolVersion) {
		return fmt.Errorf("it speaks protocol version %s, this conform speaks %d", excerpt(parts[1]), wire.ProtocolVersion)
	}
	if parts[2] != "unix" || !filepath.IsAbs(parts[3]) || !within(dir, parts[3]) {
		return fmt.Errorf("it listens at %s, not at a unix socket in the directory it was given", excerpt(parts[2]+" "+parts[3]))
	}
	if parts[4] != "grpc" {
		return fmt.Errorf("it offers %s instead of grpc", excerpt(parts[4]))
	}
	if parts[5] == "" {
		return fmt.Errorf("it presented no certificate: mutual TLS is required (PLUGIN_CLIENT_CERT)")
	}
	return nil
}

// within says whether path is below dir.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel) && rel != "."
}

// excerpt quotes the beginning of a text that a plugin printed.
func excerpt(text string) string {
	const most = 80
	if len(text) > most {
		return strconv.QuoteToASCII(text[:most]) + "..."
	}
	return strconv.QuoteToASCII(text)
}

// stdout is what go-plugin reads of a plugin's standard output: the handshake line, if it is one, and then nothing. What comes
// later goes to the last lines. go-plugin itself would stop reading at a line of 64 KiB, and the plugin would hang in its print.
type stdout struct {
	from io.Reader
	dir  string
	rest io.Writer

	line    []byte // what is read of the first line
	handed  int    // how much of it go-plugin has
	done    bool   // the first line is complete or refused
	refusal error
	told    chan struct{} // closed with done
}

func (s *stdout) Read(p []byte) (int, error) {
	for !s.done {
		if err := s.first(); err != nil {
			return 0, err
		}
	}
	if s.refusal == nil && s.handed < len(s.line) {
		n := copy(p, s.line[s.handed:])
		s.handed += n
		return n, nil
	}
	// Rather than give go-plugin more, keep the pipe empty until the process ends.
	_, err := io.Copy(s.rest, s.from)
	if err == nil {
		err = io.EOF
	}
	return 0, err
}

// first reads on until the first line is complete.
func (s *stdout) first() error {
	var buf [maxHandshake]byte
	n, err := s.from.Read(buf[:])
	end := bytes.IndexByte(buf[:n], '\n')
	switch {
	case end >= 0:
		s.line = append(s.line, buf[:end+1]...)
		s.rest.Write(buf[end+1 : n])
	default:
		s.line = append(s.line, buf[:n]...)
		if err == nil && len(s.line) <= maxHandshake {
			return nil
		}
		if err != nil && len(s.line) == 0 {
			s.done = true
			close(s.told)
			return err
		}
	}
	s.refusal = checkHandshake(string(s.line), s.dir)
	if len(s.line) > maxHandshake {
		s.refusal = fmt.Errorf("its first line on standard output is longer than %d bytes", maxHandshake)
	}
	s.done = true
	close(s.told)
	if s.refusal != nil {
		// Kept as a last line too; redacted there.
		s.rest.Write(append(bytes.TrimSpace(s.line), '\n'))
		return io.EOF
	}
	return nil
}
