//! What container runtimes put around a line, and the joining of lines they cut.
//!
//! CRI runtimes write `2026-09-11T07:22:25.408586123Z stderr F message`; a message longer than 16 KiB is cut into
//! fragments tagged `P` and a last one tagged `F`. Docker's json-file driver writes
//! `{"log":"message\n","stream":"stderr","time":"…"}` and leaves the newline out of a fragment that continues.
//! Source: cri-api `runtime/v1`, containerd `internal/cri/io/logger.go`; moby `daemon/logger/jsonfilelog`.

use crate::json::Members;
use crate::parts::{Part, Parts};
use crate::scan::find;

/// Which of a container's two outputs a line came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

impl Stream {
    /// `stdout` or `stderr`.
    pub fn name(self) -> &'static str {
        match self {
            Stream::Stdout => "stdout",
            Stream::Stderr => "stderr",
        }
    }

    fn parse(name: &[u8]) -> Option<Stream> {
        match name {
            b"stdout" => Some(Stream::Stdout),
            b"stderr" => Some(Stream::Stderr),
            _ => None,
        }
    }
}

/// One line of a container's log file, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// When the runtime read it, as written: RFC 3339 with nanoseconds.
    pub time: &'a [u8],
    /// Which output it came from.
    pub stream: Stream,
    /// More of the same line follows in the next entry of this stream.
    pub partial: bool,
    /// What the program wrote. In a json-file line it still has JSON escapes.
    pub content: &'a [u8],
    /// Whether `content` has JSON escapes.
    pub escaped: bool,
}

/// Takes a line in the CRI format apart; `None` when it is not one.
#[inline]
pub fn parse(line: &[u8]) -> Option<Entry<'_>> {
    if line.get(4) != Some(&b'-') || line.get(10) != Some(&b'T') {
        return None;
    }
    let time = find(line, 19, b' ')?;
    let stream = Stream::parse(line.get(time + 1..time + 7)?)?;
    let tags = time + 8;
    if line.get(time + 7) != Some(&b' ') {
        return None;
    }
    let partial = match line.get(tags)? {
        b'P' => true,
        b'F' => false,
        _ => return None,
    };
    // Further tags may follow a colon; the content begins after one space.
    let content = match line.get(tags + 1) {
        Some(b' ') => tags + 2,
        Some(b':') => find(line, tags, b' ')? + 1,
        None => tags + 1,
        Some(_) => return None,
    };
    let content = line.get(content..).unwrap_or(&[]);
    Some(Entry {
        time: &line[..time],
        stream,
        partial,
        content,
        escaped: false,
    })
}

/// Takes a line of Docker's json-file driver apart; `None` when it is not one.
pub fn parse_json_file(line: &[u8]) -> Option<Entry<'_>> {
    if !line.starts_with(b"{\"log\":\"") {
        return None;
    }
    let mut members = Members::new(line, 0);
    let (mut content, mut stream, mut time) = (None, None, &b""[..]);
    while let Some((key, value)) = members.next() {
        let text = value.span.of(line);
        match key.of(line) {
            b"log" => content = Some(text),
            b"stream" => stream = Stream::parse(text),
            b"time" => time = text,
            _ => {}
        }
    }
    let (content, stream) = (content?, stream?);
    let whole = content.strip_suffix(b"\\n");
    Some(Entry {
        time,
        stream,
        partial: whole.is_none(),
        content: whole.unwrap_or(content),
        escaped: true,
    })
}

/// Joins the fragments of each stream of one container.
///
/// Memory: at most the limit for each of the two streams, held only while fragments are open.
#[derive(Clone, Debug)]
pub struct Joiner {
    open: [Parts; 2],
}

impl Joiner {
    /// A joiner whose lines, or parts of them, are at most `limit` bytes long.
    pub fn new(limit: usize) -> Joiner {
        Joiner {
            open: [Parts::new(limit), Parts::new(limit)],
        }
    }

    /// Adds one entry and hands out the line it completes, or parts of a line beyond the limit. A whole line that was
    /// never cut is passed through without a copy.
    #[inline]
    pub fn push(&mut self, entry: &Entry<'_>, each: impl FnMut(&[u8], Part)) {
        let open = &mut self.open[entry.stream as usize];
        if entry.partial {
            open.add(entry.content, each);
        } else {
            open.end(entry.content, each);
        }
    }

    /// What is left of a stream when its file ends: the fragments of a line whose last part never came.
    pub fn finish(&mut self, stream: Stream, each: impl FnMut(&[u8], Part)) {
        let open = &mut self.open[stream as usize];
        if open.is_open() {
            open.end(b"", each);
        }
    }

    /// Whether fragments of a line are waiting for their end.
    pub fn is_pending(&self, stream: Stream) -> bool {
        self.open[stream as usize].is_open()
    }

    /// Bytes of fragments that were not handed out.
    pub fn n_pending(&self) -> usize {
        self.open.iter().map(Parts::n_kept).sum()
    }
}

#[cfg(test)]
mod tests;
