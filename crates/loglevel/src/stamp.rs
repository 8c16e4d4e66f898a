//! Finds the timestamp at the head of a line and says what it looks like.
//!
//! Only the shape is checked here, digit by digit; what moment it means is `time`'s question and asked far less often.

use crate::scan::{digits_end, shaped, skip_spaces};

/// How a timestamp is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// `2026-09-11T07:22:25`
    IsoT,
    /// `2026-09-11 07:22:25`
    IsoSpace,
    /// `2026/09/11 07:22:25`
    Slash,
    /// `2026.09.11 07:22:25`
    Dot,
    /// `26/09/11 07:22:25`
    ShortSlash,
    /// `09/11/2026, 7:22:25 AM`
    American,
    /// `09-11 07:22:25` or `09-11|07:22:25`
    MonthDay,
    /// `Sep 11 07:22:25`
    MonthName,
    /// `Sep 11, 2026 7:22:25 AM`
    MonthNameYear,
    /// `11-Sep-2026 07:22:25` or `11 Sep 2026 07:22:25`
    DayMonthName,
    /// `Fri Sep 11 07:22:25 2026`
    Weekday,
    /// `07:22:25`
    Clock,
    /// `10:45AM`
    Clock12,
    /// `1789111345.408586` or milliseconds, also with an exponent
    Epoch,
}

/// A recognised timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) shape: Shape,
    /// One past its last byte, zone included.
    pub(crate) end: usize,
    /// Whether the fraction stands after a comma.
    pub(crate) comma: bool,
    /// Whether there is a fraction.
    pub(crate) fraction: bool,
    /// Whether it says its zone.
    pub(crate) zoned: bool,
}

/// The timestamp that begins at `at`.
pub(crate) fn stamp(line: &[u8], at: usize) -> Option<Stamp> {
    match line.get(at)? {
        b'0'..=b'9' => numeric(line, at),
        b'A'..=b'Z' => named(line, at),
        _ => None,
    }
}

fn numeric(line: &[u8], at: usize) -> Option<Stamp> {
    if line.get(at + 1) == Some(&b':') {
        return twelve_hours(line, at, Shape::Clock12);
    }
    let (shape, clock) = match line.get(at + 2)? {
        b':' => {
            return if shaped(line, at, b"00:00:00") {
                Some(after_clock(line, at + 8, Shape::Clock))
            } else {
                twelve_hours(line, at, Shape::Clock12)
            };
        }
        b'/' if shaped(line, at, b"00/00/00 00:00:00") => (Shape::ShortSlash, at + 9),
        b'/' if shaped(line, at, b"00/00/0000, ") => {
            return twelve_hours(line, at + 12, Shape::American);
        }
        b'-' if shaped(line, at, b"00-00 00:00:00") || shaped(line, at, b"00-00|00:00:00") => {
            (Shape::MonthDay, at + 6)
        }
        b'-' | b' ' => return day_month_name(line, at),
        b'0'..=b'9' => return year_first(line, at),
        _ => return twelve_hours(line, at, Shape::Clock12),
    };
    Some(after_clock(line, clock + 8, shape))
}

fn year_first(line: &[u8], at: usize) -> Option<Stamp> {
    let date = |shape| shaped(line, at, shape);
    let (shape, clock) = match (line.get(at + 4)?, line.get(at + 10)) {
        (b'-', Some(b'T')) if date(b"0000-00-00") => (Shape::IsoT, at + 11),
        (b'-', Some(b' ')) if date(b"0000-00-00") => (Shape::IsoSpace, at + 11),
        (b'/', Some(b' ')) if date(b"0000/00/00") => (Shape::Slash, at + 11),
        (b'.', Some(b' ')) if date(b"0000.00.00") => (Shape::Dot, at + 11),
        (b'0'..=b'9', _) => return epoch(line, at),
        _ => return None,
    };
    if shaped(line, clock, b"00:00:00") {
        return Some(after_clock(line, clock + 8, shape));
    }
    // MariaDB pads the hour with a space.
    let hour = skip_spaces(line, clock);
    (shape == Shape::IsoSpace && hour <= clock + 1 && shaped(line, hour, b"0:00:00"))
        .then(|| after_clock(line, hour + 7, shape))
}

/// The fraction and the zone.
fn after_clock(line: &[u8], mut end: usize, shape: Shape) -> Stamp {
    let mut stamp = Stamp {
        shape,
        end,
        comma: false,
        fraction: false,
        zoned: false,
    };
    if let Some(separator @ (b'.' | b',')) = line.get(end) {
        let digits = digits_end(line, end + 1);
        if digits > end + 1 && digits < end + 11 {
            stamp.fraction = true;
            stamp.comma = *separator == b',';
            end = digits;
        }
    }
    if let Some(zone) = zone_end(line, end) {
        stamp.zoned = true;
        end = zone;
    }
    stamp.end = end;
    stamp
}

