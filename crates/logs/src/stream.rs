//! Bytes of one input in, records out.
//!
//! A [`Stream`] cuts its input into lines, takes off what a container runtime put around them, joins fragments and
//! multi-line records apart for stdout and stderr, and hands out each complete [`Entry`]. A line beyond the limit of a
//! record comes in numbered parts, so that nothing of it is lost. Memory: the limits of
//! `flotilla_loglevel::{lines, cri, multiline}` for each stream, and only while something is open.

mod giant;

use flotilla_loglevel::cri;
use flotilla_loglevel::lines::{LINE_BYTES_MAX, Line, Lines};
use flotilla_loglevel::multiline::{Joiner, Step};
use flotilla_loglevel::time::Context;
use flotilla_loglevel::{
    Hint, Level, Notes, Part, Record, Source, Span, classify, classify_noting,
};

use crate::entry::Entry;
use crate::json;
use giant::Giant;

/// What stands around the lines of an input. Looked at line by line, since rotated files may mix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wrapper {
    /// Find out for every line.
    #[default]
    Detect,
    /// Lines as programs wrote them.
    None,
}

/// One input.
#[derive(Debug)]
pub struct Stream {
    lines: Lines,
    inner: Inner,
}

#[derive(Debug)]
struct Inner {
    wrapper: Wrapper,
    fragments: cri::Joiner,
    /// What a runtime wrote before a line that comes in parts itself.
    long: Option<Box<Long>>,
    /// stdout (or the whole input), stderr.
    sides: [Side; 2],
    scratch: Vec<u8>,
    context: Context,
    /// Notes for the next line, when they are kept.
    notes: Option<Box<Notes>>,
    /// Input bytes of all lines so far.
    n_taken: u64,
}

/// One output of a container.
#[derive(Debug, Default)]
struct Side {
    hint: Hint,
    joiner: Joiner,
    open: bool,
    record: Record,
    bytes: Vec<u8>,
    head_end: usize,
    observed: Vec<u8>,
    stream: Option<cri::Stream>,
    /// The line that is being handed out in parts. Boxed, because ten thousand inputs have none.
    giant: Option<Box<Giant>>,
    /// The pairs of the open record's first line, when they are kept.
    notes: Option<Box<Notes>>,
    /// Where in the input the open record began.
    begin: u64,
    /// Where in the input the open fragments began.
    fragments_begin: Option<u64>,
}

/// The head of a physical line that is longer than the limit.
#[derive(Debug)]
struct Long {
    time: Vec<u8>,
    stream: cri::Stream,
    partial: bool,
}

impl Stream {
    /// An input whose timestamps without year or zone are read in `context`.
    pub fn new(wrapper: Wrapper, context: Context) -> Stream {
        let inner = Inner {
            wrapper,
            fragments: cri::Joiner::new(LINE_BYTES_MAX),
            long: None,
            sides: [Side::default(), Side::default()],
            scratch: Vec::new(),
            context,
            notes: None,
            n_taken: 0,
        };
        Stream {
            lines: Lines::new(LINE_BYTES_MAX),
            inner,
        }
    }

    /// Sets the level of lines that say none, for stdout (or an input without a wrapper) and for stderr.
    pub fn with_defaults(mut self, stdout: Level, stderr: Level) -> Stream {
        self.inner.sides[0].hint = Hint::with_default(stdout);
        self.inner.sides[1].hint = Hint::with_default(stderr);
        self
    }

    /// Sets how long a record may be, in bytes; a longer line comes in parts. At least 64, so that what a runtime writes
    /// before a line is not cut; default [`LINE_BYTES_MAX`] for one line and `multiline::BYTES_MAX` for several.
    pub fn with_record_limit(mut self, bytes_max: usize) -> Stream {
        let bytes_max = bytes_max.max(64);
        self.inner.fragments = cri::Joiner::new(bytes_max);
        for side in &mut self.inner.sides {
            side.joiner = Joiner::new(bytes_max);
        }
        self.lines = Lines::new(bytes_max);
        self
    }

    /// Keeps the pairs of open records, for whoever writes their fields: faster, but a kilobyte for each output.
    pub fn with_notes(mut self) -> Stream {
        self.inner.notes = Some(Box::default());
        self
    }

