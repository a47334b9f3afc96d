package features

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

// TestOwnLimits: a folder is read up to its bounds, and one above them is refused by name and number.
func TestOwnLimits(t *testing.T) {
	const text = "Feature: mine\n  Scenario: mine\n    Given a feed of 3 records\n"
	folder := func(files, bytes int) fstest.MapFS {
		dir := fstest.MapFS{}
		for i := range files {
			dir[fmt.Sprintf("f%04d.feature", i)] = &fstest.MapFile{Data: []byte(text)}
		}
		dir["f0000.feature"].Data = append([]byte(text), strings.Repeat("#\n", bytes)[:bytes-len(text)]...)
		return dir
	}
	for _, c := range []struct {
		files, bytes int
		want         string
	}{
		{1000, 1 << 20, ""},
		{1001, 1 << 10, "more than 1000 feature files"},
		{1, 1<<20 + 1, "f0000.feature: 1048577 bytes, limit 1048576"},
	} {
		list, err := Own(folder(c.files, c.bytes))
		switch {
		case c.want != "":
			if err == nil || err.Error() != c.want {
				t.Errorf("%d files, %d bytes: %v, want %s", c.files, c.bytes, err, c.want)
			}
		case err != nil || len(list) != c.files:
			t.Errorf("%d files, %d bytes: %d scenarios, %v", c.files, c.bytes, len(list), err)
		}
	}
}

// TestOwnLongLine: the longest line that may be, then one byte more, which the parser would panic over.
func TestOwnLongLine(t *testing.T) {
	const text = "Feature: mine\n  Scenario: mine\n    Given a feed of 3 records\n"
	for _, end := range []string{"", "\n"} {
		for longest, bad := range map[int]bool{MaxOwnLine: false, MaxOwnLine + 1: true} {
			line := "#" + strings.Repeat("x", longest-1-len(end)) + end
			_, err := Own(fstest.MapFS{"a/b.feature": {Data: []byte(text + line)}})
			switch {
			case bad && (err == nil || err.Error() != "a/b.feature:4: a line of 65536 bytes, limit 65535"):
				t.Errorf("%d bytes: %v", longest, err)
			case !bad && err != nil:
				t.Errorf("%d bytes: %v", longest, err)
			}
		}
	}
}

// FuzzOwn: whatever is in a user's file, it is read or refused.
func FuzzOwn(f *testing.F) {
	f.Add([]byte("@x\nFeature: a\n  Background:\n    Given a feed of 3 records\n  Rule: r\n    Scenario Outline: <s>\n      * these faults:\n        | a |\n      Examples:\n        | s |\n        | 1 |\n"))
	f.Add([]byte("# language: nonsense\nFeature: a\n"))
	f.Add([]byte("Feature: a\n  Scenario: b\n    Given x\n      \"\"\"json\n      {}\n"))
	f.Add([]byte("# only a comment"))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := Own(fstest.MapFS{"a.feature": {Data: text}})
		if (err == nil) == (len(list) == 0) {
			t.Errorf("%d scenarios, %v", len(list), err)
		}
	})
}
