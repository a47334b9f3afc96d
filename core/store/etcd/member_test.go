//go:build unix

package etcd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

// memberEnv makes the test binary play a member of an etcd cluster: "number of members, own number, folder, options".
const memberEnv = "CONFORM_ETCD_MEMBER"

// readyTime is how long a cluster may take to elect a leader; only a machine that is broken needs it.
const readyTime = time.Minute

func TestMain(m *testing.M) {
	if role := os.Getenv(memberEnv); role != "" {
		if err := beMember(role); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	rc := m.Run()
	if err := endShared(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		rc = 1
	}
	os.Exit(rc)
}

// beMember serves until stdin ends: a test binary that is killed leaves no process and no folder behind.
func beMember(role string) error {
	var size, self int
	var dir, options string
	if _, err := fmt.Sscanf(role, "%d %d %s %s", &size, &self, &dir, &options); err != nil {
		return err
	}
	cfg := embed.NewConfig()
	cfg.Name = fmt.Sprint("m", self)
	cfg.Dir = filepath.Join(dir, cfg.Name)
	cfg.TickMs, cfg.ElectionMs = 50, 500
	cfg.UnsafeNoFsync = strings.Contains(options, "nosync") // a process that is killed leaves what it wrote to the kernel
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	var all []string
	for i := range size {
		all = append(all, fmt.Sprintf("m%d=unix://%s", i, peerSocket(i)))
	}
	cfg.InitialCluster = strings.Join(all, ",")
	peer, client := url.URL{Scheme: "unix", Host: peerSocket(self)}, url.URL{Scheme: "unix", Path: clientSocket(dir, self)}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	if strings.Contains(options, "tls") {
		cfg.ListenClientUrls = []url.URL{{Scheme: "https", Host: "127.0.0.1:0"}}
		cfg.AdvertiseClientUrls = cfg.ListenClientUrls
		cfg.ClientTLSInfo.CertFile, cfg.ClientTLSInfo.KeyFile = filepath.Join(dir, "cert"), filepath.Join(dir, "key")
		cfg.ClientTLSInfo.TrustedCAFile, cfg.ClientTLSInfo.ClientCertAuth = filepath.Join(dir, "ca"), true
		cfg.BcryptCost = 4 // the least: the test logs in more often than it needs strength
	}
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		return err
	}
	if strings.Contains(options, "tls") {
		told := filepath.Join(dir, "address")
		if err := os.WriteFile(told+".new", []byte(e.Clients[0].Addr().String()), 0o600); err != nil {
			return err
		}
		if err := os.Rename(told+".new", told); err != nil {
			return err
		}
	}
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(ended)
	}()
	select {
	case err = <-e.Err():
	case <-ended:
		_, err = os.Stat(dir)
		if err == nil { // whoever started this is gone
			err = os.RemoveAll(dir)
		} else if errors.Is(err, os.ErrNotExist) {
			err = nil
		}
	}
	return err
}

// clientSocket is where clients find a member. No port is taken, so none can be taken by somebody else.
func clientSocket(dir string, i int) string { return filepath.Join(dir, fmt.Sprint("c", i)) }

// peerSocket is where members find each other. Between members etcd takes an address without a path and with a port, and
// makes a file of that name in the folder it runs in.
func peerSocket(i int) string { return fmt.Sprint("p", i, ":1") }

// members are the processes of one cluster.
type members struct {
	dir     string
	size    int
	options string
	run     []*exec.Cmd // nil for one that does not
	stdin   []io.WriteCloser
}

// startMembers starts a cluster of size members. The folder's name is short: a socket's path has 107 bytes at most.
func startMembers(size int, options string) (*members, error) {
	dir, err := os.MkdirTemp("", "cetcd")
	if err != nil {
		return nil, err
	}
	return startIn(dir, size, options)
}

// startIn does so in a folder that may hold certificates already.
func startIn(dir string, size int, options string) (*members, error) {
	m := &members{dir: dir, size: size, options: options, run: make([]*exec.Cmd, size), stdin: make([]io.WriteCloser, size)}
	for i := range size {
		if err := m.start(i); err != nil {
			return nil, errors.Join(err, m.end())
		}
	}
	return m, nil
}

// start starts one member, also one that ran before: it goes on with its data.
func (m *members) start(i int) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self)
	cmd.Dir = m.dir
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %d %s %s,", memberEnv, m.size, i, m.dir, m.options))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	m.run[i], m.stdin[i] = cmd, in
	return nil
}

// kill ends a member with SIGKILL and waits until it is gone.
func (m *members) kill(i int) {
	_ = m.run[i].Process.Kill()
	_ = m.run[i].Wait()
	_ = m.stdin[i].Close()
	m.run[i] = nil
}

// end kills all that run and removes their data.
func (m *members) end() error {
	for i, cmd := range m.run {
		if cmd != nil {
			m.kill(i)
		}
	}
	err := os.RemoveAll(m.dir)
	if _, gone := os.Stat(m.dir); err == nil && !errors.Is(gone, os.ErrNotExist) {
		err = fmt.Errorf("left behind: %s", m.dir)
	}
	return err
}

func (m *members) endpoints() (out []string) {
	for i := range m.size {
		out = append(out, "unix://"+clientSocket(m.dir, i))
	}
	return out
}

// client is a client of the test's own, once the cluster answers.
func (m *members) client(t testing.TB) *clientv3.Client {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: m.endpoints(), DialTimeout: readyTime, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	wait(t, "an answer of the cluster", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.Get(ctx, "ready")
		return err == nil
	})
	return c
}

// wait asks until something is so; it fails when that takes longer than anything may.
func wait(t testing.TB, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(readyTime); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no %s within %v", what, readyTime)
		}
	}
}