    /// Adds bytes and hands every record they complete to `each`. `now_ms` is any steady clock, in milliseconds.
    pub fn push(&mut self, chunk: &[u8], now_ms: u64, mut each: impl FnMut(&Entry<'_>)) {
        let inner = &mut self.inner;
        self.lines
            .push(chunk, |line| inner.line(&line, now_ms, &mut each));
    }

    /// Hands out the records that have waited long enough for more lines.
    pub fn idle(&mut self, now_ms: u64, mut each: impl FnMut(&Entry<'_>)) {
        let context = self.inner.context;
        for side in &mut self.inner.sides {
            if side.joiner.idle(now_ms) {
                side.finish(&context, &mut each);
                side.release();
            }
        }
    }

    /// Hands out what is open, complete or not: the input has ended.
    pub fn finish(&mut self, now_ms: u64, mut each: impl FnMut(&Entry<'_>)) {
        let inner = &mut self.inner;
        self.lines
            .finish(|line| inner.line(&line, now_ms, &mut each));
        for (side, stream) in inner
            .sides
            .iter_mut()
            .zip([cri::Stream::Stdout, cri::Stream::Stderr])
        {
            let mut surroundings = Surroundings {
                now_ms,
                context: &inner.context,
                notes: &mut inner.notes,
            };
            inner.fragments.finish(stream, |line, part| {
                let about = About {
                    observed: b"",
                    stream: Some(stream),
                    part,
                    begin: inner.n_taken,
                };
                side.line(line, &about, &mut surroundings, &mut each);
            });
            side.fragments_begin = None;
            side.finish(&inner.context, &mut each);
        }
    }

    /// Bytes that belong to records not handed out yet.
    pub fn n_pending(&self) -> usize {
        self.lines.n_pending()
            + self.inner.fragments.n_pending()
            + self
                .inner
                .sides
                .iter()
                .map(|side| side.bytes.len())
                .sum::<usize>()
    }

    /// How many bytes of the input have been handed out completely: everything before is in some entry already.
    pub fn n_done(&self) -> u64 {
        let sides = self.inner.sides.iter().filter_map(|side| {
            let record = side.open.then_some(side.begin);
            [record, side.fragments_begin].into_iter().flatten().min()
        });
        sides.min().unwrap_or(self.inner.n_taken)
    }

    /// Begins to count from 0 again, for an input that was cut short. Nothing may be open.
    pub fn restart(&mut self) {
        self.inner.n_taken = 0;
    }

    /// Whether anything is open: a record, fragments or half a line.
    pub fn is_open(&self) -> bool {
        let fragments = &self.inner.fragments;
        self.lines.n_pending() > 0
            || self.inner.sides.iter().any(|side| side.open)
            || fragments.is_pending(cri::Stream::Stdout)
            || fragments.is_pending(cri::Stream::Stderr)
    }
}

/// What all lines of an input share.
struct Surroundings<'a> {
    now_ms: u64,
    context: &'a Context,
    notes: &'a mut Option<Box<Notes>>,
}

/// What is known about a line beside its bytes.
struct About<'a> {
    observed: &'a [u8],
    stream: Option<cri::Stream>,
    part: Part,
    begin: u64,
}

impl Inner {
    #[inline]
    fn line(&mut self, line: &Line<'_>, now_ms: u64, each: &mut impl FnMut(&Entry<'_>)) {
        let begin = self.n_taken;
        self.n_taken += line.n_taken as u64;
        let mut surroundings = Surroundings {
            now_ms,
            context: &self.context,
            notes: &mut self.notes,
        };
        let mut long = if line.part.index > 0 {
            self.long.take()
        } else {
            None
        };
        let entry = match self.wrapper {
            Wrapper::None => None,
            Wrapper::Detect if line.part.index > 0 => long.as_ref().map(|long| cri::Entry {
                time: &long.time,
                stream: long.stream,
                partial: long.partial || !line.part.is_last,
                content: line.bytes,
                escaped: false,
            }),
            Wrapper::Detect => cri::parse(line.bytes).or_else(|| cri::parse_json_file(line.bytes)),
        };
        let Some(mut entry) = entry else {
            let about = About {
                observed: b"",
                stream: None,
                part: line.part,
                begin,
            };
            self.sides[0].line(line.bytes, &about, &mut surroundings, each);
            return;
        };
        if entry.escaped {
            self.scratch.clear();
            json::unescape(entry.content, &mut self.scratch);
            entry.content = &self.scratch;
        }
        let opened = (line.part.index == 0 && !line.part.is_last).then(|| {
            Box::new(Long {
                time: entry.time.to_vec(),
                stream: entry.stream,
                partial: entry.partial,
            })
        });
        entry.partial |= opened.is_some();
        let side = &mut self.sides[entry.stream as usize];
        let begin = side.fragments_begin.unwrap_or(begin);
        side.fragments_begin = entry.partial.then_some(begin);
        self.fragments.push(&entry, |whole, part| {
            let about = About {
                observed: entry.time,
                stream: Some(entry.stream),
                part,
                begin,
            };
            side.line(whole, &about, &mut surroundings, each);
        });
        if !line.part.is_last {
            self.long = opened.or_else(|| long.take());
        }
    }
}

