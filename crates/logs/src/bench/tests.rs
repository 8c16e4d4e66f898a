use std::time::Duration;

use super::{classify_rate, json_rate};

#[test]
fn the_benchmarks_run() {
    let text = b"I0911 07:22:25.408586       1 a.go:1] \"x\" k=\"v\"\n{\"level\":\"info\",\"msg\":\"m\"}\n".repeat(100);
    assert!(
        classify_rate("mixed", &text, Duration::ZERO)
            .bytes_per_second
            .is_finite()
    );
    assert!(
        json_rate("mixed", &text, Duration::ZERO)
            .lines_per_second
            .is_finite()
    );
}
