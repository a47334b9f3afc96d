module github.com/conform-dev/conform/peers

go 1.26.0

require (
	github.com/chromedp/chromedp v0.23.0
	github.com/conform-dev/conform v0.0.0
	github.com/google/go-cmp v0.7.0
	github.com/tmaxmax/go-sse v0.12.0
)

require (
	github.com/chromedp/cdproto v0.159.0 // indirect
	github.com/go-json-experiment/json v0.0.0-20260213210345-44df1a37e875 // indirect
	go.yaml.in/yaml/v3 v3.0.6 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace github.com/conform-dev/conform => ../
