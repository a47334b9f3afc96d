package event

import "testing"

// D-06: numbers are read exactly, however they are written; what is no JSON number is none.
func TestParseSeq(t *testing.T) {
	for text, want := range map[string]Seq{
		"0": 0, "11": 11, "11.0": 11, "1.1e1": 11, "-0": 0, "9007199254740991": MaxSeq, "900719925474099100e-2": MaxSeq,
		"9007199254740992": NoSeq, "9007199254740991.5": NoSeq, "-1": NoSeq, "1.5": NoSeq, "1e400": NoSeq,
		"": NoSeq, "null": NoSeq, `"7"`: NoSeq, "07": NoSeq, "+7": NoSeq, "7 ": NoSeq, " 7": NoSeq, "7,8": NoSeq, "0x7": NoSeq, "-": NoSeq, "1e": NoSeq,
	} {
		if got := ParseSeq([]byte(text)); got != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
	}
}
