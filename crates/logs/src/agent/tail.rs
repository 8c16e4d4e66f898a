//! One open log file: its records, and up to which byte everything has been handed out.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flotilla_loglevel::Level;
use flotilla_loglevel::time::Context;

use super::checkpoint::{HEAD_BYTES, Place, head_hash};
use super::config::DefaultLevel;
use crate::entry::Entry;
use crate::stream::{Stream, Wrapper};

/// The container a file belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Origin {
    pub(crate) namespace: String,
    pub(crate) pod: String,
    pub(crate) uid: String,
    pub(crate) container: String,
}

impl Origin {
    /// Reads `NAMESPACE_POD_UID` and the container's name.
    pub(crate) fn parse(pod_folder: &str, container: &str) -> Option<Origin> {
        let mut parts = pod_folder.splitn(3, '_');
        let (namespace, pod, uid) = (parts.next()?, parts.next()?, parts.next()?);
        let owned = str::to_owned;
        Some(Origin {
            namespace: owned(namespace),
            pod: owned(pod),
            uid: owned(uid),
            container: owned(container),
        })
    }
}

/// An open file.
#[derive(Debug)]
pub(crate) struct Tail {
    pub(crate) path: PathBuf,
    pub(crate) origin: Arc<Origin>,
    file: File,
    pub(crate) inode: u64,
    head: u64,
    /// After the last byte read.
    position: u64,
    /// Where the stream began to count.
    start: u64,
    stream: Stream,
    /// Renamed or deleted: no more will be written once it is read to its end.
    pub(crate) is_retired: bool,
    /// Consecutive reads that found nothing.
    pub(crate) n_quiet: u32,
    /// A line came in parts.
    pub(crate) has_parts: bool,
}

impl Tail {
    /// Opens a file whose lines come in parts beyond `record_bytes_max`; `offset` says where to go on for an inode and head hash.
    pub(crate) fn open(
        path: &Path,
        origin: Arc<Origin>,
        default_level: DefaultLevel,
        record_bytes_max: usize,
        offset: impl Fn(u64, u64) -> Option<u64>,
    ) -> io::Result<Tail> {
        let mut file = File::open(path)?;
        let metadata = file.metadata()?;
        let head = read_head(&file)?;
        let start = offset(metadata.ino(), head)
            .unwrap_or(0)
            .min(metadata.len());
        file.seek(SeekFrom::Start(start))?;
        let stream =
            Stream::new(Wrapper::Detect, Context::default()).with_record_limit(record_bytes_max);
        let stream = match default_level {
            DefaultLevel::Unknown => stream,
            DefaultLevel::Stream => stream.with_defaults(Level::Info, Level::Error),
        };
        Ok(Tail {
            path: path.to_owned(),
            origin,
            file,
            inode: metadata.ino(),
            head,
            position: start,
            start,
            stream,
            is_retired: false,
            n_quiet: 0,
            has_parts: false,
        })
    }

    /// Reads once and hands out what became complete; returns the bytes read.
    pub(crate) fn read(
        &mut self,
        buffer: &mut [u8],
        now_ms: u64,
        each: impl FnMut(&Entry<'_>),
    ) -> io::Result<usize> {
        let n_read = self.file.read(buffer)?;
        if n_read > 0 {
            self.n_quiet = 0;
            self.position += n_read as u64;
            self.stream.push(&buffer[..n_read], now_ms, each);
            return Ok(n_read);
        }
        self.n_quiet = self.n_quiet.saturating_add(1);
        // Copying truncation: the same file, shorter.
        if self.file.metadata()?.len() < self.position {
            self.stream.finish(now_ms, each);
            self.file.seek(SeekFrom::Start(0))?;
            self.restart();
        } else {
            self.stream.idle(now_ms, each);
        }
        Ok(0)
    }

    fn restart(&mut self) {
        self.position = 0;
        self.start = 0;
        self.head = 0;
        self.stream.restart();
    }

    /// Hands out what is still open: nothing more will come.
    pub(crate) fn finish(&mut self, now_ms: u64, each: impl FnMut(&Entry<'_>)) {
        self.stream.finish(now_ms, each);
    }

    /// Whether a record, fragments or half a line wait for more.
    pub(crate) fn is_open(&self) -> bool {
        self.stream.is_open()
    }

    /// Up to where everything has been handed out.
    pub(crate) fn place(&mut self) -> Place {
        if self.head == 0 {
            self.head = read_head(&self.file).unwrap_or(0);
        }
        Place {
            head: self.head,
            offset: self.start + self.stream.n_done(),
        }
    }

    /// Bytes between the last one read and the end of the file.
    pub(crate) fn lag(&self) -> u64 {
        self.file
            .metadata()
            .map_or(0, |metadata| metadata.len().saturating_sub(self.position))
    }
}

fn read_head(file: &File) -> io::Result<u64> {
    let mut head = [0; HEAD_BYTES];
    let n_read = file.read_at(&mut head, 0)?;
    Ok(if n_read == HEAD_BYTES {
        head_hash(&head)
    } else {
        0
    })
}
