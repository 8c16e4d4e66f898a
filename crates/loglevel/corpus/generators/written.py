"""Writes lines to the documented layout of loggers and servers that are not run here.

Every row names the format, the words it uses for each level, and how a line is laid out. The label is the level that
the format's documentation gives to the word. Seeded: the same call writes the same bytes.
"""

import random
import sys

from corpus import MESSAGES, write

N_LINES = 520
R = random.Random(5)
MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
DAYS = "Mon Tue Wed Thu Fri Sat Sun".split()

UPPER5 = {"trace": "TRACE", "debug": "DEBUG", "info": "INFO", "warn": "WARN", "error": "ERROR"}
UPPER = {"debug": "DEBUG", "info": "INFO", "warn": "WARN", "error": "ERROR", "critical": "FATAL"}
PYTHON = {"debug": "DEBUG", "info": "INFO", "warn": "WARNING", "error": "ERROR", "critical": "CRITICAL"}
LOWER = {k: v.lower() for k, v in UPPER.items()}
SYSLOG = ["emergency", "alert", "critical", "error", "warn", "notice", "info", "debug"]


class T:
    """A moment, in every spelling."""

    def __init__(self):
        r = R
        self.Y, self.m, self.d = 2026, r.randint(1, 12), r.randint(1, 28)
        self.H, self.M, self.S, self.us = r.randint(0, 23), r.randint(0, 59), r.randint(0, 59), r.randint(0, 999999)
        self.ms = self.us // 1000
        self.date = f"{self.Y}-{self.m:02}-{self.d:02}"
        self.slash = f"{self.Y}/{self.m:02}/{self.d:02}"
        self.clock = f"{self.H:02}:{self.M:02}:{self.S:02}"
        self.mon = MONTHS[self.m - 1]
        self.day = R.choice(DAYS)
        self.h12 = (self.H + 11) % 12 + 1
        self.half = "AM" if self.H < 12 else "PM"
        self.mono = f"{r.randint(0, 99999)}.{self.us:06}"
        self.epoch = 1767225600 + r.randint(0, 31535999)


def name():
    return R.choice(["main", "scheduler", "http", "db.pool", "controller.node", "auth", "io.x.Worker", "org.example.App"])


def cls():
    return R.choice(["org.example.App", "c.e.d.Worker", "io.netty.Server", "com.acme.billing.InvoiceService"])


def go_file():
    return R.choice(["main.go", "pkg/sync/worker.go", "controller/node.go", "server.go"]) + f":{R.randint(1, 999)}"


def n():
    return R.randint(1, 99999)


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t") + '"'


def json_text(text):
    return quoted(text)


FORMATS = {}


def layout(format, words):
    def register(function):
        FORMATS[format] = (words, function)
        return function

    return register


@layout("cockroach", {"info": "I", "warn": "W", "error": "E", "critical": "F"})
def _(t, w, m):
    return f"{w}{t.Y % 100:02}{t.m:02}{t.d:02} {t.clock}.{t.us:06} {n()} util/log/{go_file()}  [n1,client=10.0.0.1] {n()}  {m}"


@layout("glog-cpp", {"info": "I", "warn": "W", "error": "E", "critical": "F"})
def _(t, w, m):
    return f"{w}{t.Y}{t.m:02}{t.d:02} {t.clock}.{t.us:06} {n():5} server/conn.cc:{R.randint(1, 999)}] {m}"


@layout("tensorflow", {"info": "I", "warn": "W", "error": "E", "critical": "F"})
def _(t, w, m):
    return f"{t.date} {t.clock}.{t.us:06}: {w} tensorflow/core/util/port.cc:{R.randint(1, 999)}] {m}"


@layout("chromium", {"debug": "VERBOSE1", "info": "INFO", "warn": "WARNING", "error": "ERROR", "critical": "FATAL"})
def _(t, w, m):
    if w == "VERBOSE1":
        w = "INFO"
        return "info", f"[{n()}:{n()}:{t.m:02}{t.d:02}/{t.H:02}{t.M:02}{t.S:02}.{t.us:06}:{w}:main.cc({R.randint(1, 999)})] {m}"
    return f"[{n()}:{n()}:{t.m:02}{t.d:02}/{t.H:02}{t.M:02}{t.S:02}.{t.us:06}:{w}:main.cc({R.randint(1, 999)})] {m}"


