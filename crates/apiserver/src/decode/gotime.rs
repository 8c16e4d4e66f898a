//! Times as Go's `time.Parse` reads them, with its words for what does not fit.
//!
//! Source: Go 1.25, `time/format.go`; apimachinery v0.35 `pkg/apis/meta/v1/{time,micro_time}.go`.

use jiff::{Timestamp, civil, tz::Offset};

/// How a kind writes its times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// RFC 3339; any fraction may follow the seconds.
    Seconds,
    /// RFC 3339 with exactly six digits behind the seconds.
    Micros,
}

impl Layout {
    fn text(self) -> &'static str {
        match self {
            Self::Seconds => "2006-01-02T15:04:05Z07:00",
            Self::Micros => "2006-01-02T15:04:05.000000Z07:00",
        }
    }
}

/// Reads a time.
///
/// # Errors
/// Go's words: which part of the text does not fit which part of the layout.
pub(super) fn parse(text: &str, layout: Layout) -> Result<Timestamp, String> {
    let mut read = Read { rest: text };
    read.time(layout).map_err(|wrong| match wrong {
        Wrong::Part(rest, part) => format!(
            "parsing time {text:?} as {:?}: cannot parse {rest:?} as {part:?}",
            layout.text()
        ),
        Wrong::Range(what) => format!("parsing time {text:?}: {what} out of range"),
        Wrong::Extra(rest) => format!("parsing time {text:?}: extra text: {rest:?}"),
    })
}

enum Wrong<'a> {
    /// What is left of the text, and what should be there.
    Part(&'a str, &'static str),
    /// A number that no calendar has.
    Range(&'static str),
    /// Text behind the time.
    Extra(&'a str),
}

struct Read<'a> {
    rest: &'a str,
}

