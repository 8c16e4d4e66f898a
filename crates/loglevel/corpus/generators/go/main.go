// Writes what Go's loggers write, one labelled file per logger.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	kitlog "github.com/go-kit/log"
	kitlevel "github.com/go-kit/log/level"
	"github.com/go-logr/zapr"
	"github.com/golang/glog"
	"github.com/hashicorp/go-hclog"
	"github.com/inconshreveable/log15"
	"github.com/rs/zerolog"
	"github.com/sirupsen/logrus"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"
)

const n = 600

var messages []string

type file struct {
	name  string
	lines bytes.Buffer
}

// add labels every line that one call wrote.
func (f *file) add(level string, text string) {
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		fmt.Fprintf(&f.lines, "%s\t%s\n", level, line)
	}
}

func (f *file) close(dir string) {
	path := filepath.Join(dir, f.name)
	if err := os.WriteFile(path, f.lines.Bytes(), 0o644); err != nil {
		panic(err)
	}
	if out, err := exec.Command("gzip", "-9nf", path).CombinedOutput(); err != nil {
		panic(string(out))
	}
}

func message(i int) string { return messages[(i*7+i/len(messages))%len(messages)] }

func plain(i int) string {
	return strings.ReplaceAll(message(i), "%", "percent")
}

var errTimeout = errors.New(`Get "https://10.0.0.1": context deadline exceeded (level=info)`)

func klogFile(dir, name string, flags ...string) {
	fs := flag.NewFlagSet("klog", flag.PanicOnError)
	klog.InitFlags(fs)
	_ = fs.Parse(append([]string{"-logtostderr=false", "-alsologtostderr=false", "-stderrthreshold=4", "-one_output=true", "-v=4"}, flags...))
	var buf bytes.Buffer
	klog.SetOutput(&buf)
	f := &file{name: name}
	for i := 0; i < n; i++ {
		level := "info"
		switch i % 7 {
		case 0:
			klog.Info(plain(i))
		case 1:
			klog.Warning(plain(i))
			level = "warn"
		case 2:
			klog.Error(plain(i))
			level = "error"
		case 3:
			klog.InfoS(message(i), "pod", klog.KRef("default", "web-0"), "level", "error", "count", i)
		case 4:
			klog.ErrorS(errTimeout, message(i), "node", "n1")
			level = "error"
		case 5:
			klog.V(4).InfoS(message(i), "config", "a: 1\nb: error\n\tc: 2\n", "last", true)
		case 6:
			klog.ErrorS(errors.New("first line\nsecond line: I0911\nthird"), "failed")
			level = "error"
		}
		klog.Flush()
		f.add(level, buf.String())
		buf.Reset()
	}
	f.close(dir)
}

func zapFile(dir, name string, encoder func(zapcore.EncoderConfig) zapcore.Encoder, change func(*zapcore.EncoderConfig)) {
	cfg := zap.NewProductionEncoderConfig()
	change(&cfg)
	var buf bytes.Buffer
	core := zapcore.NewCore(encoder(cfg), zapcore.AddSync(&buf), zapcore.Level(-10))
	logger := zap.New(core, zap.AddCaller(), zap.AddStacktrace(zapcore.DPanicLevel), zap.WithPanicHook(zapcore.WriteThenNoop), zap.WithFatalHook(noop{}))
	f := &file{name: name}
	for i := 0; i < n; i++ {
		level := "info"
		l := logger
		if i%3 == 0 {
			l = logger.Named("controllers").Named("Spoke")
		}
		fields := []zap.Field{zap.String("level", "error"), zap.Int("n", i)}
		if i%2 == 0 {
			fields = nil
		}
		switch i % 8 {
		case 0, 1:
			l.Info(message(i), fields...)
		case 2:
			l.Debug(message(i), fields...)
			level = "debug"
		case 3:
			l.Warn(message(i), fields...)
			level = "warn"
		case 4:
			l.Error(message(i), append(fields, zap.Error(errTimeout))...)
			level = "error"
		case 5:
			l.DPanic(message(i), fields...)
			level = "critical"
		case 6:
			zapr.NewLogger(l).V(3).Info(message(i), "request", map[string]string{"name": "x"})
			level = "trace"
		case 7:
			l.Fatal(message(i), fields...)
			level = "critical"
		}
		f.add(level, buf.String())
		buf.Reset()
	}
	f.close(dir)
}

type noop struct{}

func (noop) OnWrite(*zapcore.CheckedEntry, []zapcore.Field) {}

