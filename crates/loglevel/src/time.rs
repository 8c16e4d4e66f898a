//! From a timestamp as written to a moment.
//!
//! klog writes neither year nor zone, others leave out one of them. The container runtime's own timestamp, taken when it
//! read the line, tells both: the year is the latest that puts the line before it, and the zone is the whole quarter of an
//! hour that brings the two together. That is exact as long as the runtime read the line within minutes of its writing, and
//! it makes New Year and daylight saving time unremarkable.

use crate::scan::{digits_end, shaped, skip_spaces};
use crate::stamp::{Shape, Stamp, exponent_epoch, stamp};

/// Nanoseconds since 1970 UTC. The range, 1677 to 2262, covers every log there is.
pub type Nanos = i64;

const SECOND: i64 = 1_000_000_000;
const QUARTER_HOUR: i64 = 900 * SECOND;
const DAY: i64 = 86_400 * SECOND;

/// What is known beside the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// When the runtime read the line.
    pub observed: Option<Nanos>,
    /// The zone of the node, in seconds east of UTC, where it is known.
    pub zone_seconds: Option<i32>,
}

/// The moment a timestamp names; `None` when it is not one, or lacks a date or year that `ctx` cannot supply.
///
/// Without any knowledge of the zone, UTC is assumed.
pub fn parse(text: &[u8], ctx: &Context) -> Option<Nanos> {
    if let Some(clock) = klog_clock(text) {
        return klog(text, clock, ctx);
    }
    let stamp = stamp(text, 0)
        .or_else(|| exponent_epoch(text, 0))
        .or_else(|| bare_epoch(text))?;
    if stamp.shape == Shape::Epoch {
        return epoch(&text[..stamp.end]);
    }
    let (date, clock_at) = date(text, &stamp)?;
    let clock = clock(text, clock_at)?;
    let offset = if stamp.zoned {
        zone(text, stamp.end)
    } else {
        None
    };
    match (date, offset) {
        (Some((year, month, day)), Some(offset)) => {
            Some(days(year, month, day)? * 86_400 * SECOND + clock - offset * SECOND)
        }
        (Some((0, month, day)), None) => local(month, day, clock, ctx),
        (Some((year, month, day)), None) => {
            let wall = days(year, month, day)? * 86_400 * SECOND + clock;
            Some(in_zone(wall, ctx))
        }
        (None, _) => time_of_day(clock, ctx),
    }
}

/// Where the time of day begins in a packed klog, glog or CockroachDB stamp.
fn klog_clock(text: &[u8]) -> Option<usize> {
    let digits = digits_end(text, 0);
    (matches!(digits, 4 | 6 | 8) && shaped(text, digits, b" 00:00:00")).then_some(digits + 1)
}

fn klog(text: &[u8], clock_at: usize, ctx: &Context) -> Option<Nanos> {
    let clock = clock(text, clock_at)?;
    let date = clock_at - 1;
    let (month, day) = (number(text, date - 4, 2)?, number(text, date - 2, 2)?);
    match date {
        4 => local(month, day, clock, ctx),
        6 => Some(in_zone(
            days(2000 + number(text, 0, 2)?, month, day)? * 86_400 * SECOND + clock,
            ctx,
        )),
        _ => Some(in_zone(
            days(number(text, 0, 4)?, month, day)? * 86_400 * SECOND + clock,
            ctx,
        )),
    }
}

/// A date without a year: the latest one that is not after the observed moment, give or take a day for clocks and zones
/// that differ. 29 February may lie up to eight years back.
fn local(month: i64, day: i64, clock: i64, ctx: &Context) -> Option<Nanos> {
    let observed = ctx.observed?;
    let latest = observed.saturating_add(DAY);
    let year = year_of(observed);
    (year - 8..=year + 1).rev().find_map(|year| {
        let moment = in_zone(days(year, month, day)? * DAY + clock, ctx);
        (moment <= latest).then_some(moment)
    })
}

/// A wall clock reading as a moment: in the given zone, else in the zone that fits the observed moment, else in UTC.
fn in_zone(wall: i64, ctx: &Context) -> Nanos {
    if let Some(seconds) = ctx.zone_seconds {
        return wall - i64::from(seconds) * SECOND;
    }
    let Some(observed) = ctx.observed else {
        return wall;
    };
    let offset = (wall - observed + QUARTER_HOUR / 2).div_euclid(QUARTER_HOUR) * QUARTER_HOUR;
    // Zones reach from -12 to +14 hours; anything else is an old line, not a zone.
    if (-12 * 4 * QUARTER_HOUR..=14 * 4 * QUARTER_HOUR).contains(&offset) {
        wall - offset
    } else {
        wall
    }
}

