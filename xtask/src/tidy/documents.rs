//! Documents name files that exist.
//!
//! Checked are code spans in Markdown that look like a path of this repository: they hold a slash
//! or end in a known extension, and no wildcard, placeholder or address.

use std::path::Path;

use anyhow::Result;

use super::{Complaint, files, read, shown};

/// Extensions that make a bare word a file name.
const EXTENSIONS: &[&str] = &[".rs", ".md", ".toml", ".sh"];

/// First parts of a path that lead into this repository.
const FOLDERS: &[&str] = &[
    "crates",
    "docs",
    "xtask",
    "examples",
    "conformance",
    ".ci",
    "oracle",
];

pub(super) fn check(root: &Path) -> Result<Vec<Complaint>> {
    let mut complaints = Vec::new();
    for path in files(root, "md")? {
        let place = shown(root, &path);
        if place.contains("/corpus/") {
            continue;
        }
        for (line, span) in code_spans(&read(&path)?) {
            if looks_like_a_path(&span) && !exists(root, &path, &span) {
                complaints.push(Complaint::new(
                    format!("{place}:{line}"),
                    format!("`{span}` does not exist; mend the text or delete the sentence"),
                ));
            }
        }
    }
    Ok(complaints)
}

/// Text between single backticks outside fenced blocks, with line numbers.
fn code_spans(text: &str) -> Vec<(usize, String)> {
    let mut spans = Vec::new();
    let mut fenced = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            let inside = line.split('`').skip(1).step_by(2);
            spans.extend(inside.map(|span| (index + 1, span.to_owned())));
        }
    }
    spans
}

fn looks_like_a_path(span: &str) -> bool {
    let plain = span
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
    let first = span.split('/').next().unwrap_or_default();
    plain
        && (span.contains('/') && FOLDERS.contains(&first)
            || EXTENSIONS.iter().any(|extension| span.ends_with(extension)))
}

/// Whether the path exists from the root, beside the document, or, for a bare name, anywhere.
fn exists(root: &Path, document: &Path, span: &str) -> bool {
    let beside = document.parent().unwrap_or(root).join(span);
    if root.join(span).exists() || beside.exists() {
        return true;
    }
    let extension = span.rsplit('.').next().unwrap_or_default();
    files(root, extension).is_ok_and(|all| all.iter().any(|path| path.ends_with(span)))
}

#[cfg(test)]
mod tests {
    use super::{code_spans, looks_like_a_path};

    #[test]
    fn paths_are_told_from_other_code() {
        let paths = [
            "crates/dns/src/answer.rs",
            "README.md",
            "examples/gslb/podinfo.yaml",
            "docs/x",
        ];
        let others = [
            "apps/v1",
            "kubectl get",
            "k8gb.io/v1beta1",
            "foo/*.rs",
            "127.0.0.1",
            "<x>.rs",
        ];
        assert!(paths.iter().all(|span| looks_like_a_path(span)));
        assert!(!others.iter().any(|span| looks_like_a_path(span)));
    }

    #[test]
    fn fenced_blocks_are_not_prose() {
        let text = "see `a.rs`\n```\n`b.rs`\n```\nand `c.rs`, `d`\n";
        let spans = code_spans(text);
        assert_eq!(
            spans,
            [(1, "a.rs".into()), (5, "c.rs".into()), (5, "d".into())]
        );
    }
}