@layout("k8s-json", {"info": "v", "error": "err"})
def _(t, w, m):
    tail = f'"v":{R.choice([0, 0, 2, 4])}' if w == "v" else R.choice(['"err":"timed out"', '"node":"n1","err":"x: \\"y\\""'])
    extra = R.choice(["", '"pod":{"name":"web-0","namespace":"default"},', '"level_hint":"error",'])
    return f'{{"ts":{t.epoch}{t.ms:03}.{R.randint(0, 9999):04},"caller":"{go_file()}","msg":{json_text(m)},{extra}{tail}}}'


@layout("zap-console-space", LOWER | {"critical": "dpanic"})
def _(t, w, m):
    return f'{t.date}T{t.clock}.{t.ms:03}Z {w} {go_file()} {m} {{"kind": "receiver", "name": "otlp"}}'


@layout("zap-console-iso", UPPER | {"critical": "PANIC"})
def _(t, w, m):
    zone = R.choice(["Z", "+0900", "-0700", "+05:30"])
    return f'{t.date}T{t.clock}.{t.ms:03}{zone}\t{w}\t{R.choice(["setup", "controllers.Spoke"])}\t{m}\t{{"request": {{"name":"x"}}, "after": "1m0s"}}'


@layout("zap-console-epoch", LOWER)
def _(t, w, m):
    stamp = R.choice([f"{t.epoch}.{t.us:06}", f"1.7{R.randint(10**7, 10**8 - 1)}{t.us:06}e+09", f"{t.epoch}{t.ms:03}"])
    return f"{stamp}\t{w}\t{go_file()}\t{m}"


@layout("istio", {"debug": "debug", "info": "info", "warn": "warn", "error": "error", "critical": "fatal"})
def _(t, w, m):
    return f"{t.date}T{t.clock}.{t.us:06}Z\t{w}\t{R.choice(['ads', 'xdsproxy', 'sds'])}\t{m}"


@layout("go-kit", {"debug": "debug", "info": "info", "warn": "warn", "error": "error"})
def _(t, w, m):
    return f"ts={t.date}T{t.clock}.{t.ms:03}Z caller={go_file()} level={w} component=tsdb msg={quoted(m)}"


@layout("go-kit-level-first", {"debug": "debug", "info": "info", "warn": "warn", "error": "error"})
def _(t, w, m):
    return f"level={w} ts={t.date}T{t.clock}.{t.us:06}Z caller={go_file()} org_id=fake msg={quoted(m)}"


@layout("grafana", {"debug": "debug", "info": "info", "warn": "warn", "error": "error", "critical": "crit"})
def _(t, w, m):
    return f"logger={name()} t={t.date}T{t.clock}.{t.us:06}Z level={w} msg={quoted(m)} duration=1.2ms"


@layout("logfmt-anywhere", {"trace": "trace", "debug": "dbg", "info": "info", "warn": "wrn", "error": "err", "critical": "crit", "notice": "notice"})
def _(t, w, m):
    key = R.choice(["level", "lvl", "severity", "log.level"])
    return f"app={name()} msg={quoted(m)} took=1ms ok=true {key}={w} n={n()}"


@layout("logrus-quoted-time", {"trace": "trace", "debug": "debug", "info": "info", "warn": "warning", "error": "error", "critical": "fatal"})
def _(t, w, m):
    return f'time="{t.date} {t.clock}" level={w} msg={quoted(m)} subsys=daemon'


@layout("geth", {"trace": "TRACE", "debug": "DEBUG", "info": "INFO ", "warn": "WARN ", "error": "ERROR", "critical": "CRIT "})
def _(t, w, m):
    return f"{w}[{t.m:02}-{t.d:02}|{t.clock}.{t.ms:03}] {m:40} number={n()} hash=0x1f"


@layout("coredns", {"debug": "DEBUG", "info": "INFO", "warn": "WARNING", "error": "ERROR", "critical": "FATAL"})
def _(t, w, m):
    return f"[{w}] plugin/{R.choice(['reload', 'errors', 'forward', 'kubernetes'])}: {m}"


