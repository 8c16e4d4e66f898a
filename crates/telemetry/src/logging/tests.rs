use tracing_subscriber::EnvFilter;

use super::{Format, Settings};

#[test]
fn the_flag_wins_over_the_environment_and_bare_levels_mean_our_crates() {
    let cases = [
        (None, None, "warn,flotilla=info"),
        (Some("debug"), None, "warn,flotilla=debug"),
        (Some("DEBUG"), Some("trace"), "warn,flotilla=DEBUG"),
        (None, Some("trace"), "warn,flotilla=trace"),
        (Some("  "), None, "warn,flotilla=info"),
        (Some("error"), None, "error"),
        (
            Some("flotilla_dns=trace,hyper=info"),
            None,
            "flotilla_dns=trace,hyper=info",
        ),
    ];
    for (flag, rust_log, expected) in cases {
        let settings = Settings::choose(flag, rust_log, false, false);
        assert_eq!(
            settings.filter, expected,
            "--log {flag:?} RUST_LOG={rust_log:?}"
        );
        assert!(EnvFilter::try_new(&settings.filter).is_ok(), "{expected}");
    }
}

#[test]
fn a_terminal_gets_text_and_everything_else_gets_json() {
    assert_eq!(
        Settings::choose(None, None, false, true).format,
        Format::Pretty
    );
    assert_eq!(
        Settings::choose(None, None, false, false).format,
        Format::Json
    );
    assert!(Settings::choose(None, None, false, true).colour);
    assert!(!Settings::choose(None, None, true, true).colour);
}

#[test]
fn a_broken_filter_says_what_was_asked_for() {
    let settings = Settings {
        filter: "flotilla=loud".into(),
        format: Format::Json,
        colour: false,
    };
    let error = super::install(&settings, None).expect_err("loud is no level");
    assert!(error.to_string().contains("\"flotilla=loud\""), "{error}");
}
