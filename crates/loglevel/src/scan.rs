//! Byte searches tuned for log lines, where what is looked for is usually less than sixteen bytes away.

use memchr::{memchr, memchr2};

const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// Eight bytes from `at`, or `None` near the end of the line.
#[inline(always)]
fn load(line: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*line.get(at..)?.first_chunk()?))
}

/// A mask with the high bit of each zero byte set. Bytes above the first hit may be wrong; only the first is used.
#[inline(always)]
fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(LOW) & !word & HIGH
}

/// Where `needle` next stands at or after `at`.
#[inline(always)]
pub(crate) fn find(line: &[u8], at: usize, needle: u8) -> Option<usize> {
    let pattern = LOW * u64::from(needle);
    for step in 0..2 {
        let Some(word) = load(line, at + 8 * step) else {
            break;
        };
        let hits = zero_bytes(word ^ pattern);
        if hits != 0 {
            return Some(at + 8 * step + (hits.trailing_zeros() / 8) as usize);
        }
    }
    memchr(needle, line.get(at..)?).map(|found| at + found)
}

/// Where the string that begins at `at` (after its opening quote) ends: the index of the closing quote.
///
/// A backslash escapes the next byte. `None` when the line ends first.
#[inline(always)]
pub(crate) fn closing_quote(line: &[u8], mut at: usize) -> Option<usize> {
    const QUOTE: u64 = LOW * b'"' as u64;
    const BACKSLASH: u64 = LOW * b'\\' as u64;
    for _ in 0..3 {
        let Some(word) = load(line, at) else { break };
        let hits = zero_bytes(word ^ QUOTE) | zero_bytes(word ^ BACKSLASH);
        if hits == 0 {
            at += 8;
            continue;
        }
        at += (hits.trailing_zeros() / 8) as usize;
        if line[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
    loop {
        at += memchr2(b'"', b'\\', line.get(at..)?)?;
        if line[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}

/// The index of the first byte at or after `at` that is not a space or tab.
#[inline(always)]
pub(crate) fn skip_blanks(line: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\t') = line.get(at) {
        at += 1;
    }
    at
}

/// The index of the first byte at or after `at` that is not a space.
#[inline(always)]
pub(crate) fn skip_spaces(line: &[u8], mut at: usize) -> usize {
    while let Some(b' ') = line.get(at) {
        at += 1;
    }
    at
}

/// The end of the JSON number or literal from `at`: the next comma, closing bracket or brace, blank or control character.
///
/// Most have less than eight bytes, so that they are not worth a mark for every byte of the line.
#[inline(always)]
pub(crate) fn scalar_end(line: &[u8], mut at: usize) -> usize {
    const COMMA: u64 = LOW * b',' as u64;
    const BRACE: u64 = LOW * b'}' as u64;
    // With this bit set, `]` is `}`.
    const BRACKET_BIT: u64 = LOW * (b'}' - b']') as u64;
    while let Some(word) = load(line, at) {
        let closes = zero_bytes((word | BRACKET_BIT) ^ BRACE);
        let hits = zero_bytes(word ^ COMMA) | closes | up_to_space(word);
        if hits != 0 {
            return at + (hits.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    let ends = |byte: &u8| *byte <= b' ' || matches!(byte, b',' | b']' | b'}');
    let rest = line.get(at..).unwrap_or(&[]);
    at + rest.iter().position(ends).unwrap_or(rest.len())
}

/// A mask with the high bit of each byte set that is a space or less, exact as that of [`zero_bytes`].
#[inline(always)]
fn up_to_space(word: u64) -> u64 {
    word.wrapping_sub(LOW * (b' ' as u64 + 1)) & !word & HIGH
}

const SPACE: u64 = LOW * b' ' as u64;
const TAB: u64 = LOW * b'\t' as u64;

/// The end of the run of bytes from `at` that are neither space nor tab.
#[inline]
pub(crate) fn word_end(line: &[u8], mut at: usize) -> usize {
    while let Some(word) = load(line, at) {
        let hits = zero_bytes(word ^ SPACE) | zero_bytes(word ^ TAB);
        if hits != 0 {
            return at + (hits.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while let Some(byte) = line.get(at) {
        if matches!(byte, b' ' | b'\t') {
            break;
        }
        at += 1;
    }
    at
}

/// The end of the key from `at`: the next space, tab, equals sign or quote.
#[inline]
pub(crate) fn key_end(line: &[u8], mut at: usize) -> usize {
    const EQUALS: u64 = LOW * b'=' as u64;
    const QUOTE: u64 = LOW * b'"' as u64;
    while let Some(word) = load(line, at) {
        let blanks = zero_bytes(word ^ SPACE) | zero_bytes(word ^ TAB);
        let hits = blanks | zero_bytes(word ^ EQUALS) | zero_bytes(word ^ QUOTE);
        if hits != 0 {
            return at + (hits.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while let Some(byte) = line.get(at) {
        if matches!(byte, b' ' | b'\t' | b'=' | b'"') {
            break;
        }
        at += 1;
    }
    at
}

/// The end of the run of ASCII letters from `at`.
#[inline]
pub(crate) fn letters_end(line: &[u8], mut at: usize) -> usize {
    while line.get(at).is_some_and(u8::is_ascii_alphabetic) {
        at += 1;
    }
    at
}

/// The end of the run of ASCII digits from `at`.
#[inline]
pub(crate) fn digits_end(line: &[u8], mut at: usize) -> usize {
    while line.get(at).is_some_and(u8::is_ascii_digit) {
        at += 1;
    }
    at
}

/// Whether the bytes from `at` fit a shape, in which `0` is any digit and everything else is itself.
#[inline(always)]
pub(crate) fn shaped(line: &[u8], at: usize, shape: &[u8]) -> bool {
    let Some(text) = line.get(at..at + shape.len()) else {
        return false;
    };
    text.iter().zip(shape).all(|(byte, want)| {
        if *want == b'0' {
            byte.is_ascii_digit()
        } else {
            byte == want
        }
    })
}

#[cfg(test)]
mod tests;