@layout("logutils", {"trace": "TRACE", "debug": "DEBUG", "info": "INFO", "warn": "WARN", "error": "ERROR", "notice": "NOTICE"})
def _(t, w, m):
    return f"{t.slash} {t.clock} [{w}] {name()}: {m}"


@layout("pingcap", UPPER)
def _(t, w, m):
    return f'[{t.slash} {t.clock}.{t.ms:03} +00:00] [{w}] [{go_file()}] [{quoted(m)}] [conn={n()}] [error="[a:1]x"]'


@layout("calico", {"debug": "DEBUG", "info": "INFO", "warn": "WARNING", "error": "ERROR", "critical": "FATAL"})
def _(t, w, m):
    return f"{t.date} {t.clock}.{t.ms:03} [{w}][{n()}] felix/int_dataplane.go {n()}: {m}"


@layout("telegraf", {"debug": "D", "info": "I", "warn": "W", "error": "E"})
def _(t, w, m):
    return f"{t.date}T{t.clock}Z {w}! [{R.choice(['agent', 'inputs.cpu', 'outputs.influxdb'])}] {m}"


@layout("datadog-agent", {"trace": "TRACE", "debug": "DEBUG", "info": "INFO", "warn": "WARN", "error": "ERROR", "critical": "CRITICAL"})
def _(t, w, m):
    return f"{t.date} {t.clock} UTC | {R.choice(['CORE', 'TRACE', 'PROCESS'])} | {w} | (pkg/{go_file()} in Run) | {m}"


@layout("envoy", {"trace": "trace", "debug": "debug", "info": "info", "warn": "warning", "error": "error", "critical": "critical"})
def _(t, w, m):
    return f"[{t.date} {t.clock}.{t.ms:03}][{n()}][{w}][{R.choice(['main', 'config', 'upstream', 'http'])}] [source/server/server.cc:{n()}] {m}"


@layout("spdlog", {"trace": "trace", "debug": "debug", "info": "info", "warn": "warning", "error": "error", "critical": "critical"})
def _(t, w, m):
    return f"[{t.date} {t.clock}.{t.ms:03}] [{R.choice(['core', 'net'])}] [{w}] {m}"


@layout("spring-boot", UPPER5)
def _(t, w, m):
    app = R.choice(["", "[billing] "])
    return f"{t.date}T{t.clock}.{t.ms:03}Z {w:>5} {R.randint(1, 999)} --- {app}[{R.choice(['           main', 'nio-8080-exec-1'])}] {cls():40} : {m}"


@layout("kafka", UPPER)
def _(t, w, m):
    return f"[{t.date} {t.clock},{t.ms:03}] {w} [Broker id=1] {m} (kafka.server.KafkaServer)"


@layout("hadoop", UPPER)
def _(t, w, m):
    return f"{t.date} {t.clock},{t.ms:03} {w} org.apache.hadoop.hdfs.server.X: {m}"


@layout("flink", UPPER5)
def _(t, w, m):
    return f"{t.date} {t.clock},{t.ms:03} {w:5} org.apache.flink.runtime.X                    [] - {m}"


@layout("solr", UPPER5)
def _(t, w, m):
    return f"{t.date} {t.clock}.{t.ms:03} {w:5} (qtp1-{n()}) [c:a s:shard1] o.a.s.c.S {m}"


@layout("spark", {"debug": "DEBUG", "info": "INFO", "warn": "WARN", "error": "ERROR"})
def _(t, w, m):
    return f"{t.Y % 100:02}/{t.m:02}/{t.d:02} {t.clock} {w} {R.choice(['SparkContext', 'BlockManager'])}: {m}"


@layout("elasticsearch", {"trace": "TRACE", "debug": "DEBUG", "info": "INFO ", "warn": "WARN ", "error": "ERROR"})
def _(t, w, m):
    return f"[{t.date}T{t.clock},{t.ms:03}][{w}][o.e.n.Node               ] [node-1] {m}"


@layout("logstash", {"debug": "DEBUG", "info": "INFO ", "warn": "WARN ", "error": "ERROR", "critical": "FATAL"})
def _(t, w, m):
    return f"[{t.date}T{t.clock},{t.ms:03}][{w}][logstash.agent           ][main] {m}"


