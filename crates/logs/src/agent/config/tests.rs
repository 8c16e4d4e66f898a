use super::{Config, Protocol, Sink};

#[test]
fn a_short_file_is_enough() {
    let config = Config::parse("checkpoint: /tmp/x.json\nsink:\n  otlp:\n    endpoint: http://c:4317\n    protocol: grpc\n").unwrap();
    assert!(matches!(
        config.sink,
        Sink::Otlp {
            protocol: Protocol::Grpc,
            ..
        }
    ));
    assert_eq!(
        (config.batch_bytes, config.scan_interval_ms),
        (1 << 20, 1000)
    );
}

#[test]
fn mistakes_are_shown_with_line_and_column() {
    let table = [
        (
            "checkpoint: /x\nsink:\n  stdout: {}\nbatch_byte: 1\n",
            "line 4",
        ),
        ("checkpoint: /x\nsink:\n  kafka: {}\n", "line 3"),
        (
            "checkpoint: /x\nsink:\n  stdout: {}\nbatch_bytes: 12\n",
            "line 4 column 1: batch_bytes must be 1024 to 4194304",
        ),
        (
            "checkpoint: /x\nsink:\n  loki:\n    endpoint: loki:3100\n",
            "line 4 column 5: endpoint must be",
        ),
        ("sink:\n  stdout: {}\n", "checkpoint"),
    ];
    for (text, message) in table {
        let error = Config::parse(text).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}
