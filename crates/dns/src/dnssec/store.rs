//! Keys on disk: this cluster's own, made when there is none, and what is known of the others'.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::key::{self, SigningKey};
use super::peers::PeerKeys;

/// Why a key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused.
    #[error("{action} {}", path.display())]
    Io {
        /// What was attempted.
        action: &'static str,
        /// With which file.
        path: PathBuf,
        /// What it said.
        #[source]
        source: io::Error,
    },
    /// The file holds something else, or no key could be made.
    #[error("cannot use the DNSSEC key {}", path.display())]
    Key {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: key::Error,
    },
}

/// The key in the file at `path`, which is made, readable by its owner only, when there is none.
///
/// # Errors
/// When the file cannot be read or written, or holds no key for ECDSA on P-256. A file that holds something else is left alone.
pub fn open(path: &Path) -> Result<SigningKey, Error> {
    let io = |action, source| Error::Io {
        action,
        path: path.to_owned(),
        source,
    };
    let key = |source| Error::Key {
        path: path.to_owned(),
        source,
    };
    match fs::read_to_string(path) {
        Ok(text) => return SigningKey::from_pem(&text).map_err(key),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(io("cannot read", error)),
    }
    let (made, text) = SigningKey::generate().map_err(key)?;
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| io("cannot make the folder of", error))?;
    }
    // Whole under another name first: a crash must not leave half a key behind.
    let temporary = path.with_extension("new");
    let _ = fs::remove_file(&temporary);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
        .open(&temporary)
        .and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        })
        .and_then(|()| fs::hard_link(&temporary, path))
        .map_err(|error| io("cannot write", error))?;
    let _ = fs::remove_file(&temporary);
    if let Some(folder) = path.parent() {
        // Without this the name itself may be lost with the power.
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
    }
    tracing::info!(path = %path.display(), tag = made.public().tag(), "Made a DNSSEC key");
    Ok(made)
}

/// What is known of the other clusters' keys; nothing without a file.
pub fn load_peers(path: &Path) -> PeerKeys {
    fs::read_to_string(path).map_or_else(|_| PeerKeys::default(), |text| PeerKeys::parse(&text))
}

/// Keeps what is known of the other clusters' keys.
///
/// # Errors
/// When the file cannot be written; the old one then stays.
pub fn save_peers(path: &Path, keys: &PeerKeys) -> Result<(), Error> {
    let temporary = path.with_extension("new");
    let written = File::create(&temporary).and_then(|mut file| {
        file.write_all(keys.to_text().as_bytes())?;
        file.sync_all()
    });
    written
        .and_then(|()| fs::rename(&temporary, path))
        .map_err(|source| Error::Io {
            action: "cannot write",
            path: path.to_owned(),
            source,
        })
}

#[cfg(test)]
mod tests;
