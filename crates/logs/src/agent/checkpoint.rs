//! How far each file has been acknowledged, kept across restarts.
//!
//! A file is known by its inode and the hash of its first bytes, because names move on rotation and inodes are reused.
//! The state is written to a second file, synced and renamed over the first, so a kill at any moment leaves one of the two.
//! Writing goes on beside the reading of logs, since a disk may take longer to sync than a batch takes to deliver.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tokio::task::{JoinHandle, spawn_blocking};

/// The acknowledged place in one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    /// Hash of the first [`HEAD_BYTES`] bytes; 0 while the file is shorter.
    pub(crate) head: u64,
    /// First byte that was not acknowledged.
    pub(crate) offset: u64,
}

/// Bytes of a file's head that identify it: a container runtime's first timestamp is in them.
pub(crate) const HEAD_BYTES: usize = 32;

/// FNV-1a of the head.
pub(crate) fn head_hash(head: &[u8]) -> u64 {
    head.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The places of all files, by inode.
#[derive(Debug, Default)]
pub(crate) struct Checkpoint {
    path: PathBuf,
    places: BTreeMap<u64, Place>,
    is_dirty: bool,
    /// An earlier state that is being written.
    writing: Option<JoinHandle<io::Result<()>>>,
}

impl Checkpoint {
    /// Reads the state; a missing file is an empty state, a damaged one an error.
    pub(crate) fn load(path: &Path) -> io::Result<Checkpoint> {
        let places = match std::fs::read(path) {
            Ok(text) => serde_json::from_slice(&text).map_err(io::Error::other)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => return Err(error),
        };
        Ok(Checkpoint {
            path: path.to_owned(),
            places,
            is_dirty: false,
            writing: None,
        })
    }

    /// Where to go on in a file, if it is the one we know.
    pub(crate) fn offset(&self, inode: u64, head: u64) -> Option<u64> {
        self.places
            .get(&inode)
            .filter(|place| place.head == head)
            .map(|place| place.offset)
    }

    /// The acknowledged place in a file.
    pub(crate) fn place(&self, inode: u64) -> Option<Place> {
        self.places.get(&inode).copied()
    }

    /// How many files are known.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// Remembers an acknowledged place.
    pub(crate) fn set(&mut self, inode: u64, place: Place) {
        self.is_dirty |= self.places.insert(inode, place) != Some(place);
    }

    /// Whether everything in the file at `path` has been acknowledged.
    pub(crate) fn is_complete(&self, inode: u64, path: &Path) -> bool {
        let Some(place) = self.places.get(&inode) else {
            return false;
        };
        std::fs::metadata(path).is_ok_and(|metadata| metadata.len() == place.offset)
    }

    /// Forgets the files that are gone.
    pub(crate) fn retain(&mut self, keep: impl Fn(u64) -> bool) {
        let before = self.places.len();
        self.places.retain(|inode, _| keep(*inode));
        self.is_dirty |= self.places.len() != before;
    }

    /// Begins to write the state when it has changed, unless an earlier one is still being written.
    ///
    /// # Errors
    /// What the file system said to the writing that ended last.
    pub(crate) async fn save_beside(&mut self) -> io::Result<()> {
        if self.writing.as_ref().is_some_and(|job| !job.is_finished()) {
            return Ok(());
        }
        self.written().await?;
        if std::mem::take(&mut self.is_dirty) {
            let text = serde_json::to_vec(&self.places).map_err(io::Error::other)?;
            let path = self.path.clone();
            self.writing = Some(spawn_blocking(move || replace(&path, &text)));
        }
        Ok(())
    }

    /// Writes the state when it has changed, and ends when it is on disk.
    ///
    /// # Errors
    /// What the file system says.
    pub(crate) async fn save(&mut self) -> io::Result<()> {
        self.written().await?;
        self.save_beside().await?;
        self.written().await
    }

    /// Waits for the writing that has begun.
    async fn written(&mut self) -> io::Result<()> {
        match self.writing.take() {
            Some(job) => job.await.map_err(io::Error::other)?,
            None => Ok(()),
        }
    }
}

/// Puts `text` in the place of the file at `path`: all of it or nothing.
fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    let next = path.with_extension("next");
    let mut file = File::create(&next)?;
    file.write_all(text)?;
    file.sync_data()?;
    std::fs::rename(&next, path)
}
