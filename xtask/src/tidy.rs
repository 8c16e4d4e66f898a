//! Rules of the house that a machine can check.
//!
//! [`floors`] proves that crates import downwards only, [`purity`] that modules which decide hold
//! no shell, [`documents`] that guides name files that exist, [`dependencies`] that the lock stays
//! small and clean. Each rule is a function from the tree to a list of complaints; a complaint says
//! where, what and what to do.

mod dependencies;
mod documents;
mod floors;
mod purity;

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// Something to mend.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Complaint {
    /// File, and line where there is one.
    place: String,
    /// What is wrong and what to do.
    text: String,
}

impl Complaint {
    fn new(place: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            text: text.into(),
        }
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.text)
    }
}

/// Checks everything and fails when there is a complaint.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<()> {
    if let Some(unknown) = arguments.first() {
        bail!("tidy takes no arguments, got {unknown:?}");
    }
    let mut complaints = floors::check(root)?;
    complaints.extend(purity::check(root)?);
    complaints.extend(documents::check(root)?);
    let (summary, more) = dependencies::check(root)?;
    complaints.extend(more);
    complaints.sort();
    for complaint in &complaints {
        eprintln!("{complaint}");
    }
    eprintln!("{summary}");
    match complaints.len() {
        0 => Ok(()),
        n => bail!("{n} thing(s) to tidy"),
    }
}

/// Names of the folders under `crates/`, sorted.
fn crates(root: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in read_dir(&root.join("crates"))? {
        if entry.join("Cargo.toml").exists() {
            names.extend(
                entry
                    .file_name()
                    .map(|name| name.to_string_lossy().into_owned()),
            );
        }
    }
    names.sort();
    Ok(names)
}

/// Every file below `folder` with this extension, sorted.
fn files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in read_dir(&folder)? {
            let hidden = entry.file_name().is_some_and(|name| {
                let name = name.to_string_lossy();
                name.starts_with('.') || name == "target"
            });
            if entry.is_dir() && !hidden {
                folders.push(entry);
            } else if entry.extension().is_some_and(|e| e == extension) {
                found.push(entry);
            }
        }
    }
    found.sort();
    Ok(found)
}

fn read_dir(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries =
        std::fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))?;
    entries.map(|entry| Ok(entry?.path())).collect()
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("read {}", path.display()))
}

/// `path` as seen from `root`, for complaints.
fn shown(root: &Path, path: &Path) -> String {
    path.strip_prefix(root)
        .unwrap_or(path)
        .display()
        .to_string()
}
