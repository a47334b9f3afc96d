package container

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"

	cerrdefs "github.com/containerd/errdefs"
)

// Labels of everything that conform makes. Together they name one process of one boot of one machine: a number alone may be somebody else's
// by now.
const (
	labelRun   = "conform.run"   // process number of the owner
	labelStart = "conform.start" // when it was started, in the kernel's own count
	labelBoot  = "conform.boot"  // of the machine
)

// owner is a run of conform.
type owner struct{ pid, start, boot string }

// self is this run.
func self() owner {
	pid := strconv.Itoa(os.Getpid())
	return owner{pid, started(pid), boot()}
}

func (o owner) labels() map[string]string {
	return map[string]string{labelRun: o.pid, labelStart: o.start, labelBoot: o.boot}
}

func ownerOf(labels map[string]string) owner {
	return owner{labels[labelRun], labels[labelStart], labels[labelBoot]}
}

// alive says whether the owner still runs. Where nobody can tell, it does: what is removed must be nobody's.
func (o owner) alive() bool {
	here := boot()
	switch {
	case here == "" || o.boot == "":
		return true
	case o.boot != here:
		return false // another boot of this machine, or another machine that shares the engine and has ended
	}
	return started(o.pid) == o.start
}

// boot is the id of this boot of the machine; empty where there is none.
func boot() string {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// started is when a process was started; empty if there is none of that number.
func started(pid string) string {
	text, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(text), ") ") // the name before may hold anything
	if f := strings.Fields(rest); len(f) > 19 {
		return f[19]
	}
	return ""
}

// gone says whether an error means that there is nothing to remove any more.
func gone(err error) bool { return cerrdefs.IsNotFound(err) || errors.Is(err, fs.ErrNotExist) }
