//! A crate may depend only on crates of floors below its own (ARCHITECTURE.md, "Floors").

use std::path::Path;

use anyhow::Result;

use super::{Complaint, crates, read};

/// Crates beside the house: they look at it from outside.
const BESIDE: &[&str] = &["bench", "oracle", "testkit"];

/// The floor of each crate.
const FLOORS: &[(&str, u8)] = &[
    ("cli", 5),
    ("ui", 4),
    ("logs", 4),
    ("why", 4),
    ("controllers", 3),
    ("scheduler", 3),
    ("gslb", 3),
    ("edge", 3),
    ("sandbox", 3),
    ("queue", 3),
    ("tasks", 3),
    ("inference", 3),
    ("apiserver", 2),
    ("node", 2),
    ("dns", 2),
    ("operator", 1),
    ("telemetry", 1),
    ("machinery", 0),
    ("api", 0),
    ("loglevel", 0),
];

pub(super) fn check(root: &Path) -> Result<Vec<Complaint>> {
    let mut complaints = Vec::new();
    for name in crates(root)? {
        if BESIDE.contains(&name.as_str()) {
            continue;
        }
        let place = format!("crates/{name}/Cargo.toml");
        let Some(own) = floor(&name) else {
            complaints.push(Complaint::new(
                place,
                "this crate stands on no floor; add it to xtask/src/tidy/floors.rs and ARCHITECTURE.md",
            ));
            continue;
        };
        let manifest = read(&root.join(&place))?;
        for (line, dependency) in house_dependencies(&manifest) {
            if floor(dependency).is_none_or(|theirs| theirs >= own) {
                complaints.push(Complaint::new(
                    format!("{place}:{line}"),
                    format!(
                        "floor {own} must not import `{dependency}`; wire the two in the binary \
                         through a trait of the lower floor"
                    ),
                ));
            }
        }
    }
    Ok(complaints)
}

fn floor(name: &str) -> Option<u8> {
    FLOORS
        .iter()
        .find(|(crate_name, _)| *crate_name == name)
        .map(|(_, floor)| *floor)
}

/// Line numbers and names of `flotilla-*` entries under `[dependencies]`; dev-dependencies may look
/// up, because tests stand outside the house.
fn house_dependencies(manifest: &str) -> Vec<(usize, &str)> {
    let mut inside = false;
    let mut found = Vec::new();
    for (index, line) in manifest.lines().enumerate() {
        if line.starts_with('[') {
            inside = line.trim() == "[dependencies]";
        } else if inside && let Some(rest) = line.strip_prefix("flotilla-") {
            let end = rest.find(['.', ' ', '=']).unwrap_or(rest.len());
            found.push((index + 1, &rest[..end]));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::house_dependencies;

    #[test]
    fn only_normal_dependencies_count() {
        let manifest = "[dependencies]\nserde.workspace = true\nflotilla-dns.workspace = true\n\
                        flotilla-api = { path = \"../api\" }\n[dev-dependencies]\nflotilla-cli.workspace = true\n";
        assert_eq!(house_dependencies(manifest), [(3, "dns"), (4, "api")]);
    }
}
