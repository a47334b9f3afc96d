package world

import (
	"testing"
	"time"
	"fmt"
)

func TestSmoke(t *testing.T) {
	w, err := New(DefaultSetup(), Draw(1), nil)
	if err != nil { t.Fatal(err) }
	if err := w.Do(Action{Verb: Follow}); err != nil { t.Fatal(err) }
	if err := w.Advance(time.Second); err != nil { t.Fatal(err) }
	if err := w.Do(Action{Verb: Publish, N: 3}); err != nil { t.Fatal(err) }
	if err := w.Advance(2*time.Second); err != nil { t.Fatal(err) }
	for _, r := range w.Records() { fmt.Printf("%+v\n", r) }
}
