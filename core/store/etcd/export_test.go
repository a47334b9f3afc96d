//go:build unix

package etcd

// Endpoints are those of the tests' cluster, for the example.
func Endpoints() ([]string, error) {
	shared.once.Do(func() { shared.members, shared.err = startMembers(3, "nosync") })
	if shared.err != nil {
		return nil, shared.err
	}
	return shared.endpoints(), nil
}
