//! The formats we tell apart, by the name of the logger or program whose default layout they are.

macro_rules! formats {
    ($($doc:literal $variant:ident = $name:literal,)+) => {
        /// The layout of a line.
        ///
        /// A family shares one name where its members cannot be told apart by looking: `kafka` is any log4j line of
        /// the shape `[time] LEVEL message`.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Format {
            #[default]
            $(#[doc = $doc] $variant,)+
        }

        /// Every format, `Plain` first.
        pub const FORMATS: &[Format] = &[$(Format::$variant),+];

        impl Format {
            /// The name used in output, metrics and the corpus: lower case with dashes.
            pub fn name(self) -> &'static str {
                match self {
                    $(Format::$variant => $name,)+
                }
            }

            /// The format of an exact [`Format::name`].
            pub fn from_name(name: &str) -> Option<Format> {
                FORMATS.iter().copied().find(|format| format.name() == name)
            }
        }
    };
}

formats! {
    "Text without a header we know."
    Plain = "plain",
    "An empty line."
    Empty = "empty",
    "A line that only continues an earlier one: a stack frame, an indented block."
    Continuation = "continuation",
    "Kubernetes' klog: `I0911 07:22:25.408586       1 file.go:930] message`."
    Klog = "klog",
    "glog and abseil with a year: `I20260911 07:22:25.408586 1 file.cc:9] message`."
    Glog = "glog",
    "CockroachDB: `I260911 07:22:25.408586 1 util/log.go:12 [n1] 1 message`."
    Cockroach = "cockroach",
    "TensorFlow and XLA: `2026-09-11 07:22:25.408586: I path/file.cc:42] message`."
    TensorFlow = "tensorflow",
    "Chromium and Electron: `[1:2:0911/072225.408586:ERROR:file.cc(12)] message`."
    Chromium = "chromium",
    "Kubernetes components with `--logging-format=json`; they carry no level key."
    KubernetesJson = "k8s-json",
    "zap's console encoder, tabs or spaces: `TIME<TAB>LEVEL<TAB>logger<TAB>file.go:1<TAB>message<TAB>{}`."
    ZapConsole = "zap-console",
    "zap's JSON encoder: `level`, `ts`, `msg`."
    ZapJson = "zap-json",
    "logrus when it does not write to a terminal: `time=… level=… msg=…`."
    LogrusText = "logrus-text",
    "logrus on a terminal: `WARN[0003] message  key=value`."
    LogrusTty = "logrus-tty",
    "logrus' JSON formatter: `level`, `msg`, `time`."
    LogrusJson = "logrus-json",
    "Go's slog text handler: `time=… level=INFO msg=…`."
    SlogText = "slog-text",
    "Go's slog JSON handler: `time`, `level` in capitals, `msg`."
    SlogJson = "slog-json",
    "Go's slog default handler: `2026/09/11 07:22:25 INFO message key=value`."
    SlogDefault = "slog-default",
    "Go's `log` package, which has no levels: `2026/09/11 07:22:25 message`."
    GoLog = "go-log",
    "Go's `log` package with a level in brackets: `2026/09/11 07:22:25 [WARN] message`."
    Logutils = "logutils",
    "Go's `log` package with a level as prefix: `ERROR: 2026/09/11 07:22:25 message`."
    GoPrefix = "go-prefix",
    "A Go panic, fatal error or goroutine dump."
    GoPanic = "go-panic",
    "HashiCorp's hclog: `2026-09-11T07:22:25.408Z [INFO]  name: message`."
    Hclog = "hclog",
    "hclog as JSON: `@level`, `@message`, `@timestamp`."
    HclogJson = "hclog-json",
    "zerolog: `level`, `time`, `message`."
    ZerologJson = "zerolog-json",
    "zerolog's console writer: `10:45AM INF message key=value`."
    ZerologConsole = "zerolog-console",
    "log15 logfmt: `t=… lvl=eror msg=…`."
    Log15 = "log15",
    "log15 and go-ethereum on a terminal: `INFO [09-11|07:22:25.408] message key=value`."
    Geth = "geth",
    "go-kit and Prometheus logfmt: `ts=… caller=… level=…`."
    GoKit = "go-kit",
    "Grafana: `logger=… t=… level=… msg=…`."
    Grafana = "grafana",
    "Other `key=value` lines."
    Logfmt = "logfmt",
    "CoreDNS and others that start with the level in brackets: `[INFO] plugin/reload: message`."
    Coredns = "coredns",
    "CoreOS' capnslog: `2026-09-11 07:22:25.408586 I | etcdserver: message`."
    Capnslog = "capnslog",
    "NATS: `[1] 2026/09/11 07:22:25.408586 [INF] message`."
    Nats = "nats",
    "TiDB, TiKV, PD: `[2026/09/11 07:22:25.408 +00:00] [INFO] [file.go:1] [\"message\"] [key=value]`."
    Pingcap = "pingcap",
    "Calico: `2026-09-11 07:22:25.408 [INFO][1] felix/file.go 12: message`."
    Calico = "calico",
    "Telegraf: `2026-09-11T07:22:25Z I! message`."
    Telegraf = "telegraf",
    "The Datadog Agent: `2026-09-11 07:22:25 UTC | CORE | INFO | (file.go:1 in F) | message`."
    DatadogAgent = "datadog-agent",
    "Envoy: `[2026-09-11 07:22:25.408][1][info][main] [file.cc:412] message`."
    Envoy = "envoy",
    "spdlog: `[2026-09-11 07:22:25.408] [logger] [info] message`."
    Spdlog = "spdlog",
    "Logback: `07:22:25.408 [main] INFO  c.e.App - message`, with or without a date."
    Logback = "logback",
    "Spring Boot: `2026-09-11T07:22:25.408Z  INFO 1 --- [main] c.e.App : message`."
    SpringBoot = "spring-boot",
    "log4j as Kafka sets it up: `[2026-09-11 07:22:25,408] INFO message (class)`."
    Kafka = "kafka",
    "log4j and Python lines of the shape `2026-09-11 07:22:25,408 INFO  class: message`."
    Log4j = "log4j",
    "ZooKeeper: `2026-09-11 07:22:25,408 [myid:] - INFO  [main:Class@1] - message`."
    Zookeeper = "zookeeper",
    "Spark: `26/09/11 07:22:25 INFO Class: message`."
    Spark = "spark",
    "Elasticsearch, OpenSearch, Logstash, Kibana: `[2026-09-11T07:22:25,408][INFO ][logger] message`."
    Elasticsearch = "elasticsearch",
    "Elastic Common Schema as JSON: `@timestamp`, `log.level`, `message`."
    Ecs = "ecs",
    "logstash-logback-encoder: `@timestamp`, `level`, `logger_name`, `thread_name`."
    LogstashJson = "logstash-json",
    "log4j2's JSON layouts: `level`, `loggerName`, `instant` or `timeMillis`."
    Log4j2Json = "log4j2-json",
    "`java.util.logging`: a line with the time, then `INFO: message`."
    Jul = "jul",
    "WildFly and Quarkus: `07:22:25,408 INFO  [org.jboss.as] (main) message`."
    Jboss = "jboss",
    "Cassandra: `INFO  [main] 2026-09-11 07:22:25,408 File.java:1 - message`."
    Cassandra = "cassandra",
    "Tomcat: `11-Sep-2026 07:22:25.408 INFO [main] class.method message`."
    Tomcat = "tomcat",
    "Jenkins: `2026-09-11 07:22:25.408+0000 [id=1]<TAB>INFO<TAB>class#method: message`."
    Jenkins = "jenkins",
    "The JVM's unified logging: `[0.012s][info][gc] message`."
    JvmGc = "jvm-unified",
    "A Java exception without a header."
    JavaTrace = "java-trace",
    "Python's `basicConfig`: `WARNING:root:message`."
    PythonBasic = "python-basic",
    "Python with dashes: `2026-09-11 07:22:25,408 - name - LEVEL - message`."
    PythonDash = "python-dash",
    "Gunicorn: `[2026-09-11 07:22:25 +0000] [1] [INFO] message`."
    Gunicorn = "gunicorn",
    "Uvicorn: `INFO:     message`."
    Uvicorn = "uvicorn",
    "loguru: `2026-09-11 07:22:25.408 | SUCCESS  | module:function:1 - message`."
    Loguru = "loguru",
    "loguru's `serialize`: the level stands under `record`."
    LoguruJson = "loguru-json",
    "Airflow: `[2026-09-11T07:22:25.408+0000] {file.py:1} INFO - message`."
    Airflow = "airflow",
    "Celery: `[2026-09-11 07:22:25,408: INFO/MainProcess] message`."
    Celery = "celery",
    "Jupyter and Tornado: `[I 2026-09-11 07:22:25.408 ServerApp] message`."
    Tornado = "tornado",
    "structlog's console renderer: `2026-09-11 07:22:25 [info     ] message  key=value`."
    StructlogConsole = "structlog-console",
    "structlog as JSON: `event`, `level`."
    StructlogJson = "structlog-json",
    "JSON from Python's logging: `levelname`, `asctime`, `message`."
    PythonJson = "python-json",
    "Odoo: `2026-09-11 07:22:25,408 1 INFO db module: message`."
    Odoo = "odoo",
    "A Python traceback without a header."
    PythonTrace = "python-trace",
    "Ruby's Logger: `I, [2026-09-11T07:22:25.408586 #1]  INFO -- : message`."
    RubyLogger = "ruby-logger",
    "Sidekiq: `2026-09-11T07:22:25.408Z pid=1 tid=abc INFO: message`."
    Sidekiq = "sidekiq",
    "Rust's tracing: `2026-09-11T07:22:25.408586Z  INFO target: message`."
    Tracing = "tracing",
    "Rust's tracing as JSON: `timestamp`, `level`, `fields`, `target`."
    TracingJson = "tracing-json",
    "Rust's tracing with uptime: `[     0.001234s]  INFO ThreadId(01) target: message`."
    TracingUptime = "tracing-uptime",
    "Rust's env_logger: `[2026-09-11T07:22:25Z INFO  module] message`."
    EnvLogger = "env-logger",
    "Rust's slog-term: `Sep 11 07:22:25.408 INFO message, key: value`."
    SlogRs = "slog-rs",
    "A Rust panic message."
    RustPanic = "rust-panic",
    ".NET's console logger: `info: Category[0]` and an indented line."
    DotnetConsole = "dotnet-console",
    ".NET's JSON console logger: `LogLevel`, `Category`, `Message`."
    DotnetJson = "dotnet-json",
    "An unhandled .NET exception."
    DotnetTrace = "dotnet-trace",
    "Serilog: `[07:22:25 INF] message` or `2026-09-11 07:22:25.408 +00:00 [INF] message`."
    SerilogText = "serilog-text",
    "Serilog's compact JSON: `@t`, `@mt`, `@l`, where no `@l` means Information."
    SerilogJson = "serilog-json",
    "NLog: `2026-09-11 07:22:25.4085|INFO|Logger|message`."
    Nlog = "nlog",
    "pino: numeric `level`, `time` in milliseconds, `pid`, `hostname`."
    Pino = "pino",
    "pino-pretty: `[07:22:25.408] INFO (1): message`."
    PinoPretty = "pino-pretty",
    "bunyan: numeric `level`, `v`, `time` as text."
    Bunyan = "bunyan",
    "winston's JSON format: `level`, `message`."
    WinstonJson = "winston-json",
    "`level: message`, as winston's simple format and many command line tools write."
    WinstonSimple = "winston-simple",
    "log4js: `[2026-09-11T07:22:25.408] [INFO] default - message`."
    Log4js = "log4js",
    "NestJS: `[Nest] 1  - 09/11/2026, 7:22:25 AM     LOG [Class] message`."
    Nestjs = "nestjs",
    "npm: `npm warn deprecated …`."
    Npm = "npm",
    "An uncaught JavaScript error."
    NodeTrace = "node-trace",
    "PHP's Monolog: `[2026-09-11T07:22:25.408586+00:00] app.INFO: message [] []`."
    Monolog = "monolog",
    "Monolog as JSON: `level_name`, `channel`, `datetime`."
    MonologJson = "monolog-json",
    "php-fpm: `[11-Sep-2026 07:22:25] NOTICE: message`."
    PhpFpm = "php-fpm",
    "PHP's own errors: `PHP Warning:  message in file on line 1`."
    PhpError = "php-error",
    "Elixir: `07:22:25.408 [info] message`."
    Elixir = "elixir",
    "Erlang/OTP reports: `=INFO REPORT==== 11-Sep-2026::07:22:25.408586 ===`."
    ErlangReport = "erlang-report",
    "RabbitMQ: `2026-09-11 07:22:25.408586+00:00 [info] <0.1.0> message`."
    Rabbitmq = "rabbitmq",
    "nginx's error log: `2026/09/11 07:22:25 [warn] 7#7: message`."
    NginxError = "nginx-error",
    "Apache and nginx access logs, which have no level."
    AccessLog = "access-log",
    "Apache's error log: `[Fri Sep 11 07:22:25.408586 2026] [core:error] [pid 1:tid 2] message`."
    ApacheError = "apache-error",
    "HAProxy: `[NOTICE]   (1) : message`."
    Haproxy = "haproxy",
    "PostgreSQL: `2026-09-11 07:22:25.408 UTC [1] LOG:  message`."
    Postgres = "postgres",
    "Redis and Valkey: `1:M 11 Sep 2026 07:22:25.408 * message`."
    Redis = "redis",
    "MySQL and MariaDB: `2026-09-11T07:22:25.408586Z 0 [Warning] [MY-010068] [Server] message`."
    Mysql = "mysql",
    "MongoDB's JSON: `t`, `s`, `c`, `id`, `ctx`, `msg`."
    Mongodb = "mongodb",
    "ClickHouse: `2026.09.11 07:22:25.408586 [ 1 ] {} <Information> Application: message`."
    Clickhouse = "clickhouse",
    "Fluentd: `2026-09-11 07:22:25 +0000 [info]: message`."
    Fluentd = "fluentd",
    "Fluent Bit: `[2026/09/11 07:22:25] [ info] [engine] message`."
    FluentBit = "fluent-bit",
    "Open vSwitch: `2026-09-11T07:22:25.408Z|00001|module|INFO|message`."
    Ovs = "ovs",
    "Android: `09-11 07:22:25.408  1  2 I Tag: message`."
    Logcat = "logcat",
    "A bare syslog priority, as systemd and the kernel use: `<3>message`."
    Kernel = "kernel",
    "The kernel's own time stamp without a priority: `[    0.000000] message`."
    Dmesg = "dmesg",
    "BSD syslog: `<13>Sep 11 07:22:25 host tag[1]: message`, with or without priority."
    Rfc3164 = "rfc3164",
    "Syslog: `<165>1 2026-09-11T07:22:25Z host app 1 id - message`."
    Rfc5424 = "rfc5424",
    "`journalctl -o json`: `PRIORITY`, `MESSAGE`."
    JournaldJson = "journald-json",
    "Graylog: `version`, `short_message`, numeric `level`."
    Gelf = "gelf",
    "Google Cloud's `severity` key."
    GcpJson = "gcp-json",
    "OpenTelemetry records as JSON: `severityText`, `severityNumber`."
    OtelJson = "otel-json",
    "AWS Lambda: `[INFO]<TAB>time<TAB>request<TAB>message`, or `time<TAB>request<TAB>INFO<TAB>message`."
    Lambda = "lambda",
    "Other JSON objects."
    Json = "json",
    "A time and a level in brackets, otherwise unknown."
    Bracketed = "bracketed",
    "A time and a level word, otherwise unknown."
    Leveled = "leveled",
    "A time, but no level."
    Dated = "dated",
    "A level word in front, otherwise unknown."
    LevelWord = "level-word",
}
