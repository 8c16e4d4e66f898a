//! The one place where environment variables are read, and the clock for commands that need it once.

use std::path::PathBuf;

use flotilla_telemetry::logging;

use crate::plan::Surroundings;

/// A variable that is set to something.
#[expect(clippy::disallowed_methods, reason = "the edge of the process is here")]
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// What a plan needs to know.
pub(crate) fn surroundings() -> Surroundings {
    Surroundings {
        state_home: variable("XDG_STATE_HOME").map(PathBuf::from),
        home: variable("HOME").map(PathBuf::from),
    }
}

/// How to log, from `--log` and the environment.
pub(crate) fn log_settings(flag: Option<&str>) -> logging::Settings {
    logging::Settings::choose(
        flag,
        variable("RUST_LOG").as_deref(),
        variable("NO_COLOR").is_some(),
        logging::stderr_is_terminal(),
    )
}

/// Time of the wall clock.
#[expect(clippy::disallowed_methods, reason = "the edge of the process is here")]
pub(crate) fn now() -> jiff::Timestamp {
    jiff::Timestamp::now()
}

/// kubectl's choice of a kubeconfig: the first file of the list.
pub(crate) fn kubeconfig() -> Option<PathBuf> {
    std::env::split_paths(&variable("KUBECONFIG")?).next()
}
