// Package credential decides which secrets a fleet-wake relay presents, and refuses to start with one that stands in for another. A
// secret has two homes, a direct value and a file that holds it; the direct one wins, then the file, then there is none, and there is
// never a substitute from another class (D-55). A secret that is also that of another class is refused loudly (D-56).
//
// What is declared comes from flags, which name a file or a variable and never hold a value, from the environment and from a
// configuration file. Everything is read once: a rotated secret needs a restart. No error, reason or note of this package holds a byte
// of a secret.
package credential
