package websocket

import (
	"compress/flate"
	"io"
)

// inflater inflates the messages of one connection (RFC 7692 7.2.2). What it makes of one is bounded before it is made.
type inflater struct {
	takeover bool
	window   []byte // the last windowBytes of what came out of earlier messages, if takeover
	joined   []byte // scratch: window and out together
	source   deflated
	reader   io.ReadCloser
	out      []byte
}

const windowBytes = 32 << 10

// deflateEnd is what a sender leaves off each message (RFC 7692 7.2.1), and an empty final block, for the reader to know its end.
const deflateEnd = "\x00\x00\xff\xff\x01\x00\x00\xff\xff"

// deflated is a message with its end put back. It has ReadByte, so that the reader takes no byte more than it needs.
type deflated struct {
	message []byte
	i       int
}

func (d *deflated) left() int { return len(d.message) + len(deflateEnd) - d.i }

func (d *deflated) ReadByte() (byte, error) {
	if d.left() == 0 {
		return 0, io.EOF
	}
	d.i++
	if d.i <= len(d.message) {
		return d.message[d.i-1], nil
	}
	return deflateEnd[d.i-1-len(d.message)], nil
}

func (d *deflated) Read(p []byte) (n int, err error) {
	if d.left() == 0 {
		return 0, io.EOF
	}
	if d.i < len(d.message) {
		n = copy(p, d.message[d.i:])
	} else {
		n = copy(p, deflateEnd[d.i-len(d.message):])
	}
	d.i += n
	return n, nil
}

// message inflates one; what it returns is valid until the next call. It is made of one DEFLATE stream or of several, each but the
// last ended by a final block (RFC 7692 7.2.3.4).
func (f *inflater) message(b []byte, limit int64) ([]byte, Violation) {
	f.source = deflated{message: b}
	f.out = shrink(f.out)
	for streams := 0; f.source.left() > 0; streams++ {
		if streams > MaxFinalBlocks {
			return nil, BadDeflate
		}
		f.reset()
		if bad := f.stream(limit); bad != "" {
			return nil, bad
		}
	}
	f.source.message = nil
	f.slide()
	return f.out, ""
}

// reset makes the reader ready for the next stream, with what went before it as its window.
func (f *inflater) reset() {
	window := f.window
	if len(f.out) > 0 { // not the message's first stream
		f.joined = lastBytes(append(f.joined[:0], f.window...), f.out)
		window = f.joined
	}
	if f.reader == nil {
		f.reader = flate.NewReaderDict(&f.source, window)
		return
	}
	f.reader.(flate.Resetter).Reset(&f.source, window) // only fails for a reader that is none
}

// stream appends one DEFLATE stream to out.
func (f *inflater) stream(limit int64) Violation {
	for {
		if len(f.out) == cap(f.out) {
			f.grow(limit)
		}
		n, err := f.reader.Read(f.out[len(f.out):cap(f.out)])
		f.out = f.out[:len(f.out)+n]
		switch {
		case int64(len(f.out)) > limit:
			return MessageTooLarge
		case err == io.EOF:
			return ""
		case err != nil:
			return BadDeflate
		}
	}
}

// grow doubles out, to one byte above the limit at most.
func (f *inflater) grow(limit int64) {
	size := min(int64(max(4<<10, 2*cap(f.out))), limit+1)
	larger := make([]byte, len(f.out), max(size, int64(len(f.out)+1)))
	copy(larger, f.out)
	f.out = larger
}

// release lets a large buffer go. What was handed out of it is not valid any more.
func (f *inflater) release() {
	if f != nil {
		f.out = shrink(f.out)
	}
}

// slide keeps what the next message may refer to.
func (f *inflater) slide() {
	if f.takeover {
		f.window = lastBytes(f.window, f.out)
	}
}

// lastBytes is the last windowBytes of a and b together. It may reuse a.
func lastBytes(a, b []byte) []byte {
	if len(b) >= windowBytes {
		return append(a[:0], b[len(b)-windowBytes:]...)
	}
	if over := len(a) + len(b) - windowBytes; over > 0 {
		a = a[:copy(a, a[over:])]
	}
	return append(a, b...)
}
