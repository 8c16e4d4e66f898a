//! What we compile stands in the lock file: how many packages, under which licences, and none of
//! the banned ones.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::Complaint;

/// Most packages the lock may hold.
const MOST_PACKAGES: usize = 500;

/// Packages that would bring a second TLS stack, OpenSSL, CMake, a C++ compiler or protoc.
const BANNED: &[&str] = &[
    "aws-lc-rs",
    "aws-lc-sys",
    "cmake",
    "native-tls",
    "openssl",
    "openssl-sys",
    "prost-build",
    "protobuf-src",
    "rocksdb",
];

/// Licences we take; each is permissive.
const LICENCES: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Weak-copyleft packages taken on purpose: used unchanged, file-level licence (MPL-2.0).
const EXCEPTIONS: &[(&str, &str)] = &[];

/// A summary line and the complaints.
pub(super) fn check(root: &Path) -> Result<(String, Vec<Complaint>)> {
    let packages = packages(root)?;
    let mut complaints = Vec::new();
    let mut versions: BTreeMap<&str, usize> = BTreeMap::new();
    for package in &packages {
        *versions.entry(&package.name).or_default() += 1;
        if BANNED.contains(&package.name.as_str()) {
            let text = format!(
                "`{}` is banned; find who pulls it in with `cargo tree -i`",
                package.name
            );
            complaints.push(Complaint::new("Cargo.lock", text));
        }
        let excepted = EXCEPTIONS.contains(&(package.name.as_str(), package.licence.as_str()));
        if !is_permissive(&package.licence) && !excepted {
            let text = format!(
                "`{}` has licence {:?}, which is not on the list",
                package.name, package.licence
            );
            complaints.push(Complaint::new("Cargo.lock", text));
        }
    }
    if packages.len() > MOST_PACKAGES {
        let text = format!(
            "{} packages, at most {MOST_PACKAGES} are allowed",
            packages.len()
        );
        complaints.push(Complaint::new("Cargo.lock", text));
    }
    let twice: Vec<&str> = versions
        .iter()
        .filter(|(_, count)| **count > 1)
        .map(|(name, _)| *name)
        .collect();
    let summary = format!(
        "tidy: {} packages in the lock, {} in more than one version ({})",
        packages.len(),
        twice.len(),
        twice.join(", ")
    );
    Ok((summary, complaints))
}

struct Package {
    name: String,
    licence: String,
}

/// Packages from outside the workspace.
fn packages(root: &Path) -> Result<Vec<Package>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked"])
        .current_dir(root)
        .output()
        .context("run cargo metadata")?;
    if !output.status.success() {
        bail!(
            "cargo metadata failed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let metadata: Value = serde_json::from_slice(&output.stdout).context("read cargo metadata")?;
    let packages = metadata["packages"]
        .as_array()
        .context("cargo metadata lists packages")?;
    let foreign = packages
        .iter()
        .filter(|package| !package["source"].is_null());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Ok(foreign
        .map(|package| Package {
            name: text(&package["name"]),
            licence: text(&package["license"]),
        })
        .collect())
}

/// Whether one of the alternatives of an SPDX expression is made of listed licences only.
fn is_permissive(expression: &str) -> bool {
    let expression = expression.replace(['(', ')'], "").replace('/', " OR ");
    expression.split(" OR ").any(|choice| {
        choice
            .split(" AND ")
            .all(|licence| LICENCES.contains(&licence.trim()))
    })
}

#[cfg(test)]
mod tests {
    use super::is_permissive;

    #[test]
    fn one_permissive_choice_is_enough_and_every_part_of_it_counts() {
        for expression in [
            "MIT",
            "MIT OR GPL-3.0",
            "MIT/Apache-2.0",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
        ] {
            assert!(is_permissive(expression), "{expression}");
        }
        for expression in ["", "GPL-3.0", "MIT AND GPL-3.0", "MPL-2.0"] {
            assert!(!is_permissive(expression), "{expression}");
        }
    }
}