@layout("kibana", {"debug": "DEBUG", "info": "INFO ", "warn": "WARN ", "error": "ERROR"})
def _(t, w, m):
    return f"[{t.date}T{t.clock}.{t.ms:03}+00:00][{w}][plugins.taskManager] {m}"


@layout("jboss", {"trace": "TRACE", "debug": "DEBUG", "info": "INFO ", "warn": "WARN ", "error": "ERROR", "critical": "FATAL"})
def _(t, w, m):
    return f"{t.clock},{t.ms:03} {w} [org.jboss.as.server] (Controller Boot Thread) {m}"


@layout("quarkus", {"debug": "DEBUG", "info": "INFO ", "warn": "WARN ", "error": "ERROR"})
def _(t, w, m):
    return f"{t.date} {t.clock},{t.ms:03} {w} [io.quarkus] (main) {m}"


@layout("cassandra", {"trace": "TRACE", "debug": "DEBUG", "info": "INFO ", "warn": "WARN ", "error": "ERROR"})
def _(t, w, m):
    return f"{w} [main] {t.date} {t.clock},{t.ms:03} CassandraDaemon.java:{n()} - {m}"


@layout("tomcat", {"trace": "FINEST", "debug": "FINE", "info": "INFO", "warn": "WARNING", "error": "SEVERE"})
def _(t, w, m):
    return f"{t.d:02}-{t.mon}-{t.Y} {t.clock}.{t.ms:03} {w} [main] org.apache.catalina.startup.Catalina.start {m}"


@layout("jenkins", {"debug": "FINE", "info": "INFO", "warn": "WARNING", "error": "SEVERE"})
def _(t, w, m):
    return f"{t.date} {t.clock}.{t.ms:03}+0000 [id={n()}]\t{w}\thudson.lifecycle.Lifecycle#onStatusUpdate: {m}"


@layout("pulsar", UPPER5)
def _(t, w, m):
    return f"{t.date}T{t.clock},{t.ms:03}+0000 [main] {w:5} org.apache.pulsar.X - {m}"


@layout("slf4j-simple", UPPER5)
def _(t, w, m):
    return f"[main] {w} {cls()} - {m}"


@layout("airflow", PYTHON)
def _(t, w, m):
    return f"[{t.date}T{t.clock}.{t.ms:03}+0000] {{taskinstance.py:{n()}}} {w} - {m}"


@layout("odoo", PYTHON)
def _(t, w, m):
    return f"{t.date} {t.clock},{t.ms:03} {n()} {w} prod odoo.modules.loading: {m}"


@layout("jupyter", {"debug": "D", "info": "I", "warn": "W", "error": "E", "critical": "C"})
def _(t, w, m):
    return f"[{w} {t.date} {t.clock}.{t.ms:03} ServerApp] {m}"


@layout("tornado", {"debug": "D", "info": "I", "warn": "W", "error": "E"})
def _(t, w, m):
    return f"[{w} {t.Y % 100:02}{t.m:02}{t.d:02} {t.clock} web:{n()}] {m}"


@layout("supervisord", {"trace": "TRAC", "debug": "DEBG", "info": "INFO", "warn": "WARN", "critical": "CRIT"})
def _(t, w, m):
    return f"{t.date} {t.clock},{t.ms:03} {w} spawned: {m}"


@layout("alembic", PYTHON)
def _(t, w, m):
    return f"{w[:5]:5} [alembic.runtime.migration] {m}" if w != "CRITICAL" and w != "WARNING" else f"{w} [alembic.env] {m}"


@layout("linkerd", {"trace": "TRACE", "debug": "DEBUG", "info": "INFO", "warn": "WARN", "error": "ERROR"})
def _(t, w, m):
    return f"[{t.mono:>12}s] {w:>5} ThreadId(01) linkerd2_proxy: {m}"


@layout("sidekiq", {"debug": "DEBUG", "info": "INFO", "warn": "WARN", "error": "ERROR", "critical": "FATAL"})
def _(t, w, m):
    klass = R.choice(["", " class=HardJob jid=b4a577edbccf1d805744efa9"])
    return f"{t.date}T{t.clock}.{t.ms:03}Z pid={n()} tid=gx{n()}{klass} {w}: {m}"


