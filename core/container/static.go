package container

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
)

// MaxBinary is the largest binary that an image is made of, in bytes.
const MaxBinary = 256 << 20

// ErrDynamic is wrapped by the error of a binary that needs a loader or libraries, of which an image made from nothing has none.
var ErrDynamic = errors.New("the binary is not static")

// checkStatic refuses what could not run alone in an image.
func checkStatic(path string) error {
	f, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("%s is no program for Linux: %w", path, err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return fmt.Errorf("%w: %s needs a loader; build it with CGO_ENABLED=0, or link it with -extldflags -static", ErrDynamic, path)
		}
	}
	machines := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}
	if want, known := machines[runtime.GOARCH]; known && f.Machine != want {
		return fmt.Errorf("%s is built for %v, and this machine is %s", path, f.Machine, runtime.GOARCH)
	}
	return nil
}

// contextOf is the build context of an image that holds one binary and nothing else, in memory.
func contextOf(path string) (io.ReadSeeker, error) {
	if err := checkStatic(path); err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > MaxBinary {
		return nil, fmt.Errorf("%s: %d bytes are more than %d", path, info.Size(), MaxBinary)
	}
	binary, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	const file = "FROM scratch\nADD server /server\nENTRYPOINT [\"/server\"]\n"
	for _, f := range []struct {
		name string
		data []byte
	}{{"Dockerfile", []byte(file)}, {"server", binary}} {
		if err := w.WriteHeader(&tar.Header{Name: f.name, Mode: 0o755, Size: int64(len(f.data))}); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return bytes.NewReader(b.Bytes()), nil
}