func logrusFile(dir, name string, formatter logrus.Formatter) {
	var buf bytes.Buffer
	l := logrus.New()
	l.Out = &buf
	l.Level = logrus.TraceLevel
	l.Formatter = formatter
	l.ExitFunc = func(int) {}
	levels := []string{"trace", "debug", "info", "warn", "error", "critical"}
	f := &file{name: name}
	for i := 0; i < n; i++ {
		e := l.WithFields(logrus.Fields{"size": i, "omg": true, "note": "level=error"})
		if i%5 == 0 {
			e = e.WithError(errTimeout)
		}
		text := strings.ReplaceAll(message(i), "\t", " ")
		switch k := i % 6; k {
		case 5:
			e.Fatal(text)
		default:
			e.Log([]logrus.Level{logrus.TraceLevel, logrus.DebugLevel, logrus.InfoLevel, logrus.WarnLevel, logrus.ErrorLevel}[k], text)
		}
		f.add(levels[i%6], buf.String())
		buf.Reset()
	}
	f.close(dir)
}

func slogFile(dir, name string, handler func(*bytes.Buffer, *slog.HandlerOptions) slog.Handler) {
	var buf bytes.Buffer
	l := slog.New(handler(&buf, &slog.HandlerOptions{Level: slog.Level(-8), AddSource: true}))
	levels := []slog.Level{-8, -4, 0, 2, 4, 5, 8, 12}
	labels := []string{"trace", "debug", "info", "info", "warn", "warn", "error", "critical"}
	f := &file{name: name}
	for i := 0; i < n; i++ {
		k := i % 8
		if i%2 == 0 {
			l.Log(context.Background(), levels[k], message(i), "level_hint", "error", "err", errTimeout, "n", i)
		} else {
			l.Log(context.Background(), levels[k], message(i))
		}
		f.add(labels[k], buf.String())
		buf.Reset()
	}
	f.close(dir)
}

func slogDefault(dir string) {
	var buf bytes.Buffer
	log.SetOutput(&buf)
	slog.SetLogLoggerLevel(-8)
	labels := []string{"debug", "info", "warn", "error"}
	f := &file{name: "slog-default"}
	for i := 0; i < n; i++ {
		k := i % 4
		slog.Log(context.Background(), slog.Level(k*4-4), message(i), "n", i)
		f.add(labels[k], buf.String())
		buf.Reset()
	}
	f.close(dir)
	f = &file{name: "go-log"}
	for i := 0; i < n; i++ {
		log.SetFlags([]int{log.LstdFlags, log.LstdFlags | log.Lmicroseconds | log.Lshortfile}[i%2])
		log.Println("done: " + message(i))
		f.add("unknown", buf.String())
		buf.Reset()
	}
	f.close(dir)
	f = &file{name: "go-prefix"}
	for i := 0; i < n; i++ {
		k := i % 4
		log.New(&buf, []string{"DEBUG: ", "INFO: ", "WARNING: ", "ERROR: "}[k], log.LstdFlags|log.Lshortfile).Println(message(i))
		f.add(labels[k], buf.String())
		buf.Reset()
	}
	f.close(dir)
}

func zerologFile(dir, name string, console, color bool) {
	var buf bytes.Buffer
	l := zerolog.New(&buf).With().Timestamp().Logger()
	if console {
		l = zerolog.New(zerolog.ConsoleWriter{Out: &buf, NoColor: !color, TimeFormat: []string{time.Kitchen, time.RFC3339}[len(name)%2]}).With().Timestamp().Caller().Logger()
	}
	l = l.Level(zerolog.TraceLevel)
	labels := []string{"trace", "debug", "info", "warn", "error", "critical"}
	f := &file{name: name}
	for i := 0; i < n; i++ {
		k := i % 6
		e := l.WithLevel([]zerolog.Level{-1, 0, 1, 2, 3, 4}[k])
		if i%4 == 0 {
			e = e.Err(errTimeout).Int("n", i)
		}
		e.Msg(message(i))
		f.add(labels[k], buf.String())
		buf.Reset()
	}
	f.close(dir)
}