@layout("dotnet-console", {"trace": "trce", "debug": "dbug", "info": "info", "warn": "warn", "error": "fail", "critical": "crit"})
def _(t, w, m):
    return f"{w}: Microsoft.Hosting.Lifetime[{R.randint(0, 99)}]\n      {m}"


@layout("dotnet-json", {"trace": "Trace", "debug": "Debug", "info": "Information", "warn": "Warning", "error": "Error", "critical": "Critical"})
def _(t, w, m):
    return f'{{"Timestamp":"{t.date}T{t.clock}Z","EventId":{n()},"LogLevel":"{w}","Category":"App.Program","Message":{json_text(m)},"State":{{"Message":{json_text(m)},"level":"Error"}}}}'


@layout("serilog-console", {"trace": "VRB", "debug": "DBG", "info": "INF", "warn": "WRN", "error": "ERR", "critical": "FTL"})
def _(t, w, m):
    line = f"[{t.clock} {w}] {m}"
    return ("debug", line) if w == "VRB" else line


@layout("serilog-file", {"debug": "DBG", "info": "INF", "warn": "WRN", "error": "ERR", "critical": "FTL"})
def _(t, w, m):
    return f"{t.date} {t.clock}.{t.ms:03} +00:00 [{w}] {m}"


@layout("serilog-json", {"debug": "Debug", "info": "", "warn": "Warning", "error": "Error", "critical": "Fatal"})
def _(t, w, m):
    level = f',"@l":"{w}"' if w else ""
    return f'{{"@t":"{t.date}T{t.clock}.{t.us:06}0Z","@mt":{json_text(m)}{level},"SourceContext":"App"}}'


@layout("nlog", {"trace": "TRACE", "debug": "DEBUG", "info": "INFO", "warn": "WARN", "error": "ERROR", "critical": "FATAL"})
def _(t, w, m):
    return f"{t.date} {t.clock}.{t.us // 100:04}|{w}|App.Program|{m}"


@layout("nestjs", {"debug": "DEBUG", "info": "LOG", "warn": "WARN", "error": "ERROR", "critical": "FATAL"})
def _(t, w, m):
    return f"[Nest] {n()}  - {t.m:02}/{t.d:02}/{t.Y}, {t.h12}:{t.M:02}:{t.S:02} {t.half} {w:>7} [NestFactory] {m}"


@layout("npm", {"error": "error", "warn": "warn", "notice": "notice", "info": "info"})
def _(t, w, m):
    if w == "error" and R.random() < 0.5:
        return f"npm ERR! {m}"
    return f"npm {w} {m}"


@layout("php-fpm", {"debug": "DEBUG", "notice": "NOTICE", "warn": "WARNING", "error": "ERROR", "alert": "ALERT"})
def _(t, w, m):
    return f"[{t.d:02}-{t.mon}-{t.Y} {t.clock}] {w}: {m}"


@layout("php-error", {"notice": "Notice", "warn": "Warning", "error": "Parse error", "critical": "Fatal error"})
def _(t, w, m):
    return f"PHP {w}:  {m} in /srv/app/index.php on line {n()}"


@layout("erlang-report", {"info": "INFO", "notice": "NOTICE", "warn": "WARNING", "error": "ERROR", "critical": "CRITICAL"})
def _(t, w, m):
    return f"={w} REPORT==== {t.d}-{t.mon}-{t.Y}::{t.clock}.{t.us:06} ===\n    {m}"


@layout("rabbitmq", {"debug": "debug", "info": "info", "notice": "notice", "warn": "warning", "error": "error", "critical": "critical"})
def _(t, w, m):
    return f"{t.date} {t.clock}.{t.us:06}+00:00 [{w}] <0.{n()}.0> {m}"


@layout("nginx-error", {"debug": "debug", "info": "info", "notice": "notice", "warn": "warn", "error": "error", "critical": "crit", "alert": "alert", "emergency": "emerg"})
def _(t, w, m):
    return f"{t.slash} {t.clock} [{w}] {n()}#{n()}: *{n()} {m}, client: 10.0.0.1, server: _"


