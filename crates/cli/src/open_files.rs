//! The limit of open files.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Lets this process open as many files and sockets as it may. The limit it starts with is low for the sake of old programs
/// that cannot handle large descriptors.
pub(crate) fn raise() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    // A system that refuses leaves the lower limit, which everybody who cares reads.
    let _ = setrlimit(Resource::Nofile, raised);
}

/// How many files and sockets this process may open.
pub(crate) fn max() -> usize {
    let limit = getrlimit(Resource::Nofile).current;
    limit
        .and_then(|limit| usize::try_from(limit).ok())
        .unwrap_or(usize::MAX)
}
