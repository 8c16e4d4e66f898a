//! The labelled corpus, without its labels.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use flate2::read::GzDecoder;

/// One file of the corpus.
pub(crate) struct File {
    pub(crate) name: String,
    /// Lines in UTF-8, which is what VRL's strings and Datadog's attributes are.
    pub(crate) lines: Vec<String>,
}

/// Reads all files, in the order of their names.
pub(crate) fn read(folder: &Path) -> io::Result<Vec<File>> {
    let mut files = Vec::new();
    for kind in ["real", "written"] {
        for entry in fs::read_dir(folder.join(kind))? {
            let path = entry?.path();
            let mut text = Vec::new();
            GzDecoder::new(fs::File::open(&path)?).read_to_end(&mut text)?;
            let lines = String::from_utf8_lossy(&text)
                .lines()
                .filter_map(|row| row.split_once('\t'))
                .map(|(_, line)| line.to_owned())
                .collect();
            let name = path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            files.push(File { name, lines });
        }
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(files)
}
