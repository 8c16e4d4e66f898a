//! Fuzz bodies as ordinary functions: the fuzz targets under `fuzz/` and a test of this crate call them.
//!
//! Each panics when a promise is broken.

use crate::cri::{Entry, Joiner, Stream};
use crate::lines::Lines;
use crate::{Hint, Notes, Record, Span, classify, classify_noting, cri, multiline, time};

/// [`classify`] keeps every span inside the line, what hangs on a record is walked too, and notes change nothing.
pub fn classify_any(data: &[u8]) {
    let mut hint = Hint::default();
    let mut joiner = multiline::Joiner::default();
    let mut notes = Notes::default();
    for line in data.split(|byte| *byte == b'\n') {
        let record = classify(line, &hint);
        check(line, &record);
        assert_eq!(classify_noting(line, &hint, &mut notes), record);
        assert!(
            record.fields_noted(line, &notes).eq(record.fields(line)),
            "fields depend on notes"
        );
        hint.learn(&record);
        joiner.step(line, &record, 0);
        assert!(record.fields(line).take(100_000).count() <= line.len());
        let context = time::Context {
            observed: Some(1_789_111_345_408_586_000),
            zone_seconds: None,
        };
        time::parse(record.timestamp.of(line), &context);
        time::parse(line, &time::Context::default());
        same_moment(record.timestamp.of(line));
    }
}

/// The short way to write a moment says what the long way says.
fn same_moment(text: &[u8]) {
    for zone_seconds in [None, Some(0)] {
        let context = time::Context {
            zone_seconds,
            ..time::Context::default()
        };
        if let Some(short) = time::utc_as_written(text, zone_seconds.is_some()) {
            let mut long = Vec::new();
            let moment = time::parse(text, &context);
            time::write_rfc3339(moment.expect("it was read the short way"), &mut long);
            assert_eq!(long, short);
        }
    }
}

fn check(line: &[u8], record: &Record) {
    let spans = [
        record.level_raw,
        record.timestamp,
        record.logger,
        record.caller,
        record.thread,
        record.message,
        record.error,
        record.rest,
    ];
    for Span { start, end } in spans {
        assert!(
            start >= end || end as usize <= line.len(),
            "a span leaves the line"
        );
    }
    assert_eq!(record.level, crate::Level::of_severity(record.severity));
    assert_eq!(
        record.severity == 0,
        record.source == crate::Source::None,
        "a level without a source"
    );
    assert!(record.confidence <= 100);
}

/// Multi-line joining respects its limits and never joins the first line; the first byte sets the pace of the clock.
pub fn multiline_any(data: &[u8]) {
    let Some((pace, data)) = data.split_first() else {
        return;
    };
    let (mut hint, mut joiner) = (Hint::default(), multiline::Joiner::default());
    let (mut now_ms, mut n_lines, mut n_bytes) = (0u64, 0u32, 0usize);
    for (index, line) in data.split(|byte| *byte == b'\n').enumerate() {
        now_ms += u64::from(*pace) * 4;
        let record = classify(line, &hint);
        hint.learn(&record);
        match joiner.step(line, &record, now_ms) {
            multiline::Step::Start => (n_lines, n_bytes) = (1, line.len()),
            multiline::Step::Join => {
                n_lines += 1;
                n_bytes += line.len() + 1;
                assert!(
                    index > 0 && n_lines <= multiline::LINES_MAX && n_bytes <= multiline::BYTES_MAX
                );
                assert!(u64::from(*pace) * 4 <= multiline::IDLE_MS);
            }
        }
        assert_eq!(joiner.n_lines(), n_lines);
    }
}

/// CRI joining: fragments of a stream add up to its lines, in parts within the limit, whatever the other stream does
/// between.
pub fn cri_any(data: &[u8]) {
    const LIMIT: usize = 64;
    for line in data.split(|byte| *byte == b'\n') {
        let _ = (cri::parse(line), cri::parse_json_file(line));
    }
    let mut joiner = Joiner::new(LIMIT);
    let (mut expected, mut seen) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    let mut n_parts = [0; 2];
    for chunk in data.chunks(29) {
        let stream = if chunk[0] & 1 == 0 {
            Stream::Stdout
        } else {
            Stream::Stderr
        };
        let side = stream as usize;
        let entry = Entry {
            time: b"",
            stream,
            partial: chunk[0] & 6 != 0,
            content: &chunk[1..],
            escaped: false,
        };
        expected[side].extend_from_slice(entry.content);
        joiner.push(&entry, |bytes, part| {
            assert!(bytes.len() <= LIMIT && part.index == n_parts[side]);
            assert!(
                !(part.is_last && entry.partial),
                "a line ends before its last entry"
            );
            seen[side].extend_from_slice(bytes);
            n_parts[side] = if part.is_last { 0 } else { part.index + 1 };
        });
        if !entry.partial {
            assert_eq!(seen[side], expected[side]);
            assert!(!joiner.is_pending(stream));
            expected[side].clear();
            seen[side].clear();
        }
        assert!(joiner.n_pending() <= 2 * LIMIT);
    }
}

/// Lines do not depend on how their bytes were cut into chunks. The first byte chooses the size of the chunks.
pub fn chunks_any(data: &[u8]) {
    let Some((size, data)) = data.split_first() else {
        return;
    };
    let collect = |size: usize| {
        let (mut lines, mut seen, mut hint) = (Lines::new(1 << 10), Vec::new(), Hint::default());
        let mut each = |line: crate::lines::Line<'_>| {
            let record = classify(line.bytes, &hint);
            hint.learn(&record);
            seen.push((line.bytes.to_vec(), line.part, line.n_taken, record));
        };
        for chunk in data.chunks(size) {
            lines.push(chunk, &mut each);
        }
        lines.finish(&mut each);
        seen
    };
    assert_eq!(
        collect(usize::from(*size).max(1)),
        collect(data.len().max(1))
    );
}

#[cfg(test)]
mod tests;