func others(dir string) {
	var buf bytes.Buffer
	f := &file{name: "log15"}
	l15 := log15.New()
	l15.SetHandler(log15.StreamHandler(&buf, log15.LogfmtFormat()))
	labels := []string{"debug", "info", "warn", "error", "critical"}
	for i := 0; i < n; i++ {
		k := i % 5
		[]func(string, ...interface{}){l15.Debug, l15.Info, l15.Warn, l15.Error, l15.Crit}[k](message(i), "n", i, "level", "info")
		f.add(labels[k], buf.String())
		buf.Reset()
	}
	f.close(dir)

	f = &file{name: "go-kit"}
	kit := kitlog.With(kitlog.NewLogfmtLogger(&buf), "ts", kitlog.DefaultTimestampUTC, "caller", kitlog.DefaultCaller)
	for i := 0; i < n; i++ {
		k := i % 4
		_ = []func(kitlog.Logger) kitlog.Logger{kitlevel.Debug, kitlevel.Info, kitlevel.Warn, kitlevel.Error}[k](kit).Log("msg", message(i), "err", errTimeout)
		f.add(labels[k], buf.String())
		buf.Reset()
	}
	f.close(dir)

	for _, json := range []bool{false, true} {
		f = &file{name: map[bool]string{false: "hclog", true: "hclog-json"}[json]}
		h := hclog.New(&hclog.LoggerOptions{Name: "agent", Level: hclog.Trace, Output: &buf, JSONFormat: json, IncludeLocation: json})
		for i := 0; i < n; i++ {
			k := i % 5
			h.Log([]hclog.Level{hclog.Trace, hclog.Debug, hclog.Info, hclog.Warn, hclog.Error}[k], strings.ReplaceAll(message(i), "\t", " "), "n", i, "error", errTimeout)
			f.add([]string{"trace", "debug", "info", "warn", "error"}[k], buf.String())
			buf.Reset()
		}
		f.close(dir)
	}
}

// glog writes to files only; it is run as a child of itself.
func glogFile(dir string) {
	tmp, _ := os.MkdirTemp("", "glog")
	defer os.RemoveAll(tmp)
	_ = flag.Set("log_dir", tmp)
	_ = flag.Set("logtostderr", "false")
	_ = flag.Set("stderrthreshold", "FATAL")
	for i := 0; i < n; i++ {
		switch i % 3 {
		case 0:
			glog.Info("<info> ", plain(i))
		case 1:
			glog.Warning("<warn> ", plain(i))
		case 2:
			glog.Error("<error> ", plain(i))
		}
	}
	glog.Flush()
	paths, _ := filepath.Glob(filepath.Join(tmp, "*.INFO"))
	text, err := os.ReadFile(paths[0])
	if err != nil {
		panic(err)
	}
	f := &file{name: "glog-go"}
	for _, line := range strings.Split(string(text), "\n") {
		for _, level := range []string{"info", "warn", "error"} {
			if strings.Contains(line, "<"+level+">") {
				f.add(level, line)
			}
		}
	}
	f.close(dir)
}

func main() {
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	messages = strings.Split(strings.TrimSpace(string(text)), "\n")
	dir := os.Args[2]
	_ = flag.CommandLine.Parse(nil)
	klogFile(dir, "klog")
	klogFile(dir, "klog-dir-header", "-add_dir_header=true")
	none := func(*zapcore.EncoderConfig) {}
	zapFile(dir, "zap-json", zapcore.NewJSONEncoder, none)
	zapFile(dir, "zap-json-iso", zapcore.NewJSONEncoder, func(c *zapcore.EncoderConfig) { c.EncodeTime = zapcore.RFC3339NanoTimeEncoder })
	zapFile(dir, "zap-console", zapcore.NewConsoleEncoder, none)
	zapFile(dir, "zap-console-capital", zapcore.NewConsoleEncoder, func(c *zapcore.EncoderConfig) {
		c.EncodeTime, c.EncodeLevel = zapcore.ISO8601TimeEncoder, zapcore.CapitalLevelEncoder
	})
	zapFile(dir, "zap-console-color", zapcore.NewConsoleEncoder, func(c *zapcore.EncoderConfig) {
		c.EncodeTime, c.EncodeLevel = zapcore.RFC3339TimeEncoder, zapcore.CapitalColorLevelEncoder
	})
	logrusFile(dir, "logrus-text", &logrus.TextFormatter{})
	logrusFile(dir, "logrus-text-no-time", &logrus.TextFormatter{DisableTimestamp: true})
	logrusFile(dir, "logrus-tty", &logrus.TextFormatter{ForceColors: true})
	logrusFile(dir, "logrus-json", &logrus.JSONFormatter{})
	slogFile(dir, "slog-text", func(b *bytes.Buffer, o *slog.HandlerOptions) slog.Handler { return slog.NewTextHandler(b, o) })
	slogFile(dir, "slog-json", func(b *bytes.Buffer, o *slog.HandlerOptions) slog.Handler { return slog.NewJSONHandler(b, o) })
	slogDefault(dir)
	zerologFile(dir, "zerolog-json", false, false)
	zerologFile(dir, "zerolog-console", true, false)
	zerologFile(dir, "zerolog-color", true, true)
	others(dir)
	glogFile(dir)
}
