// Package browser compares conform with the EventSource of a real browser, which is what the standard was written from: on a
// stream that is cut and resumed, and on the grammar of event streams. Its tests are all there is to it. They need chromium
// (internal/need).
package browser