impl<'a> Read<'a> {
    fn time(&mut self, layout: Layout) -> Result<Timestamp, Wrong<'a>> {
        let year = self.digits(4, "2006")?;
        self.literal("-")?;
        let month = self.bounded("01", 1..=12, "month")?;
        self.literal("-")?;
        let day = self.digits(2, "02")?;
        self.literal("T")?;
        let hour = self.hour()?;
        self.literal(":")?;
        let minute = self.bounded("04", 0..=59, "minute")?;
        self.literal(":")?;
        let second = self.bounded("05", 0..=59, "second")?;
        let nanos = match layout {
            Layout::Seconds => self.any_fraction(),
            Layout::Micros => self.six_digits()?,
        };
        let offset = self.offset()?;
        if !self.rest.is_empty() {
            return Err(Wrong::Extra(self.rest));
        }
        let small = |number: i32| i8::try_from(number).unwrap_or(i8::MAX);
        let year = i16::try_from(year).unwrap_or(i16::MAX);
        let (month, day) = (small(month), small(day));
        let when = civil::DateTime::new(
            year,
            month,
            day,
            small(hour),
            small(minute),
            small(second),
            nanos,
        );
        let when = when.map_err(|_| Wrong::Range("day"))?;
        let offset =
            Offset::from_seconds(offset).map_err(|_| Wrong::Range("time zone offset hour"))?;
        offset.to_timestamp(when).map_err(|_| Wrong::Range("year"))
    }

    fn digits(&mut self, n: usize, part: &'static str) -> Result<i32, Wrong<'a>> {
        let found = self.rest.get(..n);
        let found = found.filter(|text| text.bytes().all(|c| c.is_ascii_digit()));
        let number = found.and_then(|text| text.parse().ok());
        let number = number.ok_or(Wrong::Part(self.rest, part))?;
        self.rest = &self.rest[n..];
        Ok(number)
    }

    fn bounded(
        &mut self,
        part: &'static str,
        range: std::ops::RangeInclusive<i32>,
        what: &'static str,
    ) -> Result<i32, Wrong<'a>> {
        let number = self.digits(2, part)?;
        if range.contains(&number) {
            Ok(number)
        } else {
            Err(Wrong::Range(what))
        }
    }

    /// Go takes an hour of one digit.
    fn hour(&mut self) -> Result<i32, Wrong<'a>> {
        let n = self
            .rest
            .bytes()
            .take(2)
            .take_while(u8::is_ascii_digit)
            .count();
        let hour = self.digits(n.max(1), "15")?;
        if hour < 24 {
            Ok(hour)
        } else {
            Err(Wrong::Range("hour"))
        }
    }

    fn literal(&mut self, text: &'static str) -> Result<(), Wrong<'a>> {
        self.rest = self
            .rest
            .strip_prefix(text)
            .ok_or(Wrong::Part(self.rest, text))?;
        Ok(())
    }

    /// Nanoseconds of as many digits as there are; none is zero.
    fn any_fraction(&mut self) -> i32 {
        let Some(after) = self.rest.strip_prefix(['.', ',']) else {
            return 0;
        };
        let n = after.bytes().take_while(u8::is_ascii_digit).count();
        if n == 0 {
            return 0;
        }
        let nanos = format!("{:0<9}", &after[..n.min(9)]);
        self.rest = &after[n..];
        nanos.parse().unwrap_or(0)
    }

    fn six_digits(&mut self) -> Result<i32, Wrong<'a>> {
        const PART: &str = ".000000";
        let wrong = Wrong::Part(self.rest, PART);
        let Some(digits) = self
            .rest
            .strip_prefix(['.', ','])
            .and_then(|after| after.get(..6))
        else {
            return Err(wrong);
        };
        if !digits.bytes().all(|c| c.is_ascii_digit()) {
            return Err(wrong);
        }
        self.rest = &self.rest[PART.len()..];
        digits
            .parse::<i32>()
            .map(|micros| micros * 1000)
            .map_err(|_| wrong)
    }

    /// Seconds east of Greenwich.
    fn offset(&mut self) -> Result<i32, Wrong<'a>> {
        const PART: &str = "Z07:00";
        if let Some(rest) = self.rest.strip_prefix('Z') {
            self.rest = rest;
            return Ok(0);
        }
        let whole = self.rest;
        let sign = match whole.bytes().next() {
            Some(b'+') => 1,
            Some(b'-') => -1,
            _ => return Err(Wrong::Part(whole, PART)),
        };
        let number = |range| {
            let digits: Option<&str> = whole.get(range);
            let digits = digits.filter(|text| text.bytes().all(|c| c.is_ascii_digit()));
            digits.and_then(|text| text.parse::<i32>().ok())
        };
        let (Some(hours), Some(":"), Some(minutes)) = (number(1..3), whole.get(3..4), number(4..6))
        else {
            return Err(Wrong::Part(whole, PART));
        };
        self.rest = &whole[6..];
        match (hours, minutes) {
            (25.., _) => Err(Wrong::Range("time zone offset hour")),
            (_, 61..) => Err(Wrong::Range("time zone offset minute")),
            _ => Ok(sign * (hours * 3600 + minutes * 60)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Layout, parse};

    #[test]
    fn times_that_do_not_fit_are_explained_in_the_words_of_go() {
        for (text, layout, want) in [
            (
                "yesterday",
                Layout::Seconds,
                r#" as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as "2006""#,
            ),
            (
                "2026-1-1",
                Layout::Seconds,
                r#" as "2006-01-02T15:04:05Z07:00": cannot parse "1-1" as "01""#,
            ),
            (
                "2026-13-01T00:00:00Z",
                Layout::Seconds,
                ": month out of range",
            ),
            (
                "2026-02-30T00:00:00Z",
                Layout::Seconds,
                ": day out of range",
            ),
            (
                "2026-01-01T24:00:00Z",
                Layout::Seconds,
                ": hour out of range",
            ),
            (
                "2026-01-01T00:00:00Zz",
                Layout::Seconds,
                r#": extra text: "z""#,
            ),
            (
                "2026-01-01 00:00:00Z",
                Layout::Seconds,
                r#" as "2006-01-02T15:04:05Z07:00": cannot parse " 00:00:00Z" as "T""#,
            ),
            (
                "2026-01-01T00:00:00Z",
                Layout::Micros,
                r#" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000""#,
            ),
            (
                "2026-01-01T00:00:00.123456789Z",
                Layout::Micros,
                r#" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "789Z" as "Z07:00""#,
            ),
        ] {
            let want = format!("parsing time {text:?}{want}");
            assert_eq!(parse(text, layout), Err(want));
        }
    }

    #[test]
    fn times_that_fit_are_read() {
        for (text, layout, want) in [
            (
                "2026-01-01T00:00:00Z",
                Layout::Seconds,
                "2026-01-01T00:00:00Z",
            ),
            (
                "2026-01-01T5:00:00.5+01:00",
                Layout::Seconds,
                "2026-01-01T04:00:00.5Z",
            ),
            (
                "2026-01-01T00:00:00.000001-00:30",
                Layout::Micros,
                "2026-01-01T00:30:00.000001Z",
            ),
        ] {
            assert_eq!(
                parse(text, layout).map(|t| t.to_string()),
                Ok(want.to_owned())
            );
        }
    }
}
