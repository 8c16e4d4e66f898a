//! Amounts of resources such as `100m`, `1.5Gi` or `12e6`, exactly.
//!
//! A quantity is a whole number times a power of ten, never a float, and at least a billionth
//! fine: what is finer is rounded up (away from zero). It remembers which family of suffixes it
//! was written with, and when that was canonical enough also the text itself, because that is what
//! the API server gives back.
//!
//! We differ from upstream where it would be wrong or slow: beyond 38 significant digits a text is
//! an error (upstream computes with as many digits as a client sends), conversions to integers
//! saturate instead of wrapping, and decimal amounts beyond the suffix `E` print with an exponent
//! instead of losing it.
//!
//! Source: Kubernetes v1.35, apimachinery `api/resource`.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

mod parse;

/// The finest power of ten that is kept.
const NANO: i32 = -9;

/// An exact amount.
///
/// Equality and order are those of the amount: `1000m`, `1` and `1e0` are equal.
#[derive(Clone, Debug)]
pub struct Quantity {
    /// The amount is `unscaled · 10^scale`.
    unscaled: i128,
    /// At least [`NANO`].
    scale: i32,
    format: Format,
    /// The text as it was written, when upstream would give it back unchanged.
    text: Option<Box<str>>,
}

/// Families of suffixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `12M`: n, u, m, none, k, M, G, T, P, E.
    DecimalSi,
    /// `12Mi`: Ki, Mi, Gi, Ti, Pi, Ei.
    BinarySi,
    /// `12e6`.
    DecimalExponent,
}

/// Why a text is not a quantity, in upstream's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Neither number nor suffix can be made out.
    #[error(
        "quantities must match the regular expression \
         '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    )]
    Format,
    /// More than 38 significant digits, or an exponent out of range.
    #[error("unable to parse numeric part of quantity")]
    Numeric,
    /// An unknown suffix.
    #[error("unable to parse quantity's suffix")]
    Suffix,
}

// === impl Quantity ===

impl Quantity {
    /// A whole amount.
    pub fn new(value: i64, format: Format) -> Self {
        Self {
            unscaled: value.into(),
            scale: 0,
            format,
            text: None,
        }
    }

    /// An amount of thousandths.
    pub fn from_milli(value: i64, format: Format) -> Self {
        Self {
            unscaled: value.into(),
            scale: -3,
            format,
            text: None,
        }
    }

    /// Reads a text; white space around it is an error.
    pub fn parse(text: &str) -> Result<Self, Error> {
        parse::parse(text)
    }

    /// How the amount is written.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Whether the amount is nothing.
    pub fn is_zero(&self) -> bool {
        self.unscaled == 0
    }

    /// -1, 0 or 1.
    pub fn signum(&self) -> i32 {
        match self.unscaled.cmp(&0) {
            Ordering::Less => -1,
            Ordering::Equal => 0,
            Ordering::Greater => 1,
        }
    }

    /// The amount as a whole number, rounded away from zero and saturating.
    pub fn value(&self) -> i64 {
        self.scaled_value(0)
    }

    /// The amount in thousandths, rounded away from zero and saturating.
    pub fn milli_value(&self) -> i64 {
        self.scaled_value(-3)
    }

    /// The amount in units of `10^scale`, rounded away from zero and saturating.
    pub fn scaled_value(&self, scale: i32) -> i64 {
        let saturated = if self.unscaled < 0 {
            i64::MIN
        } else {
            i64::MAX
        };
        match at_scale(self.unscaled, self.scale.saturating_sub(scale)) {
            Some((value, _)) => i64::try_from(value).unwrap_or(saturated),
            None => saturated,
        }
    }

