//! One table of lines for the whole crate, then the laws that hold for every line.

use proptest::prelude::*;

use crate::{Format, Hint, Level, Record, Source, classify};

fn read(line: &str) -> Record {
    classify(line.as_bytes(), &Hint::default())
}

fn check(table: &[(&str, Level, Format)]) {
    let mut wrong = Vec::new();
    for (line, level, format) in table {
        let record = read(line);
        if (record.level, record.format) != (*level, *format) {
            wrong.push(format!(
                "{line:?}\n   is {:?} {:?}, should be {level:?} {format:?}",
                record.level, record.format
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} lines are misread:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

use Format::*;
use Level::{Critical, Debug, Error, Info, Notice, Trace, Unknown, Warn};

#[test]
fn the_samples_of_the_article_have_the_level_they_declare() {
    check(&[
        (
            r#"I0911 07:22:25.408586       1 cni_writer.go:930] Successfully synced "gke-x-nod-1""#,
            Info,
            Klog,
        ),
        (
            r#"E0911 07:10:07.225293       1 base_controller.go:161] "controller failed to sync" err="..." key="image-sync""#,
            Error,
            Klog,
        ),
        (
            "2026-09-11T07:19:45Z\tINFO\tcontrollers.Spoke\trequeueing\t{\"request\": {\"name\":\"xxx\"}, \"after\": \"1m0s\"}",
            Info,
            ZapConsole,
        ),
        (
            r#"2026-09-11T04:39:22.159Z error logging/logging.go:16 NodeCollector: Failed to export metrics {"kind": "receiver"}"#,
            Error,
            ZapConsole,
        ),
        (
            "time=2026-09-11T06:13:28Z level=info msg=Reconciling subsys=sfc reasons=[...]",
            Info,
            LogrusText,
        ),
        (
            r#"time="2026-10-13T05:58:18Z" level=INFO msg="structured logger configured" caller="..." error="...""#,
            Info,
            LogrusText,
        ),
    ]);
}

#[test]
fn defect_1_every_word_for_a_level_counts_not_only_those_of_logrus() {
    check(&[
        (
            "time=2026-09-11T07:22:25Z level=warn msg=x",
            Warn,
            LogrusText,
        ),
        (
            "ts=2026-09-11T07:22:25Z caller=main.go:1 level=warn msg=x",
            Warn,
            GoKit,
        ),
        ("t=2026-09-11T07:22:25+0000 lvl=eror msg=x", Error, Log15),
        ("t=2026-09-11T07:22:25+0000 lvl=dbug msg=x", Debug, Log15),
        ("t=2026-09-11T07:22:25+0000 lvl=crit msg=x", Critical, Log15),
        ("level=notice msg=x", Notice, LogrusText),
        ("level=err msg=x", Error, LogrusText),
        ("ts=1 level=dpanic msg=x", Critical, GoKit),
    ]);
}

#[test]
fn defect_2_the_level_may_stand_anywhere_in_a_logfmt_line() {
    check(&[
        (
            r#"ts=2026-09-11T07:22:25.408Z caller=main.go:12 level=info msg="Starting Prometheus""#,
            Info,
            GoKit,
        ),
        (
            "logger=sqlstore t=2026-09-11T07:22:25.408Z level=warn msg=Connecting",
            Warn,
            Grafana,
        ),
        (r#"msg="cache miss" key=a level=debug"#, Debug, LogrusText),
        ("component=api lvl=info msg=x", Info, Logfmt),
        ("a=1 b=2 c=3 d=4 e=5 f=6 g=7 severity=ERROR", Error, Logfmt),
    ]);
}

#[test]
fn defect_3_a_quoted_time_may_hold_a_space() {
    check(&[(
        r#"time="2026-10-13 05:58:18" level=warning msg="x""#,
        Warn,
        LogrusText,
    )]);
}

#[test]
fn defect_4_zap_writes_many_kinds_of_time_and_level() {
    check(&[
        (
            "2026-09-11T04:39:22.159+0900\tWARN\tx\tmessage",
            Warn,
            ZapConsole,
        ),
        (
            "1.789111345408586e+09\terror\tcaller.go:1\tmessage",
            Error,
            ZapConsole,
        ),
        ("1789111345.408586\tinfo\tmessage", Info, ZapConsole),
        (
            "2026-09-11T04:39:22.159Z\t\x1b[34mINFO\x1b[0m\tmessage",
            Info,
            ZapConsole,
        ),
        (
            "2026-09-11T04:39:22.159Z\tLevel(-2)\tmessage",
            Trace,
            ZapConsole,
        ),
        (
            "2026-09-11T04:39:22.159Z\tLEVEL(-3)\tsetup\tmessage",
            Trace,
            ZapConsole,
        ),
        (
            "2026-09-11T04:39:22.159Z\tDPANIC\tmessage",
            Critical,
            ZapConsole,
        ),
        ("INFO\t2026-09-11T04:39:22.159Z\tmessage", Info, LevelWord),
    ]);
}

#[test]
fn defect_5_headers_of_the_klog_family_come_with_years_directories_and_brackets() {
    check(&[
        ("I20260911 07:22:25.408586 1 file.cc:12] x", Info, Glog),
        ("W0911 07:22:25.408586 1 dir/file.go:12] x", Warn, Klog),
        ("E0911 07:22:25.408586       1 a[1]b].go:12] x", Error, Klog),
        (
            "I260911 07:22:25.408586 1 util/log.go:12 [n1] 1  x",
            Info,
            Cockroach,
        ),
        ("F0911 07:22:25.408586 1234567 file.go:1] x", Critical, Klog),
    ]);
}

#[test]
fn defect_6_continuation_lines_take_the_level_of_their_record() {
    let mut hint = Hint::default();
    hint.learn(&classify(
        b"W0911 07:22:25.408586 1 a.go:1] \"x\" err=<",
        &hint,
    ));
    for line in [
        "\tdetail",
        " >",
        "    at x (y.js:1:2)",
        "Caused by: java.io.IOException: x",
        "  File \"x\", line 1",
    ] {
        let record = classify(line.as_bytes(), &hint);
        assert_eq!(
            (record.level, record.source, record.format),
            (Warn, Source::Inherited, Continuation),
            "{line}"
        );
    }
}

#[test]
fn defect_7_kubernetes_json_says_its_level_by_v_and_err() {
    check(&[
        (
            r#"{"ts":1789111345408.586,"caller":"a/b.go:1","msg":"Pod status","v":0,"pod":{"name":"x"}}"#,
            Info,
            KubernetesJson,
        ),
        (
            r#"{"ts":1789111345408.586,"logger":"sched","caller":"a/b.go:1","msg":"x","v":4}"#,
            Info,
            KubernetesJson,
        ),
        (
            r#"{"ts":1789111345408.586,"caller":"a/b.go:1","msg":"Failed","err":"timeout"}"#,
            Error,
            KubernetesJson,
        ),
        (
            r#"{"ts":1789111345408.586,"caller":"a/b.go:1","msg":"Failed"}"#,
            Error,
            KubernetesJson,
        ),
        (
            r#"{"ts":"2026-09-11T07:22:25Z","msg":"no level at all"}"#,
            Unknown,
            Json,
        ),
    ]);
}

#[test]
fn defect_8_the_numbers_of_pino_and_bunyan_are_levels() {
    check(&[
        (
            r#"{"level":10,"time":1789111345408,"pid":1,"hostname":"h","msg":"x"}"#,
            Trace,
            Pino,
        ),
        (
            r#"{"level":40,"time":1789111345408,"pid":1,"hostname":"h","msg":"x"}"#,
            Warn,
            Pino,
        ),
        (
            r#"{"level":60,"time":1789111345408,"pid":1,"hostname":"h","msg":"x"}"#,
            Critical,
            Pino,
        ),
        (
            r#"{"name":"a","hostname":"h","pid":1,"level":50,"msg":"x","time":"2026-09-11T07:22:25.408Z","v":0}"#,
            Error,
            Bunyan,
        ),
        (r#"{"level":3,"msg":"whose three is this"}"#, Unknown, Json),
    ]);
}

#[test]
fn defect_9_prose_that_begins_like_a_rule_is_not_split() {
    check(&[
        ("I0 is ready", Unknown, Plain),
        ("E0911 failed to get info", Unknown, Plain),
        ("I0911 07:22:25 is when it happened", Unknown, Plain),
        (
            "I1399 07:22:25.408586 1 a.go:1] thirteenth month",
            Unknown,
            Plain,
        ),
        ("level=info is what the manual says", Unknown, Plain),
        ("error in line 3", Unknown, Plain),
        ("Error: connection refused", Error, WinstonSimple),
        ("INFORMATION overload", Unknown, Plain),
        (
            "2026/09/11 07:22:25 Error connecting to database",
            Unknown,
            GoLog,
        ),
        ("warnings were raised", Unknown, Plain),
        ("panic in the streets", Unknown, Plain),
        ("goroutine leak detected", Unknown, Plain),
        ("at least one", Unknown, Plain),
        ("0 errors found", Unknown, Plain),
        ("[config] loading", Unknown, Plain),
        ("ok: [host]", Unknown, Plain),
        ("{not json}", Unknown, Plain),
        ("<html>", Unknown, Plain),
        ("", Unknown, Empty),
        ("   ", Unknown, Empty),
    ]);
}

#[test]
fn words_inside_messages_are_never_levels() {
    check(&[
        (
            r#"level=info msg="level=error is not the level""#,
            Info,
            LogrusText,
        ),
        (
            r#"msg="level=error is not the level" level=info"#,
            Info,
            LogrusText,
        ),
        (
            r#"{"msg":"\"level\":\"error\"","level":"info"}"#,
            Info,
            Json,
        ),
        (
            r#"{"request":{"level":"error"},"msg":"x","time":1,"level":"debug"}"#,
            Debug,
            LogrusJson,
        ),
        (
            r#"{"message":"x","response":{"severity":"ERROR"}}"#,
            Unknown,
            Json,
        ),
        (
            "2026/09/11 07:22:25 finished with ERROR count 0",
            Unknown,
            GoLog,
        ),
        (
            "2026-09-11 07:22:25 job finished, 0 ERROR lines",
            Unknown,
            Dated,
        ),
        ("level=info level=error msg=x", Info, LogrusText),
    ]);
}

#[test]
fn go_loggers() {
    check(&[
        (
            r#"{"level":"info","ts":1789111345.408586,"caller":"a.go:1","msg":"x"}"#,
            Info,
            ZapJson,
        ),
        (
            r#"{"level":"Level(-2)","ts":"2026-09-11T07:22:25Z","logger":"l","msg":"x","controller":"c","reconcileID":"1"}"#,
            Trace,
            ZapJson,
        ),
        (
            r#"{"level":"warning","msg":"x","time":"2026-09-11T07:22:25Z"}"#,
            Warn,
            LogrusJson,
        ),
        (
            "WARN[0003] message                                       key=value",
            Warn,
            LogrusTty,
        ),
        ("ERRO[2026-09-11T07:22:25Z] message", Error, LogrusTty),
        (
            "\x1b[36mINFO\x1b[0m[0003] message   \x1b[36mkey\x1b[0m=value",
            Info,
            LogrusTty,
        ),
        (
            "time=2026-09-11T07:22:25.408Z level=WARN+1 msg=x",
            Warn,
            SlogText,
        ),
        (
            "time=2026-09-11T07:22:25.408Z level=DEBUG-4 msg=x",
            Trace,
            SlogText,
        ),
        (
            r#"{"time":"2026-09-11T07:22:25.408Z","level":"ERROR+4","msg":"x"}"#,
            Critical,
            SlogJson,
        ),
        (
            "2026/09/11 07:22:25 WARN message key=value",
            Warn,
            SlogDefault,
        ),
        ("2026/09/11 07:22:25 message", Unknown, GoLog),
        (
            "2026/09/11 07:22:25.408586 main.go:12: message",
            Unknown,
            GoLog,
        ),
        ("2026/09/11 07:22:25 [WARN] consul: message", Warn, Logutils),
        (
            "ERROR: 2026/09/11 07:22:25 main.go:12: message",
            Error,
            GoPrefix,
        ),
        (
            "2026-09-11T07:22:25.408Z [INFO]  agent: message: key=value",
            Info,
            Hclog,
        ),
        (
            r#"{"@level":"warn","@message":"x","@module":"core","@timestamp":"2026-09-11T07:22:25.408Z"}"#,
            Warn,
            HclogJson,
        ),
        (
            r#"{"level":"error","time":"2026-09-11T07:22:25Z","message":"x"}"#,
            Error,
            ZerologJson,
        ),
        ("10:45AM INF message key=value", Info, ZerologConsole),
        (
            "\x1b[90m10:45AM\x1b[0m \x1b[31mERR\x1b[0m message \x1b[36mkey=\x1b[0mvalue",
            Error,
            ZerologConsole,
        ),
        ("2026-09-11T07:22:25Z WRN message", Warn, ZerologConsole),
        (
            "INFO [09-11|07:22:25.408] Imported new chain segment  number=1",
            Info,
            Geth,
        ),
        ("[INFO] plugin/reload: Running configuration", Info, Coredns),
        ("[ERROR] plugin/errors: 2 x. A: read udp", Error, Coredns),
        (
            "2026-09-11 07:22:25.408586 W | etcdserver: message",
            Warn,
            Capnslog,
        ),
        (
            "[1] 2026/09/11 07:22:25.408586 [INF] Starting nats-server",
            Info,
            Nats,
        ),
        (
            r#"[2026/09/11 07:22:25.408 +00:00] [WARN] [server.go:1] ["message"] [key=value]"#,
            Warn,
            Pingcap,
        ),
        (
            "2026-09-11 07:22:25.408 [INFO][1] felix/int_dataplane.go 12: message",
            Info,
            Calico,
        ),
        (
            "2026-09-11T07:22:25Z W! [inputs.cpu] message",
            Warn,
            Telegraf,
        ),
        (
            "2026-09-11 07:22:25 UTC | CORE | WARN | (pkg/a.go:1 in F) | message",
            Warn,
            DatadogAgent,
        ),
        (
            "panic: runtime error: index out of range [5] with length 3",
            Critical,
            GoPanic,
        ),
        (
            "fatal error: all goroutines are asleep - deadlock!",
            Critical,
            GoPanic,
        ),
        ("goroutine 1 [running]:", Critical, GoPanic),
        (
            "2026-09-11T07:22:25.408586Z\tinfo\tads\tPush debounce stable",
            Info,
            ZapConsole,
        ),
    ]);
}

#[test]
fn java_and_its_relatives() {
    check(&[
        ("07:22:25.408 [main] INFO  c.e.App - message", Info, Logback),
        (
            "2026-09-11 07:22:25.408 [http-nio-8080-exec-1] ERROR c.e.App - message",
            Error,
            Logback,
        ),
        (
            "2026-09-11T07:22:25,408+0000 [main] WARN  org.apache.pulsar.X - message",
            Warn,
            Logback,
        ),
        ("[main] INFO org.example.App - message", Info, Logback),
        (
            "2026-09-11T07:22:25.408Z  INFO 1 --- [           main] c.e.App                  : message",
            Info,
            SpringBoot,
        ),
        (
            "2026-09-11T07:22:25.408Z ERROR 1 --- [app] [main] c.e.App : message",
            Error,
            SpringBoot,
        ),
        (
            "[2026-09-11 07:22:25,408] INFO message (kafka.server.KafkaServer)",
            Info,
            Kafka,
        ),
        (
            "2026-09-11 07:22:25,408 WARN  org.apache.hadoop.X: message",
            Warn,
            Log4j,
        ),
        (
            "2026-09-11 07:22:25,408 [myid:1] - INFO  [main:QuorumPeer@1] - message",
            Info,
            Zookeeper,
        ),
        (
            "2026-09-11 07:22:25,408 [myid:] - INFO  [main:X@1] - message",
            Info,
            Zookeeper,
        ),
        ("26/09/11 07:22:25 WARN SparkContext: message", Warn, Spark),
        (
            "[2026-09-11T07:22:25,408][WARN ][o.e.n.Node] [node] message",
            Warn,
            Elasticsearch,
        ),
        (
            r#"{"@timestamp":"2026-09-11T07:22:25.408Z", "log.level": "WARN", "message":"x", "ecs.version": "1.2.0"}"#,
            Warn,
            Ecs,
        ),
        (
            r#"{"@timestamp":"2026-09-11T07:22:25.408Z","log":{"level":"error","logger":"x"},"message":"x"}"#,
            Error,
            Ecs,
        ),
        (
            r#"{"@timestamp":"2026-09-11T07:22:25.408Z","@version":"1","message":"x","logger_name":"a","thread_name":"main","level":"INFO","level_value":20000}"#,
            Info,
            LogstashJson,
        ),
        (
            r#"{"instant":{"epochSecond":1,"nanoOfSecond":2},"thread":"main","level":"WARN","loggerName":"a","message":"x"}"#,
            Warn,
            Log4j2Json,
        ),
        ("Sep 11, 2026 7:22:25 AM com.example.Main run", Unknown, Jul),
        ("SEVERE: message", Error, Jul),
        ("INFO: message", Info, Jul),
        (
            "07:22:25,408 INFO  [org.jboss.as] (main) message",
            Info,
            Jboss,
        ),
        (
            "2026-09-11 07:22:25,408 WARN  [io.quarkus] (main) message",
            Warn,
            Jboss,
        ),
        (
            "INFO  [main] 2026-09-11 07:22:25,408 Class.java:123 - message",
            Info,
            Cassandra,
        ),
        (
            "11-Sep-2026 07:22:25.408 SEVERE [main] org.apache.catalina.X.y message",
            Error,
            Tomcat,
        ),
        (
            "2026-09-11 07:22:25.408+0000 [id=1]\tWARNING\thudson.X#y: message",
            Warn,
            Jenkins,
        ),
        ("[0.012s][info][gc] Using G1", Info, JvmGc),
        ("[0.012s][warning][gc,heap] x", Warn, JvmGc),
        (
            r#"Exception in thread "main" java.lang.IllegalStateException: x"#,
            Error,
            JavaTrace,
        ),
        ("java.lang.IllegalStateException: x", Error, JavaTrace),
    ]);
}

#[test]
fn python_and_ruby() {
    check(&[
        ("WARNING:root:message", Warn, PythonBasic),
        ("CRITICAL:a.b:message", Critical, PythonBasic),
        (
            "2026-09-11 07:22:25,408 - name - ERROR - message",
            Error,
            PythonDash,
        ),
        (
            "[2026-09-11 07:22:25 +0000] [1] [WARNING] message",
            Warn,
            Gunicorn,
        ),
        ("INFO:     Application startup complete.", Info, Uvicorn),
        (
            "2026-09-11 07:22:25.408 | SUCCESS  | mod:fn:1 - message",
            Info,
            Loguru,
        ),
        (
            r#"{"text": "x", "record": {"elapsed": {"repr": "0"}, "level": {"icon": "i", "name": "WARNING", "no": 30}, "message": "x"}}"#,
            Warn,
            LoguruJson,
        ),
        (
            "[2026-09-11T07:22:25.408+0000] {taskinstance.py:123} INFO - message",
            Info,
            Airflow,
        ),
        (
            "[2026-09-11 07:22:25,408: WARNING/MainProcess] message",
            Warn,
            Celery,
        ),
        (
            "2026-09-11 07:22:25 [error    ] message     key=value",
            Error,
            StructlogConsole,
        ),
        (
            "2026-09-11T07:22:25.408586Z [info     ] message     key=value",
            Info,
            StructlogConsole,
        ),
        (
            r#"{"event": "x", "level": "warning", "timestamp": "2026-09-11T07:22:25Z"}"#,
            Warn,
            StructlogJson,
        ),
        (
            r#"{"asctime": "2026-09-11 07:22:25,408", "levelname": "ERROR", "message": "x"}"#,
            Error,
            PythonJson,
        ),
        (
            "2026-09-11 07:22:25,408 1 WARNING db odoo.x: message",
            Warn,
            Odoo,
        ),
        (
            "[I 2026-09-11 07:22:25.408 ServerApp] message",
            Info,
            Tornado,
        ),
        ("[W 260911 07:22:25 web:2246] 404 GET /", Warn, Tornado),
        ("Traceback (most recent call last):", Error, PythonTrace),
        (
            "I, [2026-09-11T07:22:25.408586 #1]  INFO -- : message",
            Info,
            RubyLogger,
        ),
        (
            "E, [2026-09-11T07:22:25.408586 #1] ERROR -- app: message",
            Error,
            RubyLogger,
        ),
        (
            "A, [2026-09-11T07:22:25.408586 #1]   ANY -- : message",
            Unknown,
            RubyLogger,
        ),
        (
            "2026-09-11T07:22:25.408Z pid=1 tid=abc INFO: message",
            Info,
            Sidekiq,
        ),
    ]);
}

#[test]
fn rust_dotnet_node_and_php() {
    check(&[
        (
            "2026-09-11T07:22:25.408586Z  WARN target: message",
            Warn,
            Tracing,
        ),
        (
            "2026-09-11T07:22:25.408586Z  INFO span{id=1}: target: message",
            Info,
            Tracing,
        ),
        (
            r#"{"timestamp":"2026-09-11T07:22:25.408586Z","level":"ERROR","fields":{"message":"x"},"target":"a"}"#,
            Error,
            TracingJson,
        ),
        (
            "[     0.001234s]  WARN ThreadId(01) linkerd2_proxy: message",
            Warn,
            TracingUptime,
        ),
        (
            "   0.000162091s TRACE request{id=0}: app: message",
            Trace,
            TracingUptime,
        ),
        ("[2026-09-11T07:22:25Z WARN  a::b] message", Warn, EnvLogger),
        ("Sep 11 07:22:25.408 WARN message, key: value", Warn, SlogRs),
        (
            "thread 'main' panicked at src/main.rs:1:2:",
            Critical,
            RustPanic,
        ),
        (
            "thread 'main' (1234) panicked at src/main.rs:1:2:",
            Critical,
            RustPanic,
        ),
        (
            "warn: Microsoft.AspNetCore.Server.Kestrel[0]",
            Warn,
            DotnetConsole,
        ),
        ("crit: App.Program[12]", Critical, DotnetConsole),
        ("fail: App.Program[12]", Error, DotnetConsole),
        (
            r#"{"EventId":0,"LogLevel":"Warning","Category":"App","Message":"x"}"#,
            Warn,
            DotnetJson,
        ),
        (
            "Unhandled exception. System.InvalidOperationException: x",
            Critical,
            DotnetTrace,
        ),
        ("[07:22:25 WRN] message", Warn, SerilogText),
        (
            "2026-09-11 07:22:25.408 +00:00 [ERR] message",
            Error,
            SerilogText,
        ),
        (
            r#"{"@t":"2026-09-11T07:22:25.408Z","@mt":"x","@l":"Warning"}"#,
            Warn,
            SerilogJson,
        ),
        (
            r#"{"@t":"2026-09-11T07:22:25.408Z","@mt":"x"}"#,
            Info,
            SerilogJson,
        ),
        (
            "2026-09-11 07:22:25.4085|WARN|App.Program|message",
            Warn,
            Nlog,
        ),
        ("[07:22:25.408] WARN (1): message", Warn, PinoPretty),
        (
            r#"{"level":"warn","message":"x","timestamp":"2026-09-11T07:22:25.408Z"}"#,
            Warn,
            WinstonJson,
        ),
        ("warn: message", Warn, WinstonSimple),
        (
            "[2026-09-11T07:22:25.408] [WARN] default - message",
            Warn,
            Log4js,
        ),
        (
            "[Nest] 1  - 09/11/2026, 7:22:25 AM    WARN [NestFactory] message",
            Warn,
            Nestjs,
        ),
        (
            "[Nest] 1  - 09/11/2026, 7:22:25 AM     LOG [NestFactory] message",
            Info,
            Nestjs,
        ),
        ("npm warn deprecated x@1: y", Warn, Npm),
        ("npm ERR! code E404", Error, Npm),
        (
            "[2026-09-11T07:22:25.408586+00:00] app.WARNING: message [] []",
            Warn,
            Monolog,
        ),
        (
            "[2026-09-11 07:22:25] production.ERROR: message",
            Error,
            Monolog,
        ),
        (
            r#"{"message":"x","context":{},"level":300,"level_name":"WARNING","channel":"app","datetime":"2026-09-11T07:22:25+00:00","extra":{}}"#,
            Warn,
            MonologJson,
        ),
        (
            "[11-Sep-2026 07:22:25] NOTICE: fpm is running, pid 1",
            Notice,
            PhpFpm,
        ),
        (
            "PHP Warning:  Undefined variable $x in /a.php on line 1",
            Warn,
            PhpError,
        ),
        ("PHP Fatal error:  Uncaught Error: x", Critical, PhpError),
        ("07:22:25.408 [warning] message", Warn, Elixir),
        ("07:22:25.408 [info] message", Info, Elixir),
        (
            "=ERROR REPORT==== 11-Sep-2026::07:22:25.408586 ===",
            Error,
            ErlangReport,
        ),
    ]);
}

#[test]
fn servers_and_systems() {
    check(&[
        (
            "2026-09-11 07:22:25.408586+00:00 [warning] <0.123.0> message",
            Warn,
            Rabbitmq,
        ),
        (
            "2026/09/11 07:22:25 [warn] 7#7: *1 message",
            Warn,
            NginxError,
        ),
        (
            "2026/09/11 07:22:25 [emerg] 7#7: bind() failed",
            Level::Emergency,
            NginxError,
        ),
        (
            r#"10.0.0.1 - - [11/Sep/2026:07:22:25 +0000] "GET /error HTTP/1.1" 500 2"#,
            Unknown,
            AccessLog,
        ),
        (
            "[Fri Sep 11 07:22:25.408586 2026] [core:error] [pid 1:tid 2] message",
            Error,
            ApacheError,
        ),
        ("[NOTICE]   (1) : New worker (2) forked", Notice, Haproxy),
        ("[WARNING] 253/072225 (1) : message", Warn, Haproxy),
        ("[ALERT]    (1) : message", Level::Alert, Haproxy),
        (
            "2026-09-11 07:22:25.408 UTC [1] LOG:  message",
            Info,
            Postgres,
        ),
        (
            "2026-09-11 07:22:25.408 UTC [1] postgres@db ERROR:  message",
            Error,
            Postgres,
        ),
        (
            "2026-09-11 07:22:25.408 UTC [1] FATAL:  message",
            Critical,
            Postgres,
        ),
        (
            "2026-09-11 07:22:25.408 UTC [1] DETAIL:  message",
            Unknown,
            Continuation,
        ),
        ("1:M 11 Sep 2026 07:22:25.408 * message", Notice, Redis),
        ("1:C 11 Sep 2026 07:22:25.408 # message", Warn, Redis),
        (
            "2026-09-11T07:22:25.408586Z 0 [Warning] [MY-010068] [Server] message",
            Warn,
            Mysql,
        ),
        (
            "2026-09-11T07:22:25.408586Z 0 [System] [MY-010116] [Server] [ERROR] in brackets",
            Unknown,
            Dated,
        ),
        ("2026-09-11  7:22:25 0 [Note] message", Notice, Mysql),
        ("2026-09-11  7:22:25 0 [ERROR] message", Error, Mysql),
        (
            r#"{"t":{"$date":"2026-09-11T07:22:25.408+00:00"},"s":"W",  "c":"NETWORK",  "id":1, "ctx":"main","msg":"x"}"#,
            Warn,
            Mongodb,
        ),
        (
            "2026.09.11 07:22:25.408586 [ 1 ] {} <Information> Application: message",
            Info,
            Clickhouse,
        ),
        ("2026-09-11 07:22:25 +0000 [warn]: message", Warn, Fluentd),
        (
            "[2026/09/11 07:22:25] [ warn] [engine] message",
            Warn,
            FluentBit,
        ),
        (
            "2026-09-11T07:22:25.408Z|00001|vlog|WARN|message",
            Warn,
            Ovs,
        ),
        (
            "09-11 07:22:25.408  1234  5678 W ActivityManager: message",
            Warn,
            Logcat,
        ),
        ("<3>message", Error, Kernel),
        ("[    0.000000] Linux version", Unknown, Dmesg),
        ("<13>Sep 11 07:22:25 host app[1]: message", Notice, Rfc3164),
        ("Sep 11 07:22:25 host app[1]: message", Unknown, Rfc3164),
        (
            "Sep 11 07:22:25 host kubelet[1]: E0911 07:22:25.408586       1 a.go:1] x",
            Error,
            Klog,
        ),
        (
            "<14>Sep 11 07:22:25 host kubelet[1]: W0911 07:22:25.408586       1 a.go:1] x",
            Warn,
            Klog,
        ),
        (
            "<165>1 2026-09-11T07:22:25Z host app 1 ID47 [a b=\"c]\"] message",
            Notice,
            Rfc5424,
        ),
        (
            r#"{"MESSAGE":"x","PRIORITY":"4","_PID":"1"}"#,
            Warn,
            JournaldJson,
        ),
        (
            r#"{"version":"1.1","host":"h","short_message":"x","level":4}"#,
            Warn,
            Gelf,
        ),
        (r#"{"severity":"WARNING","message":"x"}"#, Warn, GcpJson),
        (
            r#"{"severityText":"WARN","severityNumber":13,"body":"x"}"#,
            Warn,
            OtelJson,
        ),
        (
            "[WARNING]\t2026-09-11T07:22:25.408Z\trequest\tmessage",
            Warn,
            Lambda,
        ),
        (
            "2026-09-11T07:22:25.408Z\t8f5c2b7e-1c1b-4e58-9a8e-0a2f6b3c4d5e\tWARN\tmessage",
            Warn,
            Lambda,
        ),
        (
            "[2026-09-11 07:22:25.408][1][warning][main] [source/a.cc:1] message",
            Warn,
            Envoy,
        ),
        (
            "[2026-09-11 07:22:25.408] [logger] [warning] message",
            Warn,
            Spdlog,
        ),
        ("[2026-09-11 07:22:25.408] [error] message", Error, Spdlog),
        (
            "2026-09-11 07:22:25.408586: W tensorflow/core/a.cc:42] message",
            Warn,
            TensorFlow,
        ),
        (
            "[1:2:0911/072225.408586:ERROR:file.cc(12)] message",
            Error,
            Chromium,
        ),
        ("INFO  [alembic.runtime.migration] message", Info, LevelWord),
        (
            "[pod/a/b] I0911 07:22:25.408586       1 a.go:1] x",
            Info,
            Klog,
        ),
        (
            "2026-09-11T07:22:25.408586123Z I0911 07:22:25.408586       1 a.go:1] x",
            Info,
            Klog,
        ),
        (
            "2026-09-11T07:22:25.408586123Z {\"level\":\"warn\",\"msg\":\"x\"}",
            Warn,
            Json,
        ),
        ("\u{feff}level=warn msg=x", Warn, LogrusText),
        ("\0\0\0level=warn msg=x", Warn, LogrusText),
        ("level=warn msg=x\r", Warn, LogrusText),
    ]);
}

#[test]
fn parts_are_where_the_line_has_them() {
    let parts = |line: &str| {
        let record = read(line);
        let text =
            |span: crate::Span| String::from_utf8_lossy(span.of(line.as_bytes())).into_owned();
        [
            record.timestamp,
            record.logger,
            record.caller,
            record.thread,
            record.message,
        ]
        .map(text)
        .join("~")
    };
    let table = [
        (
            "I0911 07:22:25.408586      17 a.go:1] \"Pod x\" pod=\"a/b\"",
            "0911 07:22:25.408586~~a.go:1~17~Pod x",
        ),
        (
            "2026-09-11T07:19:45Z\tINFO\tcontrollers.Spoke\ta.go:1\tmsg text\t{\"a\": 1}",
            "2026-09-11T07:19:45Z~controllers.Spoke~a.go:1~~msg text",
        ),
        (
            "2026-09-11T07:19:45Z\tINFO\tmsg text",
            "2026-09-11T07:19:45Z~~~~msg text",
        ),
        (
            "2026-09-11T04:39:22.159Z error l/l.go:16 Failed to x {\"kind\": 1}",
            "2026-09-11T04:39:22.159Z~~l/l.go:16~~Failed to x",
        ),
        (
            "time=\"2026-10-13 05:58:18\" level=info msg=\"a b\" caller=x",
            "2026-10-13 05:58:18~~x~~a b",
        ),
        (
            "{\"level\":\"info\",\"ts\":1.5,\"logger\":\"l\",\"caller\":\"c\",\"msg\":\"m\"}",
            "1.5~l~c~~m",
        ),
        (
            "2026-09-11T07:22:25.408Z  INFO 1 --- [main] c.e.App   : message",
            "2026-09-11T07:22:25.408Z~c.e.App~~main~message",
        ),
        (
            "07:22:25.408 [main] INFO  c.e.App - message",
            "07:22:25.408~c.e.App~~~message",
        ),
        (
            "[2026-09-11T07:22:25Z INFO  a::b] message",
            "2026-09-11T07:22:25Z~a::b~~~message",
        ),
        (
            "2026-09-11 07:22:25.408 | INFO     | mod:fn:1 - message",
            "2026-09-11 07:22:25.408~mod:fn:1~~~message",
        ),
        (
            "Sep 11 07:22:25 host app[1]: message",
            "Sep 11 07:22:25~app~~~message",
        ),
        (
            "1:M 11 Sep 2026 07:22:25.408 * message",
            "11 Sep 2026 07:22:25.408~~~1~message",
        ),
    ];
    for (line, expected) in table {
        assert_eq!(parts(line), expected, "{line}");
    }
}

#[test]
fn a_stream_default_is_used_only_when_the_line_says_nothing() {
    let hint = Hint::with_default(Level::Error);
    let record = classify(b"something happened", &hint);
    assert_eq!((record.level, record.source), (Error, Source::Stream));
    assert_eq!(classify(b"level=info msg=x", &hint).level, Info);
}

#[test]
fn nested_wrappers_end() {
    let line = "[pod/a/b] ".repeat(10_000);
    assert_eq!(read(&line).level, Unknown);
    assert_eq!(read(&"<3>".repeat(10_000)).level, Error);
}

proptest! {
    #[test]
    fn no_line_breaks_a_promise(line in proptest::collection::vec(0u8..=255, 0..200)) {
        crate::fuzz::classify_any(&line);
    }

    #[test]
    fn no_line_made_of_header_parts_breaks_a_promise(parts in proptest::collection::vec(prop::sample::select(vec![
        "I0911 07:22:25.408586 ", "2026-09-11T07:22:25Z", "2026-09-11 07:22:25,408", " ", "\t", "[", "]", "{\"", "\":", "\"level\"",
        "INFO", "error", ":", "|", "(", "<", "level=", "msg=\"", "\\", "\"", "1", "[main]", "panic: ", " - ", "}", "Sep 11 ", "\x1b[3",
        "1m", "1:M ", "x", "pod/", ",", "=<", "\n",
    ]), 0..14)) {
        crate::fuzz::classify_any(parts.concat().as_bytes());
    }
}
