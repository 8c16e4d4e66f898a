//! From text to amount.

use super::{Error, Format, NANO, Quantity, at_scale};

/// Digits that fit into 64 bits whatever they are; shorter texts take upstream's fast path, which
/// decides whether the text is kept.
const FAST_DIGITS_MAX: usize = 18;

/// A text taken apart.
struct Parts<'a> {
    negative: bool,
    /// Digits in front of the point, without leading zeros; `0` when there are none.
    whole: &'a str,
    /// Digits behind the point.
    fraction: &'a str,
    suffix: &'a str,
}

pub(super) fn parse(text: &str) -> Result<Quantity, Error> {
    let parts = split(text)?;
    let (power, format) = suffix(parts.suffix).ok_or(Error::Suffix)?;
    let fraction_len = i32::try_from(parts.fraction.len()).map_err(|_| Error::Numeric)?;
    let digits = format!("{}{}", parts.whole, parts.fraction);
    let mut unscaled: i128 = digits.parse().map_err(|_| Error::Numeric)?;
    let small = unscaled;
    let mut scale = -fraction_len;
    match power {
        Power::Ten(exponent) => scale = scale.checked_add(exponent).ok_or(Error::Numeric)?,
        Power::Two(bits) => {
            unscaled = unscaled.checked_mul(1i128 << bits).ok_or(Error::Numeric)?;
        }
    }
    let kept = is_kept(&parts, power, scale, small, unscaled);
    let mut quantity = Quantity {
        unscaled,
        scale,
        format,
        text: None,
    };
    if quantity.scale < NANO {
        let lost = quantity.scale.saturating_sub(NANO);
        // Shrinking always fits.
        quantity.unscaled = at_scale(unscaled, lost).map_or(0, |(value, _)| value);
        quantity.scale = NANO;
    }
    if format == Format::BinarySi {
        let max = Quantity::new(i64::MAX, format);
        if quantity > max {
            quantity = max;
        } else if quantity < Quantity::new(1, format) {
            quantity.format = Format::DecimalSi;
        }
    }
    if parts.negative {
        quantity.unscaled = -quantity.unscaled;
    }
    if kept {
        quantity.text = Some(text.into());
    }
    Ok(quantity)
}

/// Whether upstream prints the text as it came.
///
/// Its test for "already canonical" is a guess that lets `1.500`, `+1` and `01` through.
fn is_kept(parts: &Parts<'_>, power: Power, scale: i32, digits: i128, unscaled: i128) -> bool {
    let n_digits = parts.whole.len() + parts.fraction.len();
    if scale < NANO || digits == 0 || i64::try_from(unscaled).is_err() {
        return false;
    }
    match power {
        Power::Ten(_) => {
            let first_zero = parts.whole.starts_with('0');
            let thousands = match parts.fraction.is_empty() {
                true => parts.whole.ends_with("000"),
                false => format!("{}{}", parts.whole, parts.fraction).ends_with("000"),
            };
            n_digits <= FAST_DIGITS_MAX && scale % 3 == 0 && !thousands && !first_zero
        }
        Power::Two(bits) => {
            // About ten bits are three digits; what is left of fifteen is for the number.
            let room = 14usize.checked_sub((bits * 3 / 10) as usize);
            parts.fraction.is_empty() && room.is_some_and(|r| n_digits <= r) && digits & 7 != 0
        }
    }
}

#[derive(Clone, Copy)]
enum Power {
    Ten(i32),
    Two(u32),
}

fn suffix(text: &str) -> Option<(Power, Format)> {
    let decimal = |exponent| Some((Power::Ten(exponent), Format::DecimalSi));
    let binary = |bits| Some((Power::Two(bits), Format::BinarySi));
    match text {
        "" => decimal(0),
        "n" => decimal(-9),
        "u" => decimal(-6),
        "m" => decimal(-3),
        "k" => decimal(3),
        "M" => decimal(6),
        "G" => decimal(9),
        "T" => decimal(12),
        "P" => decimal(15),
        "E" => decimal(18),
        "Ki" => binary(10),
        "Mi" => binary(20),
        "Gi" => binary(30),
        "Ti" => binary(40),
        "Pi" => binary(50),
        "Ei" => binary(60),
        _ => {
            let exponent = text.strip_prefix(['e', 'E'])?.parse().ok()?;
            Some((Power::Ten(exponent), Format::DecimalExponent))
        }
    }
}

fn split(text: &str) -> Result<Parts<'_>, Error> {
    if text.is_empty() {
        return Err(Error::Format);
    }
    let (negative, rest) = match text.as_bytes()[0] {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (whole, rest) = take(rest.trim_start_matches('0'), |b| b.is_ascii_digit());
    let whole = if whole.is_empty() { "0" } else { whole };
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => take(rest, |b| b.is_ascii_digit()),
        None => ("", rest),
    };
    let (_, tail) = take(rest, |b| b"eEinumkKMGTP".contains(&b));
    let tail = tail.strip_prefix(['-', '+']).unwrap_or(tail);
    if !tail.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Error::Format);
    }
    Ok(Parts {
        negative,
        whole,
        fraction,
        suffix: rest,
    })
}

/// `text` split behind its leading bytes that are `wanted`.
fn take(text: &str, wanted: impl Fn(u8) -> bool) -> (&str, &str) {
    let end = text.bytes().position(|b| !wanted(b)).unwrap_or(text.len());
    text.split_at(end)
}
