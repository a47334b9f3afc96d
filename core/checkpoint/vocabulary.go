package checkpoint

import "strings"

// The words that name credentials (facts 4.6), as they are left when everything but a-z and 0-9 is taken out.
var (
	nameWords = map[string]bool{
		"auth": true, "awsaccesskeyid": true, "bearer": true, "code": true, "credentials": true, "expires": true,
		"googleaccessid": true, "jwt": true, "key": true, "keypairid": true, "passwd": true, "policy": true, "pwd": true,
		"sas": true, "session": true, "sessionid": true, "sig": true,
	}
	nameHeads = [...]string{"xamz", "xgoog"}
	nameTails = [...]string{
		"accountkey", "accesskey", "apikey", "authorization", "consumerkey", "cookie", "credential", "encryptionkey",
		"masterkey", "passphrase", "password", "privatekey", "secret", "secretkey", "signingkey", "signature",
		"storagekey", "subscriptionkey", "token",
	}
)

// names says whether a folded text is the name of a credential, separators or not.
func names(folded string) bool {
	word := bare(folded)
	if nameWords[word] {
		return true
	}
	for _, head := range nameHeads {
		if strings.HasPrefix(word, head) {
			return true
		}
	}
	for _, tail := range nameTails {
		if strings.HasSuffix(word, tail) {
			return true
		}
	}
	return false
}

// bare is what is left of a folded text without everything that is not a-z or 0-9.
func bare(folded string) string {
	keep := func(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }
	for i := 0; i < len(folded); i++ {
		if keep(folded[i]) {
			continue
		}
		out := append(make([]byte, 0, len(folded)), folded[:i]...)
		for ; i < len(folded); i++ {
			if keep(folded[i]) {
				out = append(out, folded[i])
			}
		}
		return string(out)
	}
	return folded
}
