//! Values that are a number or a percentage, such as `maxSurge: 25%`.
//!
//! Source: Kubernetes v1.35, apimachinery `util/intstr`.

use serde_json::Value;

use crate::quote::quote;

/// Which way a fraction of a percentage goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Round {
    /// To the next larger number.
    Up,
    /// To the next smaller number.
    Down,
}

/// Why a value is neither number nor percentage, in upstream's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid value for IntOrString: {0}")]
pub struct Error(String);

/// The number that `value` means when 100 % is `total`.
///
/// # Errors
/// When `value` is neither a number nor text of digits and `%`.
pub fn scaled(value: &Value, total: i64, round: Round) -> Result<i64, Error> {
    if let Some(number) = value.as_i64() {
        return Ok(number);
    }
    let text = value
        .as_str()
        .ok_or_else(|| Error("invalid type: neither int nor percentage".into()))?;
    let digits = text
        .strip_suffix('%')
        .ok_or_else(|| Error("invalid type: string is not a percentage".into()))?;
    let percent: i64 = digits.parse().map_err(|_| {
        Error(format!(
            "invalid value {}: strconv.Atoi: parsing {}: invalid syntax",
            quote(text),
            quote(digits)
        ))
    })?;
    let product = i128::from(percent) * i128::from(total);
    let whole = match round {
        Round::Down => product.div_euclid(100),
        Round::Up => -(-product).div_euclid(100),
    };
    Ok(i64::try_from(whole).unwrap_or(if whole < 0 { i64::MIN } else { i64::MAX }))
}

#[cfg(test)]
mod tests;