@layout("access-log", {"unknown": "-"})
def _(t, w, m):
    path = R.choice(["/", "/error", "/api/v1/info?level=error", "/warn.html"])
    return f'10.{R.randint(0, 255)}.0.{R.randint(0, 255)} - {R.choice(["-", "alice"])} [{t.d:02}/{t.mon}/{t.Y}:{t.clock} +0000] "GET {path} HTTP/1.1" {R.choice([200, 404, 500])} {n()} "-" "curl/8.0 error"'


@layout("apache-error", {"debug": "debug", "info": "info", "notice": "notice", "warn": "warn", "error": "error", "critical": "crit", "alert": "alert", "emergency": "emerg"})
def _(t, w, m):
    return f"[{t.day} {t.mon} {t.d:02} {t.clock}.{t.us:06} {t.Y}] [{R.choice(['core', 'ssl', 'mpm_event'])}:{w}] [pid {n()}:tid {n()}] AH00094: {m}"


@layout("haproxy", {"notice": "NOTICE", "warn": "WARNING", "alert": "ALERT"})
def _(t, w, m):
    return f"{'[' + w + ']':11} ({n()}) : {m}" if R.random() < 0.6 else f"[{w}] {R.randint(1, 365):03}/{t.H:02}{t.M:02}{t.S:02} ({n()}) : {m}"


@layout("postgres", {"debug": "DEBUG1", "info": "LOG", "notice": "NOTICE", "warn": "WARNING", "error": "ERROR", "critical": "FATAL"})
def _(t, w, m):
    who = R.choice(["", "app@shop ", "[unknown]@postgres "])
    line = f"{t.date} {t.clock}.{t.ms:03} {R.choice(['UTC', 'CET', 'GMT'])} [{n()}] {who if '[' not in who else ''}{w}:  {m}"
    if w == "ERROR":
        stamp = line.split(w + ":", 1)[0]
        line += f"\n{stamp}DETAIL:  Key (id)=({n()}) is not present.\n{stamp}STATEMENT:  INSERT INTO info VALUES ('error')"
    return line


@layout("redis", {"debug": "-", "notice": "*", "warn": "#"})
def _(t, w, m):
    sign = R.choice([".", "-"]) if w == "-" else w
    return f"{n()}:{R.choice('MSCX')} {t.d:02} {t.mon} {t.Y} {t.clock}.{t.ms:03} {sign} {m}"


@layout("mysql", {"notice": "Note", "info": "System", "warn": "Warning", "error": "ERROR"})
def _(t, w, m):
    if w == "System":
        return "unknown", f"{t.date}T{t.clock}.{t.us:06}Z 0 [System] [MY-010116] [Server] {m}"
    return f"{t.date}T{t.clock}.{t.us:06}Z {R.randint(0, 99)} [{w}] [MY-0{R.randint(10000, 19999)}] [Server] {m}"


@layout("mariadb", {"notice": "Note", "warn": "Warning", "error": "ERROR"})
def _(t, w, m):
    return f"{t.date} {t.H:2}:{t.M:02}:{t.S:02} {R.randint(0, 99)} [{w}] InnoDB: {m}"


@layout("mongodb", {"debug": "D2", "info": "I", "warn": "W", "error": "E", "critical": "F"})
def _(t, w, m):
    quoted_w = f'"{w}",'
    return f'{{"t":{{"$date":"{t.date}T{t.clock}.{t.ms:03}+00:00"}},"s":{quoted_w:6}"c":"NETWORK",  "id":{n()},   "ctx":"listener","msg":{json_text(m)},"attr":{{"level":"error"}}}}'


@layout("clickhouse", {"trace": "Trace", "debug": "Debug", "info": "Information", "notice": "Notice", "warn": "Warning", "error": "Error", "critical": "Fatal"})
def _(t, w, m):
    return f"{t.Y}.{t.m:02}.{t.d:02} {t.clock}.{t.us:06} [ {n()} ] {{{R.choice(['', '8f5c2b7e-1c1b-4e58-9a8e-0a2f6b3c4d5e'])}}} <{w}> Application: {m}"


@layout("fluentd", {"trace": "trace", "debug": "debug", "info": "info", "warn": "warn", "error": "error", "critical": "fatal"})
def _(t, w, m):
    return f"{t.date} {t.clock} +0000 [{w}]: #0 {m}"


