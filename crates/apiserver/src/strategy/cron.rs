//! Schedules of cron jobs, and the names of time zones.
//!
//! Source: robfig/cron v3.0.1, `parser.go`, whose words upstream shows.

/// The names of all time zones of the IANA database, one a line, sorted.
const ZONES: &str = include_str!("zones.txt");

/// A field of a schedule: the least and greatest number, and words for numbers from the least on.
struct Part {
    min: u64,
    max: u64,
    words: &'static [&'static str],
}

const fn part(min: u64, max: u64, words: &'static [&'static str]) -> Part {
    Part { min, max, words }
}

/// Minutes, hours, days of the month, months, days of the week.
const PARTS: [Part; 5] = [
    part(0, 59, &[]),
    part(0, 23, &[]),
    part(1, 31, &[]),
    part(
        1,
        12,
        &[
            "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
        ],
    ),
    part(0, 6, &["sun", "mon", "tue", "wed", "thu", "fri", "sat"]),
];

const NICKNAMES: [&str; 7] = [
    "@yearly",
    "@annually",
    "@monthly",
    "@weekly",
    "@daily",
    "@midnight",
    "@hourly",
];

/// Whether a schedule can be understood.
///
/// # Errors
/// What is wrong with it.
pub(super) fn parse(schedule: &str) -> Result<(), String> {
    let mut rest = schedule;
    if schedule.starts_with("TZ=") || schedule.starts_with("CRON_TZ=") {
        let (zone, after) = schedule.split_once(' ').unwrap_or((schedule, ""));
        let zone = zone.split_once('=').map_or("", |(_, zone)| zone);
        if !matches!(zone, "" | "Local") && !is_zone(zone) {
            return Err(format!(
                "provided bad location {zone}: unknown time zone {zone}"
            ));
        }
        rest = after.trim();
    }
    if rest.starts_with('@') {
        return nickname(rest);
    }
    let fields: Vec<&str> = rest.split_whitespace().collect();
    if fields.len() != PARTS.len() {
        return Err(format!(
            "expected exactly {} fields, found {}: [{}]",
            PARTS.len(),
            fields.len(),
            fields.join(" ")
        ));
    }
    for (field, part) in fields.iter().zip(&PARTS) {
        for range in field.split(',').filter(|range| !range.is_empty()) {
            self::range(range, part)?;
        }
    }
    Ok(())
}

fn nickname(name: &str) -> Result<(), String> {
    if NICKNAMES.contains(&name) {
        return Ok(());
    }
    match name.strip_prefix("@every ") {
        None => Err(format!("unrecognized descriptor: {name}")),
        Some(duration) if is_duration(duration) => Ok(()),
        Some(duration) => Err(format!(
            "failed to parse duration {name}: time: invalid duration {duration:?}"
        )),
    }
}

/// `1h30m`, in Go's units.
fn is_duration(text: &str) -> bool {
    let mut rest = text.trim_start_matches(['+', '-']);
    if rest == "0" {
        return true;
    }
    if rest.is_empty() {
        return false;
    }
    while !rest.is_empty() {
        let unit = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let number = &rest[..rest.len() - unit.len()];
        if !number.bytes().any(|b| b.is_ascii_digit()) || number.matches('.').count() > 1 {
            return false;
        }
        let units = ["ns", "us", "µs", "μs", "ms", "s", "m", "h"];
        // The longest unit that fits: `ms` before `m`.
        let fits = units.iter().filter(|name| unit.starts_with(**name));
        let Some(name) = fits.max_by_key(|name| name.len()) else {
            return false;
        };
        rest = &unit[name.len()..];
    }
    true
}

/// `5`, `1-5`, `*/15` and the like.
fn range(text: &str, part: &Part) -> Result<(), String> {
    let steps: Vec<&str> = text.split('/').collect();
    let ends: Vec<&str> = steps[0].split('-').collect();
    let is_any = matches!(ends[0], "*" | "?");
    let (start, mut end) = if is_any {
        (part.min, part.max)
    } else {
        let start = number(ends[0], part.words, part.min)?;
        match ends[..] {
            [_] => (start, start),
            [_, end] => (start, number(end, part.words, part.min)?),
            _ => return Err(format!("too many hyphens: {text}")),
        }
    };
    let step = match steps[..] {
        [_] => 1,
        [_, step] => {
            if ends.len() == 1 {
                end = part.max;
            }
            number(step, &[], 0)?
        }
        _ => return Err(format!("too many slashes: {text}")),
    };
    if start < part.min {
        return Err(format!(
            "beginning of range ({start}) below minimum ({}): {text}",
            part.min
        ));
    }
    if end > part.max {
        return Err(format!(
            "end of range ({end}) above maximum ({}): {text}",
            part.max
        ));
    }
    if start > end {
        return Err(format!(
            "beginning of range ({start}) beyond end of range ({end}): {text}"
        ));
    }
    if step == 0 {
        return Err(format!("step of range should be a positive number: {text}"));
    }
    Ok(())
}

/// A number, or a word for one.
fn number(text: &str, words: &[&str], first: u64) -> Result<u64, String> {
    let word = text.to_lowercase();
    if let Some(at) = words.iter().position(|known| *known == word) {
        return Ok(first + at as u64);
    }
    match text.parse::<i64>() {
        Err(_) => Err(format!(
            "failed to parse int from {text}: strconv.Atoi: parsing {text:?}: invalid syntax"
        )),
        Ok(number) => u64::try_from(number)
            .map_err(|_| format!("negative number ({number}) not allowed: {text}")),
    }
}

/// Whether a time zone is known.
pub(super) fn is_zone(name: &str) -> bool {
    // As long as the database's lists are read by eye, a scan of 600 lines is soon over.
    ZONES.lines().any(|zone| zone == name)
}
