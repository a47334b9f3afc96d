package checkpoint

import (
	"fmt"
	"time"
)

// maxTime is the last instant of an ECMAScript date, 100,000,000 days after 1970, in milliseconds.
const maxTime = 8_640_000_000_000_000

// ValidTime says whether ms, unix milliseconds, is within the range of an ECMAScript date.
func ValidTime(ms int64) bool { return ms >= -maxTime && ms <= maxTime }

// FormatTime writes unix milliseconds as the contract does: ISO 8601, UTC, three decimals. A year outside 0 to 9999 gets
// a sign and six digits. ms must be within the range of an ECMAScript date.
func FormatTime(ms int64) string {
	t := time.UnixMilli(ms).UTC()
	y := t.Year()
	if y >= 0 && y <= 9999 {
		return t.Format("2006-01-02T15:04:05.000Z")
	}
	sign := '+'
	if y < 0 {
		sign, y = '-', -y
	}
	return fmt.Sprintf("%c%06d", sign, y) + t.Format("-01-02T15:04:05.000Z")
}

// ParseTime reads a date of the ECMAScript date format into unix milliseconds: a day, or a day with a time and a zone.
// Finer digits than milliseconds are cut off. A time without a zone means another instant on every machine, and is no
// date here.
func ParseTime(text string) (ms int64, ok bool) {
	p := dateText{rest: text, ok: true}
	year := p.year()
	month, day := 1, 1
	if p.is('-') {
		month = p.digits(2)
		if p.is('-') {
			day = p.digits(2)
		}
	}
	var hour, minute, second, milli, zone int
	if p.is('T') {
		hour = p.digits(2)
		p.must(':')
		minute = p.digits(2)
		if p.is(':') {
			second = p.digits(2)
			if p.is('.') {
				milli = p.fraction()
			}
		}
		zone = p.zone()
	}
	if !p.ok || p.rest != "" || month < 1 || month > 12 || day < 1 || minute > 59 || second > 59 {
		return 0, false
	}
	if hour > 24 || hour == 24 && minute+second+milli > 0 {
		return 0, false
	}
	t := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	if t.Day() != day {
		return 0, false // 30 February
	}
	ms = t.UnixMilli() + int64((hour*60+minute-zone)*60+second)*1000 + int64(milli)
	return ms, ValidTime(ms)
}

// dateText is what is left of a date while it is read.
type dateText struct {
	rest string
	ok   bool
}

func (p *dateText) is(c byte) bool {
	if p.rest == "" || p.rest[0] != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

func (p *dateText) must(c byte) { p.ok = p.is(c) && p.ok }

func (p *dateText) digits(n int) int {
	if len(p.rest) < n {
		p.ok = false
		return 0
	}
	v := 0
	for i := range n {
		c := p.rest[i]
		if c < '0' || c > '9' {
			p.ok = false
			return 0
		}
		v = v*10 + int(c-'0')
	}
	p.rest = p.rest[n:]
	return v
}

// year is four digits, or a sign and six; there is no year -000000.
func (p *dateText) year() int {
	switch {
	case p.is('+'):
		return p.digits(6)
	case p.is('-'):
		y := p.digits(6)
		p.ok = p.ok && y > 0
		return -y
	}
	return p.digits(4)
}

// fraction is one digit or more; those beyond milliseconds are cut off.
func (p *dateText) fraction() int {
	v, n := 0, 0
	for ; p.rest != "" && p.rest[0] >= '0' && p.rest[0] <= '9'; n++ {
		if n < 3 {
			v = v*10 + int(p.rest[0]-'0')
		}
		p.rest = p.rest[1:]
	}
	p.ok = p.ok && n > 0
	for ; n < 3; n++ {
		v *= 10
	}
	return v
}

// zone is Z or an offset, in minutes east of UTC.
func (p *dateText) zone() int {
	sign := 1
	switch {
	case p.is('Z'):
		return 0
	case p.is('+'):
	case p.is('-'):
		sign = -1
	default:
		p.ok = false
		return 0
	}
	hours := p.digits(2)
	p.must(':')
	minutes := p.digits(2)
	p.ok = p.ok && hours <= 23 && minutes <= 59
	return sign * (hours*60 + minutes)
}