/// A time of day without a date: the day that lands closest to the observed moment.
fn time_of_day(clock: i64, ctx: &Context) -> Option<Nanos> {
    let observed = ctx.observed?;
    let day = observed.div_euclid(86_400 * SECOND);
    (day - 1..=day + 1)
        .map(|day| in_zone(day * 86_400 * SECOND + clock, ctx))
        .min_by_key(|moment| moment.abs_diff(observed))
}

/// Year, month and day (`year` 0 when absent; `None` without any date) and where the time of day begins.
type Date = (Option<(i64, i64, i64)>, usize);

fn date(text: &[u8], stamp: &Stamp) -> Option<Date> {
    let ymd = |year, month, day| Some((year, month, day));
    Some(match stamp.shape {
        Shape::IsoT | Shape::IsoSpace | Shape::Slash | Shape::Dot => (
            ymd(
                number(text, 0, 4)?,
                number(text, 5, 2)?,
                number(text, 8, 2)?,
            ),
            skip_spaces(text, 11),
        ),
        Shape::ShortSlash => (
            ymd(
                2000 + number(text, 0, 2)?,
                number(text, 3, 2)?,
                number(text, 6, 2)?,
            ),
            9,
        ),
        Shape::American => (
            ymd(
                number(text, 6, 4)?,
                number(text, 0, 2)?,
                number(text, 3, 2)?,
            ),
            12,
        ),
        Shape::MonthDay => (ymd(0, number(text, 0, 2)?, number(text, 3, 2)?), 6),
        Shape::DayMonthName => (
            ymd(number(text, 7, 4)?, month(text, 3)?, number(text, 0, 2)?),
            12,
        ),
        Shape::MonthName | Shape::MonthNameYear => month_first(text, 0)?,
        Shape::Weekday => {
            let (date, clock) = month_first(text, 4)?;
            let year = if shaped(text, stamp.end - 5, b" 0000") {
                number(text, stamp.end - 4, 4)?
            } else {
                0
            };
            (date.map(|(_, month, day)| (year, month, day)), clock)
        }
        Shape::Clock | Shape::Clock12 => (None, 0),
        Shape::Epoch => return None,
    })
}

fn month_first(text: &[u8], at: usize) -> Option<Date> {
    let day = skip_spaces(text, at + 3);
    let end = digits_end(text, day);
    let month = month(text, at)?;
    let day = number(text, day, end - day)?;
    if shaped(text, end, b", 0000 ") {
        return Some((Some((number(text, end + 2, 4)?, month, day)), end + 7));
    }
    Some((Some((0, month, day)), end + 1))
}

/// `07:22:25.408`, `7:22:25 AM`, `10:45AM` in nanoseconds since midnight.
fn clock(text: &[u8], at: usize) -> Option<i64> {
    let hour_end = digits_end(text, at);
    let mut hour = number(text, at, hour_end - at)?;
    let minute = number(text, hour_end + 1, 2)?;
    let mut end = hour_end + 3;
    let mut second = 0;
    if shaped(text, end, b":00") {
        second = number(text, end + 1, 2)?;
        end += 3;
    }
    let mut nanos = 0;
    if let Some(b'.' | b',') = text.get(end) {
        let digits = digits_end(text, end + 1).min(end + 10);
        nanos = fraction(text, end + 1, digits);
        end = digits;
    }
    match text.get(skip_spaces(text, end)..).unwrap_or(&[]) {
        [b'A', b'M', ..] => hour %= 12,
        [b'P', b'M', ..] => hour = hour % 12 + 12,
        _ => {}
    }
    (hour < 24 && minute < 60 && second <= 60)
        .then_some(((hour * 60 + minute) * 60 + second) * SECOND + nanos)
}

fn fraction(text: &[u8], start: usize, end: usize) -> i64 {
    let mut nanos = 0;
    let digits = text.get(start..end).unwrap_or(&[]);
    for place in 0..9 {
        nanos = nanos * 10 + digits.get(place).map_or(0, |digit| i64::from(digit - b'0'));
    }
    nanos
}

