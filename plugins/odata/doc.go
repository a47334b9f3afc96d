// Package odata is the client side of the OData delta wire: a pure streaming page decoder, the pure machine of snapshot and delta
// cycles, and a thin driver over net/http. It declares freshness poll and kind polling, and claims no push.
package odata
