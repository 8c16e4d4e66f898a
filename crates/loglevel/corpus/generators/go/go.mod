module corpus

go 1.26.0

require (
	github.com/go-kit/log v0.2.1
	github.com/go-logr/zapr v1.3.0
	github.com/golang/glog v1.2.5
	github.com/hashicorp/go-hclog v1.6.3
	github.com/inconshreveable/log15 v2.16.0+incompatible
	github.com/rs/zerolog v1.35.1
	github.com/sirupsen/logrus v1.10.2
	go.uber.org/zap v1.28.0
	k8s.io/klog/v2 v2.140.0
)

require (
	github.com/fatih/color v1.13.0 // indirect
	github.com/go-logfmt/logfmt v0.5.1 // indirect
	github.com/go-logr/logr v1.4.1 // indirect
	github.com/go-stack/stack v1.8.1 // indirect
	github.com/mattn/go-colorable v0.1.14 // indirect
	github.com/mattn/go-isatty v0.0.20 // indirect
	go.uber.org/multierr v1.10.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
	golang.org/x/term v0.48.0 // indirect
)