/// Seconds east of UTC of the zone that ends at `end`; names other than UTC and GMT are ambiguous and count as unknown.
fn zone(text: &[u8], end: usize) -> Option<i64> {
    let text = &text[..end];
    if text.ends_with(b"Z") || text.ends_with(b"UTC") || text.ends_with(b"GMT") {
        return Some(0);
    }
    let sign = text.iter().rposition(|byte| matches!(byte, b'+' | b'-'))?;
    let minutes = if text.get(sign + 3) == Some(&b':') {
        sign + 4
    } else {
        sign + 3
    };
    let seconds = number(text, sign + 1, 2)? * 3600 + number(text, minutes, 2)? * 60;
    Some(if text[sign] == b'-' {
        -seconds
    } else {
        seconds
    })
}

/// An epoch that is the whole text, as a JSON number.
fn bare_epoch(text: &[u8]) -> Option<Stamp> {
    let end = digits_end(text, 0);
    let end = if text.get(end) == Some(&b'.') {
        digits_end(text, end + 1)
    } else {
        end
    };
    (end == text.len() && end >= 10).then_some(Stamp {
        shape: Shape::Epoch,
        end,
        comma: false,
        fraction: false,
        zoned: true,
    })
}

/// Seconds, milliseconds, microseconds or nanoseconds by the number of digits; `d.ddde+09` is seconds.
fn epoch(text: &[u8]) -> Option<Nanos> {
    if let Some(e) = text.iter().position(|byte| *byte == b'e') {
        let digits = digits_end(text, 2).min(11);
        let exponent = number(text, e + 2, 2)?;
        let mantissa = number(text, 0, 1)? * SECOND + fraction(text, 2, digits.min(e));
        let rest = fraction(text, digits.min(e), e.min(21));
        return if exponent == 9 {
            mantissa.checked_mul(SECOND)?.checked_add(rest)
        } else {
            None
        };
    }
    let whole = digits_end(text, 0);
    let value = number(text, 0, whole)?;
    let unit = match whole {
        ..=11 => SECOND,
        12..=14 => 1_000_000,
        15..=17 => 1_000,
        _ => 1,
    };
    let digits = digits_end(text, whole + 1);
    let part = if text.get(whole) == Some(&b'.') {
        fraction(text, whole + 1, digits.min(whole + 10))
    } else {
        0
    };
    value.checked_mul(unit)?.checked_add(part / (SECOND / unit))
}

/// `n` digits from `at`; at most 18.
fn number(text: &[u8], at: usize, n: usize) -> Option<i64> {
    let digits = text
        .get(at..at.checked_add(n)?)
        .filter(|digits| !digits.is_empty() && n <= 19)?;
    let mut value = 0i64;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        value = value
            .checked_mul(10)?
            .checked_add(i64::from(digit - b'0'))?;
    }
    Some(value)
}

fn month(text: &[u8], at: usize) -> Option<i64> {
    const NAMES: &[u8; 36] = b"JanFebMarAprMayJunJulAugSepOctNovDec";
    let name = text.get(at..at + 3)?;
    (0..12)
        .find(|month| &NAMES[month * 3..month * 3 + 3] == name)
        .map(|month| month as i64 + 1)
}

/// Days since 1970-01-01 of a date; `None` when it does not exist. Source: Howard Hinnant, "chrono-compatible low-level
/// date algorithms", days_from_civil.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let n_days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + i64::from(leap),
        _ => return None,
    };
    if !(1678..=2261).contains(&year) || !(1..=n_days).contains(&day) {
        return None;
    }
    let shifted = year - i64::from(month <= 2);
    let era = shifted.div_euclid(400);
    let of_era = shifted - era * 400;
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    Some(era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468)
}

/// Year, month and day of a number of days since 1970-01-01, within the range of [`Nanos`]. Source: as [`days`],
/// civil_from_days; all days of the range lie behind the first of March of the year 0, so that no sign is needed.
fn civil(days: i64) -> (i64, i64, i64) {
    let z = (days + 719_468) as u32;
    let era = z / 146_097;
    let of_era = z % 146_097;
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    (
        i64::from(year + era * 400 + u32::from(month <= 2)),
        i64::from(month),
        i64::from(of_year - (153 * shifted + 2) / 5 + 1),
    )
}

fn year_of(moment: Nanos) -> i64 {
    civil(moment.div_euclid(86_400 * SECOND)).0
}

