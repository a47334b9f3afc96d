//go:build !race

package odata

const raceOn = false
