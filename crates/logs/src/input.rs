//! Where bytes come from: files, packed files, standard input, files that grow and are rotated.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;

/// Opens a file for reading, unpacking gzip and zstd by their first bytes, whatever the name says.
///
/// # Errors
/// What the file system says; a packed file that is damaged fails later, while reading.
pub fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    let mut file = File::open(path)?;
    let mut magic = [0; 4];
    let n_read = read_up_to(&mut file, &mut magic)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(match &magic[..n_read] {
        [0x1f, 0x8b, ..] => Box::new(MultiGzDecoder::new(file)),
        [0x28, 0xb5, 0x2f, 0xfd] => {
            Box::new(StreamingDecoder::new(file).map_err(io::Error::other)?)
        }
        _ => Box::new(file),
    })
}

fn read_up_to(file: &mut File, bytes: &mut [u8]) -> io::Result<usize> {
    let mut n_read = 0;
    while n_read < bytes.len() {
        match file.read(&mut bytes[n_read..])? {
            0 => break,
            n => n_read += n,
        }
    }
    Ok(n_read)
}

/// What a growing file had to give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read1 {
    /// This many bytes.
    Data(usize),
    /// Nothing for now.
    Nothing,
    /// The file was replaced or cut short; what follows is a new file. Records that were open are complete.
    Rotated,
}

/// A file that grows: read to its end, then wait; when another file takes its name, read the old one to its end and go
/// on with the new one.
#[derive(Debug)]
pub struct Follower {
    path: PathBuf,
    file: Option<File>,
    inode: u64,
    position: u64,
}

impl Follower {
    /// Follows `path` from byte `position`. The file may not exist yet.
    pub fn new(path: PathBuf, position: u64) -> Follower {
        Follower {
            path,
            file: None,
            inode: 0,
            position,
        }
    }

    /// The file's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Inode of the open file, 0 before it was opened, and the position after the last byte read.
    pub fn place(&self) -> (u64, u64) {
        (self.inode, self.position)
    }

    /// Reads more.
    ///
    /// # Errors
    /// What the file system says, except that a missing file is `Nothing`.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<Read1> {
        let Some(file) = &mut self.file else {
            return self.open();
        };
        let n_read = file.read(buffer)?;
        if n_read > 0 {
            self.position += n_read as u64;
            return Ok(Read1::Data(n_read));
        }
        let named = match std::fs::metadata(&self.path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Read1::Nothing),
            Err(error) => return Err(error),
        };
        if named.ino() != self.inode {
            // Bytes written between our last read and the renaming must not be lost.
            let n_read = file.read(buffer)?;
            if n_read > 0 {
                self.position += n_read as u64;
                return Ok(Read1::Data(n_read));
            }
            self.file = None;
            self.position = 0;
            return Ok(Read1::Rotated);
        }
        if named.len() < self.position {
            file.seek(SeekFrom::Start(0))?;
            self.position = 0;
            return Ok(Read1::Rotated);
        }
        Ok(Read1::Nothing)
    }

    fn open(&mut self) -> io::Result<Read1> {
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Read1::Nothing),
            Err(error) => return Err(error),
        };
        let metadata = file.metadata()?;
        self.inode = metadata.ino();
        self.position = self.position.min(metadata.len());
        file.seek(SeekFrom::Start(self.position))?;
        self.file = Some(file);
        Ok(Read1::Nothing)
    }
}

#[cfg(test)]
mod tests;