    /// The nearest float.
    pub fn to_f64(&self) -> f64 {
        #[expect(
            clippy::cast_precision_loss,
            reason = "the nearest float is what is asked for"
        )]
        let base = self.unscaled as f64;
        base * 10f64.powi(self.scale)
    }

    /// The sum; a zero `self` takes over the format of `other`.
    ///
    /// When the sum needs more than 38 digits, the larger operand is the answer.
    pub fn add(&self, other: &Self) -> Self {
        self.combine(other, other.unscaled)
    }

    /// The difference; see [`add`](Self::add).
    pub fn sub(&self, other: &Self) -> Self {
        self.combine(other, other.unscaled.saturating_neg())
    }

    /// The canonical text: no fraction, the largest suffix that loses nothing.
    pub fn canonical(&self) -> String {
        if self.is_zero() {
            return "0".into();
        }
        if self.format == Format::BinarySi
            && self.abs_cmp(&Self::new(1024, Format::DecimalSi)) != Ordering::Less
            && let Some((mut value, true)) = at_scale(self.unscaled, self.scale)
        {
            let mut power = 0;
            while value % 1024 == 0 && power < 6 {
                value /= 1024;
                power += 1;
            }
            let suffix = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"][power];
            return format!("{value}{suffix}");
        }
        let (number, exponent) = self.thousands();
        let suffix = match self.format {
            Format::DecimalExponent => None,
            _ => decimal_suffix(exponent),
        };
        match (suffix, exponent) {
            (Some(suffix), _) => format!("{number}{suffix}"),
            (None, 0) => number,
            (None, exponent) => format!("{number}e{exponent}"),
        }
    }

    /// Digits and an exponent that is a multiple of three, as large as it gets.
    fn thousands(&self) -> (String, i32) {
        let (mut number, mut exponent) = (self.unscaled, self.scale);
        while number % 10 == 0 {
            number /= 10;
            exponent = exponent.saturating_add(1);
        }
        let pad = exponent.rem_euclid(3);
        (
            format!("{number}{}", &"00"[..pad.unsigned_abs() as usize]),
            exponent - pad,
        )
    }

    fn combine(&self, other: &Self, addend: i128) -> Self {
        let scale = self.scale.min(other.scale);
        let format = if self.is_zero() {
            other.format
        } else {
            self.format
        };
        let exact = |value: i128, from: i32| at_scale(value, from.saturating_sub(scale));
        let sum = exact(self.unscaled, self.scale)
            .zip(exact(addend, other.scale))
            .and_then(|((a, _), (b, _))| a.checked_add(b));
        let (unscaled, scale) = match sum {
            Some(sum) => (sum, scale),
            None if self.abs_cmp(other) == Ordering::Less => (addend, other.scale),
            None => (self.unscaled, self.scale),
        };
        Self {
            unscaled,
            scale,
            format,
            text: None,
        }
    }

    fn abs_cmp(&self, other: &Self) -> Ordering {
        let (a, b) = (self.unscaled.unsigned_abs(), other.unscaled.unsigned_abs());
        // When a side does not fit after scaling up, it exceeds whatever fits.
        let up = |value: u128, by: i32| {
            let factor = 10u128.checked_pow(by.unsigned_abs());
            match (value, factor) {
                (0, _) => Some(0),
                (_, factor) => factor.and_then(|f| value.checked_mul(f)),
            }
        };
        match self.scale.cmp(&other.scale) {
            Ordering::Equal => a.cmp(&b),
            Ordering::Greater => match up(a, self.scale.saturating_sub(other.scale)) {
                Some(a) => a.cmp(&b),
                None => Ordering::Greater,
            },
            Ordering::Less => match up(b, other.scale.saturating_sub(self.scale)) {
                Some(b) => a.cmp(&b),
                None => Ordering::Less,
            },
        }
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.signum(), other.signum()) {
            (1, 1) => self.abs_cmp(other),
            (-1, -1) => other.abs_cmp(self),
            (a, b) => a.cmp(&b),
        }
    }
}

impl FromStr for Quantity {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::parse(text)
    }
}

/// The text that the API server would answer with.
impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.text {
            Some(text) => f.write_str(text),
            None => f.write_str(&self.canonical()),
        }
    }
}

fn decimal_suffix(exponent: i32) -> Option<&'static str> {
    let suffixes = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
    let at = usize::try_from((exponent - NANO) / 3).ok()?;
    suffixes.get(at).copied()
}

/// `value · 10^exponent` as a whole number rounded away from zero, and whether that is exact.
///
/// `None` when it does not fit.
fn at_scale(value: i128, exponent: i32) -> Option<(i128, bool)> {
    if value == 0 {
        return Some((0, true));
    }
    let factor = 10i128.checked_pow(exponent.unsigned_abs());
    if exponent >= 0 {
        return Some((value.checked_mul(factor?)?, true));
    }
    match factor {
        Some(factor) if value % factor == 0 => Some((value / factor, true)),
        Some(factor) => Some((value / factor + value.signum(), false)),
        None => Some((value.signum(), false)),
    }
}

#[cfg(test)]
mod tests;