/// A timestamp in UTC brought to nanoseconds without being taken apart: what [`write_rfc3339`] writes for what [`parse`]
/// reads in a context whose zone is UTC, or, unless `bare_is_utc`, in any.
///
/// `None` for other ways to write a moment than `2026-09-11T07:22:25.408Z`, with a space or slashes, a comma, a zone of
/// zero or none, and for moments that do not exist.
pub fn utc_as_written(text: &[u8], bare_is_utc: bool) -> Option<[u8; 30]> {
    let mut full = *UTC;
    full[..19].copy_from_slice(text.get(..19)?);
    // Slashes and dots are followed by a space; only dashes may be followed by a `T`.
    match (full[4], full[7], full[10]) {
        (b'-', b'-', b'T') => {}
        (b'-', b'-', b' ') | (b'/', b'/', b' ') => {
            (full[4], full[7], full[10]) = (b'-', b'-', b'T');
        }
        _ => return None,
    }
    let mut end = 19;
    if let Some(b'.' | b',') = text.get(19) {
        end = digits_end(text, 20);
        if !matches!(end, 21..=29) {
            return None;
        }
        full[20..end].copy_from_slice(&text[20..end]);
    }
    match &text[end..] {
        b"Z" | b"+00:00" | b"+0000" => {}
        b"" if bare_is_utc => {}
        _ => return None,
    }
    let two = |at: usize| (full[at] & 15) * 10 + (full[at + 1] & 15);
    if !is_utc(&full) || two(11) > 23 || two(14) > 59 || two(17) > 59 {
        return None;
    }
    let (century, year, month, day) = (two(0), two(2), two(5), two(8));
    // Every month has 28 days; the rest is looked up as for any date.
    let exists = matches!(century, 17..=21) && matches!(month, 1..=12) && matches!(day, 1..=28)
        || days(
            i64::from(century) * 100 + i64::from(year),
            i64::from(month),
            i64::from(day),
        )
        .is_some();
    exists.then_some(full)
}

/// The shape of a moment with nanoseconds; `0` is any digit.
const UTC: &[u8; 30] = b"0000-00-00T00:00:00.000000000Z";

/// Whether a text has the shape of [`UTC`], eight bytes at a time: what differs from the shape must be at most 9 where a
/// digit stands, and nothing elsewhere. Adding what is missing to 128 shows it in the high bit.
fn is_utc(text: &[u8; 30]) -> bool {
    const fn limits() -> [u8; 30] {
        let mut limits = [0x7f; 30];
        let mut at = 0;
        while at < 30 {
            if UTC[at] == b'0' {
                limits[at] = 0x7f - 9;
            }
            at += 1;
        }
        limits
    }
    const LIMITS: [u8; 30] = limits();
    let word = |text: &[u8; 30], at: usize| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&text[at..at + 8]);
        u64::from_le_bytes(bytes)
    };
    // The last word overlaps the one before it.
    let wrong = [0, 8, 16, 22].into_iter().fold(0, |wrong, at| {
        let difference = word(text, at) ^ word(UTC, at);
        wrong | difference | difference.wrapping_add(word(&LIMITS, at))
    });
    wrong & 0x8080_8080_8080_8080 == 0
}

/// Appends a moment as RFC 3339 with nanoseconds: `2026-09-11T07:22:25.408586000Z`.
pub fn write_rfc3339(moment: Nanos, out: &mut Vec<u8>) {
    let (year, month, day) = civil(moment.div_euclid(86_400 * SECOND));
    let of_day = moment.rem_euclid(86_400 * SECOND);
    let (seconds, nanos) = ((of_day / SECOND) as u32, (of_day % SECOND) as u32);
    let mut text = *b"0000-00-00T00:00:00.000000000Z";
    let year = year as u32;
    for (at, value) in [
        (0, year / 100),
        (2, year % 100),
        (5, month as u32),
        (8, day as u32),
        (11, seconds / 3600),
        (14, seconds / 60 % 60),
        (17, seconds % 60),
        (20, nanos / 10_000_000),
        (22, nanos / 100_000 % 100),
        (24, nanos / 1_000 % 100),
        (26, nanos / 10 % 100),
    ] {
        // Below 100 there is nothing left to divide but by ten, which a multiplication does.
        let tens = (value * 103) >> 10;
        text[at] = b'0' + tens as u8;
        text[at + 1] = b'0' + (value - 10 * tens) as u8;
    }
    text[28] = b'0' + (nanos % 10) as u8;
    out.extend_from_slice(&text);
}

#[cfg(test)]
mod tests;