@layout("fluent-bit", {"trace": "trace", "debug": "debug", "info": " info", "warn": " warn", "error": "error"})
def _(t, w, m):
    return f"[{t.slash} {t.clock}] [{w}] [{R.choice(['engine', 'output:es:es.0', 'input:tail:tail.0'])}] {m}"


@layout("logcat", {"trace": "V", "debug": "D", "info": "I", "warn": "W", "error": "E", "critical": "F"})
def _(t, w, m):
    line = f"{t.m:02}-{t.d:02} {t.clock}.{t.ms:03} {n():5} {n():5} {w} ActivityManager: {m}"
    return ("debug", line) if w == "V" else line


@layout("kernel", {level: str(i) for i, level in enumerate(SYSLOG)})
def _(t, w, m):
    return f"<{int(w)}>{m}"


@layout("dmesg", {"unknown": "-"})
def _(t, w, m):
    return f"[{t.mono:>12}] {m}"


@layout("rfc3164", {level: str(i) for i, level in enumerate(SYSLOG)})
def _(t, w, m):
    # A JSON object inside syslog is a log line of its own.
    m = m.replace('{"looks', 'x {"looks')
    return f"<{R.randint(0, 23) * 8 + int(w)}>{t.mon} {t.d:2} {t.clock} node-1 app[{n()}]: {m}"


@layout("rfc5424", {level: str(i) for i, level in enumerate(SYSLOG)})
def _(t, w, m):
    data = R.choice(["-", '[exampleSDID@32473 iut="3" level="error" eventSource="a]b"]'.replace("a]b", "a\\]b")])
    return f"<{R.randint(0, 23) * 8 + int(w)}>1 {t.date}T{t.clock}.{t.us:06}Z host.example app {n()} ID47 {data} {m}"


@layout("syslog-klog", {"info": "I", "warn": "W", "error": "E", "critical": "F"})
def _(t, w, m):
    return f"{t.mon} {t.d:2} {t.clock} node-1 kubelet[{n()}]: {w}{t.m:02}{t.d:02} {t.clock}.{t.us:06} {n():7} {go_file()}] {m}"


@layout("journald-json", {level: str(i) for i, level in enumerate(SYSLOG)})
def _(t, w, m):
    return f'{{"__REALTIME_TIMESTAMP":"{t.epoch}{t.us:06}","PRIORITY":"{w}","SYSLOG_IDENTIFIER":"app","MESSAGE":{json_text(m)},"_PID":"{n()}"}}'


@layout("gelf", {level: str(i) for i, level in enumerate(SYSLOG)})
def _(t, w, m):
    return f'{{"version":"1.1","host":"web","short_message":{json_text(m)},"timestamp":{t.epoch}.{t.ms:03},"level":{w},"_user_id":{n()}}}'


@layout("gcp-json", {"debug": "DEBUG", "info": "INFO", "notice": "NOTICE", "warn": "WARNING", "error": "ERROR", "critical": "CRITICAL", "alert": "ALERT", "emergency": "EMERGENCY", "unknown": "DEFAULT"})
def _(t, w, m):
    return f'{{"severity":"{w}","time":"{t.date}T{t.clock}Z","message":{json_text(m)},"httpRequest":{{"status":500}}}}'


@layout("otel-json", {"trace": "TRACE", "debug": "DEBUG", "info": "INFO", "warn": "WARN", "error": "ERROR", "critical": "FATAL"})
def _(t, w, m):
    number = {"TRACE": 1, "DEBUG": 5, "INFO": 9, "WARN": 13, "ERROR": 17, "FATAL": 21}[w]
    return f'{{"timeUnixNano":"{t.epoch}{t.us:06}000","severityNumber":{number},"severityText":"{w}","body":{json_text(m)},"attributes":{{"level":"error"}}}}'


@layout("ecs", {"debug": "DEBUG", "info": "INFO", "warn": "WARN", "error": "ERROR"})
def _(t, w, m):
    return f'{{"@timestamp":"{t.date}T{t.clock}.{t.ms:03}Z", "log.level": "{w}", "message":{json_text(m)}, "ecs.version": "1.2.0","service.name":"x","event.dataset":"y","process.thread.name":"main","log.logger":"{cls()}"}}'