/// The end of `Z`, `+09:00`, ` +0900`, ` UTC` and the like.
fn zone_end(line: &[u8], at: usize) -> Option<usize> {
    let start = match line.get(at)? {
        b'Z' => return Some(at + 1),
        b'+' | b'-' => at,
        b' ' => match line.get(at + 1)? {
            b'+' | b'-' => at + 1,
            b'A'..=b'Z' => return zone_name_end(line, at + 1),
            _ => return None,
        },
        _ => return None,
    };
    if shaped(line, start + 1, b"00:00") {
        Some(start + 6)
    } else if shaped(line, start + 1, b"0000") {
        Some(start + 5)
    } else {
        None
    }
}

/// Zone names that loggers print. Not a list of all zones: `INFO` must never look like one.
fn zone_name_end(line: &[u8], at: usize) -> Option<usize> {
    const NAMES: [&[u8]; 14] = [
        b"UTC", b"GMT", b"CET", b"CEST", b"EST", b"EDT", b"CST", b"CDT", b"MST", b"MDT", b"PST",
        b"PDT", b"JST", b"IST",
    ];
    let end = crate::scan::letters_end(line, at);
    NAMES.contains(&&line[at..end]).then_some(end)
}

/// `10:45AM`, `7:22:25 AM`.
fn twelve_hours(line: &[u8], at: usize, shape: Shape) -> Option<Stamp> {
    let hour = digits_end(line, at);
    if hour == at || hour > at + 2 || !shaped(line, hour, b":00") {
        return None;
    }
    let mut end = hour + 3;
    if shaped(line, end, b":00") {
        end += 3;
    }
    let half = skip_spaces(line, end);
    matches!(line.get(half..half + 2)?, b"AM" | b"PM").then_some(Stamp {
        shape,
        end: half + 2,
        comma: false,
        fraction: false,
        zoned: false,
    })
}

fn is_month(line: &[u8], at: usize) -> bool {
    const MONTHS: [&[u8]; 12] = [
        b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov",
        b"Dec",
    ];
    line.get(at..at + 3)
        .is_some_and(|name| MONTHS.contains(&name))
}

/// `11-Sep-2026 07:22:25`, `11 Sep 2026 07:22:25`.
fn day_month_name(line: &[u8], at: usize) -> Option<Stamp> {
    let separated = shaped(line, at, b"00-") && shaped(line, at + 6, b"-0000 00:00:00")
        || shaped(line, at, b"00 ") && shaped(line, at + 6, b" 0000 00:00:00");
    (separated && is_month(line, at + 3)).then(|| after_clock(line, at + 20, Shape::DayMonthName))
}

/// Stamps that begin with the name of a month or weekday.
fn named(line: &[u8], at: usize) -> Option<Stamp> {
    if is_month(line, at) && line.get(at + 3) == Some(&b' ') {
        return month_name(line, at);
    }
    // `Fri Sep 11 07:22:25.408586 2026`
    let weekday = matches!(
        line.get(at..at + 4)?,
        b"Mon " | b"Tue " | b"Wed " | b"Thu " | b"Fri " | b"Sat " | b"Sun "
    );
    if !weekday || !is_month(line, at + 4) {
        return None;
    }
    let clock = month_name(line, at + 4)?;
    let year = shaped(line, clock.end, b" 0000");
    Some(Stamp {
        shape: Shape::Weekday,
        end: clock.end + if year { 5 } else { 0 },
        ..clock
    })
}

fn month_name(line: &[u8], at: usize) -> Option<Stamp> {
    let day = skip_spaces(line, at + 3);
    let after = digits_end(line, day);
    if after == day || after > day + 2 {
        return None;
    }
    if shaped(line, after, b", 0000 ") {
        return twelve_hours(line, after + 7, Shape::MonthNameYear);
    }
    shaped(line, after, b" 00:00:00").then(|| after_clock(line, after + 9, Shape::MonthName))
}

/// Seconds with a fraction, or milliseconds to nanoseconds, of this century: ten digits or more.
fn epoch(line: &[u8], at: usize) -> Option<Stamp> {
    let mut end = digits_end(line, at);
    let n_digits = end - at;
    if !matches!(n_digits, 10 | 13 | 16 | 19) {
        return None;
    }
    let fraction =
        line.get(end) == Some(&b'.') && line.get(end + 1).is_some_and(u8::is_ascii_digit);
    if fraction {
        end = digits_end(line, end + 1);
    }
    matches!(line.get(end), Some(b'\t' | b' ' | b']')).then_some(Stamp {
        shape: Shape::Epoch,
        end,
        comma: false,
        fraction,
        zoned: true,
    })
}

/// zap's production console writes the epoch with an exponent: `1.789111345408586e+09`.
pub(crate) fn exponent_epoch(line: &[u8], at: usize) -> Option<Stamp> {
    if !shaped(line, at, b"0.0") {
        return None;
    }
    let end = digits_end(line, at + 2);
    shaped(line, end, b"e+00").then_some(Stamp {
        shape: Shape::Epoch,
        end: end + 4,
        comma: false,
        fraction: true,
        zoned: true,
    })
}

#[cfg(test)]
mod tests;
