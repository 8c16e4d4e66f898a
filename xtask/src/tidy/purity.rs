//! A module is pure unless it is declared a shell here.
//!
//! Pure modules decide: they name the standard collections, `machinery`, `api` and small data
//! crates. Shells read clocks, files and sockets and hold clients. The list below is the whole
//! boundary; a new entry in it is a decision to talk about.

use std::path::Path;

use anyhow::Result;

use super::{Complaint, crates, files, read, shown};

/// Modules that may do I/O, as paths below `crates/<name>/src/` without extension. `server` is one
/// file, `server/*` everything below it, `*` the whole crate.
const SHELLS: &[(&str, &[&str])] = &[
    (
        "apiserver",
        &[
            "address_objects",
            "bootstrap",
            "compress",
            "convert",
            "crd/cleanup",
            "crd/resource",
            "crd/webhook",
            "decode/strict",
            "engine",
            "errand",
            "flow",
            "handlers/*",
            "kubeconfig",
            "paths",
            "serve",
            "serve/connections",
            "server",
            "service",
            "store",
            "store/commit",
            "store/disk",
            "store/subscribe",
            "webhook",
            "websocket",
            "write",
        ],
    ),
    ("bench", &["*"]),
    ("cli", &["*"]),
    ("controllers", &["controller", "controller/*"]),
    (
        "dns",
        &[
            "bench",
            "client",
            "client/*",
            "dnssec/ask",
            "dnssec/store",
            "keep",
            "resolver",
            "resolver/front",
            "server",
            "server/*",
            "update",
        ],
    ),
    (
        "gslb",
        &[
            "controller",
            "controller/*",
            "delegate",
            "drain",
            "explain/ask",
            "metrics",
        ],
    ),
    ("logs", &["*"]),
    ("operator", &["*"]),
    (
        "oracle",
        &["corpus", "known", "main", "recording", "replay"],
    ),
    ("telemetry", &["*"]),
    ("testkit", &["*"]),
    ("why", &["ask"]),
];

/// What a pure module must not name, and why.
const BANNED: &[(&str, &str)] = &[
    ("tokio", "no async runtime"),
    ("tokio_util", "no async runtime"),
    ("async fn", "no async"),
    ("kube::Client", "no client"),
    ("kube::Api", "no client"),
    ("kube::runtime", "no client"),
    ("hyper", "no HTTP"),
    ("std::fs", "no files"),
    ("std::env", "no environment"),
    ("std::process", "no processes"),
    ("std::thread", "no threads"),
    ("UdpSocket", "no sockets"),
    ("TcpStream", "no sockets"),
    ("TcpListener", "no sockets"),
    ("SystemTime::now", "time is an argument"),
    ("Instant::now", "time is an argument"),
    ("Timestamp::now", "time is an argument"),
    ("Zoned::now", "time is an argument"),
    ("rand::rng", "randomness is an argument"),
    ("Uuid::new_v4", "randomness is an argument"),
];

pub(super) fn check(root: &Path) -> Result<Vec<Complaint>> {
    let mut complaints = Vec::new();
    for name in crates(root)? {
        let src = root.join("crates").join(&name).join("src");
        let shells = SHELLS
            .iter()
            .find(|(c, _)| *c == name)
            .map_or(&[][..], |(_, shells)| shells);
        for shell in shells {
            let place = src.join(shell.trim_end_matches('*'));
            if !place.exists() && !place.with_extension("rs").exists() {
                complaints.push(Complaint::new(
                    "xtask/src/tidy/purity.rs",
                    format!("`{shell}` of crate `{name}` is gone; delete its line"),
                ));
            }
        }
        for path in files(&src, "rs")? {
            let module = path.strip_prefix(&src)?.with_extension("");
            let module = module.to_string_lossy();
            if is_shell(shells, &module) || is_test(&module) {
                continue;
            }
            complaints.extend(impurities(&shown(root, &path), &read(&path)?));
        }
        for path in files(&src, "rs")?
            .iter()
            .filter(|path| path.ends_with("mod.rs"))
        {
            let text = "a module `foo` lives in foo.rs and foo/, never in mod.rs";
            complaints.push(Complaint::new(shown(root, path), text));
        }
    }
    Ok(complaints)
}

fn is_shell(shells: &[&str], module: &str) -> bool {
    shells.iter().any(|shell| match shell.strip_suffix('*') {
        Some(folder) => module.starts_with(folder),
        None => module == *shell,
    })
}

fn is_test(module: &str) -> bool {
    module.rsplit('/').next() == Some("tests") || module.contains("/tests/")
}

/// The first place of each banned word.
fn impurities(place: &str, source: &str) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for (word, reason) in BANNED {
        let found = source.lines().position(|line| {
            let code = line.split("//").next().unwrap_or_default();
            names(code, word)
        });
        if let Some(index) = found {
            complaints.push(Complaint::new(
                format!("{place}:{}", index + 1),
                format!("a pure module names `{word}` ({reason}); move it into a shell module"),
            ));
        }
    }
    complaints
}

/// Whether `code` holds `word` as whole words.
fn names(code: &str, word: &str) -> bool {
    let part_of_word = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        let after = code[at + word.len()..].chars().next();
        !before.is_some_and(part_of_word) && !after.is_some_and(part_of_word)
    })
}

#[cfg(test)]
mod tests {
    use super::{impurities, is_shell, is_test};

    #[test]
    fn shells_cover_what_they_name_and_nothing_else() {
        assert!(is_shell(&["server"], "server"));
        assert!(!is_shell(&["server"], "server/udp"));
        assert!(is_shell(&["server/*"], "server/udp"));
        assert!(!is_shell(&["server/*"], "server_names"));
        assert!(is_shell(&["*"], "anything"));
        assert!(is_test("answer/tests") && is_test("tests") && !is_test("contests"));
    }

    #[test]
    fn a_clock_in_code_is_found_and_one_in_a_comment_is_not() {
        let source =
            "// Instant::now() would lie\nlet t = std::time::Instant::now();\nuse tokios;\n";
        let found = impurities("a.rs", source);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].place, "a.rs:2");
    }
}