@layout("monolog-json", {"debug": "DEBUG", "info": "INFO", "notice": "NOTICE", "warn": "WARNING", "error": "ERROR", "critical": "CRITICAL", "alert": "ALERT", "emergency": "EMERGENCY"})
def _(t, w, m):
    number = [100, 200, 250, 300, 400, 500, 550, 600][["DEBUG", "INFO", "NOTICE", "WARNING", "ERROR", "CRITICAL", "ALERT", "EMERGENCY"].index(w)]
    return f'{{"message":{json_text(m)},"context":{{}},"level":{number},"level_name":"{w}","channel":"app","datetime":"{t.date}T{t.clock}.{t.us:06}+00:00","extra":{{}}}}'


@layout("hclog-json", {"trace": "trace", "debug": "debug", "info": "info", "warn": "warn", "error": "error"})
def _(t, w, m):
    return f'{{"@level":"{w}","@message":{json_text(m)},"@module":"vault.core","@timestamp":"{t.date}T{t.clock}.{t.us:06}Z","status":"ok"}}'


@layout("lambda-python", PYTHON)
def _(t, w, m):
    return f"[{w}]\t{t.date}T{t.clock}.{t.ms:03}Z\t8f5c2b7e-1c1b-4e58-9a8e-0a2f6b3c4d5e\t{m}"


@layout("lambda-node", UPPER5 | {"critical": "FATAL"})
def _(t, w, m):
    return f"{t.date}T{t.clock}.{t.ms:03}Z\t8f5c2b7e-1c1b-4e58-9a8e-0a2f6b3c4d5e\t{w}\t{m}"


@layout("aws-lambda-powertools", PYTHON)
def _(t, w, m):
    return f'{{"level":"{w}","location":"handler:12","message":{json_text(m)},"timestamp":"{t.date} {t.clock},{t.ms:03}+0000","service":"x"}}'


@layout("go-panic", {"critical": ""})
def _(t, w, m):
    head = R.choice(["panic: runtime error: index out of range [5] with length 3", f"panic: {m}", "fatal error: concurrent map writes", "panic: runtime error: invalid memory address or nil pointer dereference\n[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x47]"])
    return head + f"\n\ngoroutine {n()} [running]:\nmain.(*Info).error(...)\n\t/app/{go_file()} +0x1d\nmain.main()\n\t/app/main.go:5 +0x1d\nexit status 2"


@layout("java-trace", {"error": ""})
def _(t, w, m):
    return f'Exception in thread "main" java.lang.IllegalStateException: {m}\n\tat {cls()}.run(App.java:{n()})\n\tat java.base/java.lang.Thread.run(Thread.java:840)\nCaused by: java.io.IOException: info\n\t... {R.randint(1, 30)} more'


@layout("python-trace", {"error": ""})
def _(t, w, m):
    return f'Traceback (most recent call last):\n  File "/app/main.py", line {n()}, in <module>\n    run()\nValueError: {m}'


@layout("rust-panic", {"critical": ""})
def _(t, w, m):
    return f"thread 'main' panicked at src/main.rs:{n()}:5:"


@layout("go-log", {"unknown": ""})
def _(t, w, m):
    if m.startswith("[ERROR]"):
        m = "x " + m
    return f"{t.slash} {t.clock}{R.choice(['', f'.{t.us:06}'])} {R.choice(['', go_file() + ': '])}{m if not m.startswith('key=') else 'x ' + m}"


@layout("plain", {"unknown": ""})
def _(t, w, m):
    if m.startswith(("[ERROR]", "{", "key=", "level=")):
        m = "x " + m
    return m


@layout("kubectl-timestamps", {"info": "I", "warn": "W", "error": "E"})
def _(t, w, m):
    return f"{t.date}T{t.clock}.{t.us:06}123Z {w}{t.m:02}{t.d:02} {t.clock}.{t.us:06} {n():7} {go_file()}] {m}"


def main():
    for format, (words, function) in FORMATS.items():
        lines = []
        labels = list(words)
        for i in range(N_LINES):
            label = labels[i % len(labels)]
            made = function(T(), words[label], R.choice(MESSAGES))
            if isinstance(made, tuple):
                label, made = made
            lines += [(label, part) for part in made.split("\n")]
        write(sys.argv[1], format, lines)


main()