impl Side {
    #[inline]
    fn line(
        &mut self,
        line: &[u8],
        about: &About<'_>,
        surroundings: &mut Surroundings<'_>,
        each: &mut impl FnMut(&Entry<'_>),
    ) {
        if !about.part.is_whole() {
            return self.part(line, about, surroundings.context, each);
        }
        let record = match surroundings.notes {
            Some(notes) => classify_noting(line, &self.hint, notes),
            None => classify(line, &self.hint),
        };
        self.hint.learn(&record);
        match self.joiner.step(line, &record, surroundings.now_ms) {
            Step::Start => {
                self.finish(surroundings.context, each);
                if let Some(notes) = surroundings.notes {
                    std::mem::swap(self.notes.get_or_insert_default(), notes);
                }
                self.open = true;
                self.record = record;
                self.bytes.extend_from_slice(line);
                self.head_end = line.len();
                self.observed.extend_from_slice(about.observed);
                self.stream = about.stream;
                self.begin = about.begin;
            }
            Step::Join => self.join(line, record),
        }
    }

    /// Gives back what the last record took, so that ten thousand silent inputs stay small.
    fn release(&mut self) {
        if !self.open {
            self.bytes = Vec::new();
            self.observed = Vec::new();
            self.notes = None;
        }
    }

    /// Hands out a part of a line at once; nothing joins it.
    fn part(
        &mut self,
        bytes: &[u8],
        about: &About<'_>,
        context: &Context,
        each: &mut impl FnMut(&Entry<'_>),
    ) {
        // The message is all of the part, so that the messages of all parts add up to the line.
        let first = (about.part.index == 0).then(|| Record {
            message: Span::new(0, bytes.len()),
            quoted: false,
            rest: Span::default(),
            ..classify(bytes, &self.hint)
        });
        if let Some(record) = &first {
            self.joiner.close();
            self.finish(context, each);
            self.hint.learn(record);
        }
        let giant = match (self.giant.take(), &first) {
            (Some(giant), None) => giant,
            (_, Some(record)) => Box::new(Giant::new(bytes, record, about)),
            (None, None) => Box::new(Giant::new(bytes, &Record::default(), about)),
        };
        each(&Entry {
            bytes,
            record: &first.unwrap_or_else(|| giant.record(bytes.len())),
            head_end: bytes.len(),
            observed: &giant.observed,
            stream: giant.stream,
            context: *context,
            part: Some(giant.part(about.part)),
            notes: None,
        });
        self.giant = (!about.part.is_last).then_some(giant);
    }

    fn join(&mut self, line: &[u8], record: Record) {
        self.bytes.push(b'\n');
        let start = self.bytes.len();
        self.bytes.extend_from_slice(line);
        // java.util.logging says the level in its second line, .NET the message.
        if self.record.severity == 0 && matches!(record.source, Source::Header | Source::Token) {
            self.record.level = record.level;
            self.record.severity = record.severity;
            self.record.source = record.source;
            self.record.level_raw = moved(record.level_raw, start);
            self.record.message = moved(record.message, start);
        } else if self.record.message.is_empty() {
            let blanks = line
                .iter()
                .take_while(|byte| byte.is_ascii_whitespace())
                .count();
            self.record.message = Span::new(start + blanks, self.bytes.len());
        }
    }

    #[inline]
    fn finish(&mut self, context: &Context, each: &mut impl FnMut(&Entry<'_>)) {
        if !self.open {
            return;
        }
        each(&Entry {
            bytes: &self.bytes,
            record: &self.record,
            head_end: self.head_end,
            observed: &self.observed,
            stream: self.stream,
            context: *context,
            part: None,
            notes: self.notes.as_deref(),
        });
        self.open = false;
        self.bytes.clear();
        // Give back what a long record took, so that ten thousand idle inputs stay small.
        if self.bytes.capacity() > 4 << 10 {
            self.bytes = Vec::new();
        }
        self.observed.clear();
    }
}

fn moved(span: Span, by: usize) -> Span {
    if span.is_empty() {
        span
    } else {
        Span::new(span.start as usize + by, span.end as usize + by)
    }
}

#[cfg(test)]
mod tests;
