// Package subject reads the file that says what a server under test is: where it listens or how it is started, which wire it speaks,
// what it claims, the credentials that the examiner may use (by reference, never inline), and the hooks that make it do things.
package subject
