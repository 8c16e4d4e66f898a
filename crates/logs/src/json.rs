//! JSON strings from log bytes: escapes of several dialects in, valid JSON out.
//!
//! Log bytes are not always UTF-8 and escapes are not always JSON's (Go writes `\x1b` and `\a`). Bytes that are not UTF-8
//! become the text `\xNN`, so nothing is lost and the output is always valid.

use std::borrow::Cow;

/// Appends `text`, which has no escapes, as the inside of a JSON string.
pub(crate) fn escape(text: &[u8], out: &mut Vec<u8>) {
    let plain = plain_prefix::<false>(text);
    out.extend_from_slice(&text[..plain]);
    if plain < text.len() {
        escape_rest(&text[plain..], out);
    }
}

/// Appends the inside of a quoted string, whose escapes are kept where JSON has them too.
pub(crate) fn copy_escaped(text: &[u8], out: &mut Vec<u8>) {
    let plain = plain_prefix::<false>(text);
    out.extend_from_slice(&text[..plain]);
    if plain < text.len() {
        copy_rest(&text[plain..], out);
    }
}

/// What a text can go into JSON strings with, found in one pass over all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Purity {
    /// Nothing but printable ASCII without backslashes: the inside of a quoted string can be copied as it is.
    pub(crate) is_plain: bool,
    /// Plain, and no quote either: every part of the text can be copied as it is.
    pub(crate) is_bare: bool,
}

/// Looks at every byte once, eight at a time and without a branch for each.
pub(crate) fn purity(text: &[u8]) -> Purity {
    let (mut needing, mut quotes) = (0, 0);
    let mut look = |word: u64| {
        needing |= word | less_than_space(word) | zero_bytes(word ^ BACKSLASH);
        quotes |= zero_bytes(word ^ QUOTE);
    };
    let (chunks, rest) = text.as_chunks::<8>();
    for chunk in chunks {
        look(u64::from_le_bytes(*chunk));
    }
    if !rest.is_empty() {
        look(last_word(text));
    }
    let is_plain = needing & HIGH == 0;
    Purity {
        is_plain,
        is_bare: is_plain && quotes & HIGH == 0,
    }
}

const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;
const QUOTE: u64 = LOW * b'"' as u64;
const BACKSLASH: u64 = LOW * b'\\' as u64;

/// The high bit of each byte that is zero; behind the first one, of others too. The other bits mean nothing.
#[inline(always)]
fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(LOW) & !word
}

/// The high bit of each byte below a space; behind the first one, of others too. The other bits mean nothing.
#[inline(always)]
fn less_than_space(word: u64) -> u64 {
    word.wrapping_sub(LOW * 0x20) & !word
}

/// The last eight bytes, or all of a shorter text with blanks behind it.
#[inline(always)]
fn last_word(text: &[u8]) -> u64 {
    u64::from_le_bytes(match text.last_chunk::<8>() {
        Some(last) => *last,
        None => {
            let mut padded = [b' '; 8];
            padded[..text.len()].copy_from_slice(text);
            padded
        }
    })
}

/// How many bytes from the start need no care: printable ASCII except the quote and the backslash, and bytes beyond
/// ASCII when `UTF8` says that the text was checked.
#[inline]
fn plain_prefix<const UTF8: bool>(text: &[u8]) -> usize {
    let mut done = 0;
    while let Some(bytes) = text[done..].first_chunk::<8>() {
        let care = care::<UTF8>(u64::from_le_bytes(*bytes));
        if care != 0 {
            return done + (care.trailing_zeros() / 8) as usize;
        }
        done += 8;
    }
    if done == text.len() {
        return done;
    }
    // The rest as one word, with bytes before it that need no care or blanks behind it.
    let care = care::<UTF8>(last_word(text));
    let found = (care.trailing_zeros() / 8) as usize;
    (text.len().saturating_sub(8) + found).min(text.len())
}

/// The high bit of the first byte that needs care; bits behind it mean nothing.
#[inline(always)]
fn care<const UTF8: bool>(word: u64) -> u64 {
    let care = less_than_space(word) | zero_bytes(word ^ QUOTE) | zero_bytes(word ^ BACKSLASH);
    HIGH & if UTF8 { care } else { care | word }
}

/// Calls `valid` with the parts of a text that are UTF-8, in order, and writes out the bytes between them.
#[inline(never)]
fn each_valid(text: &[u8], out: &mut Vec<u8>, valid: impl Fn(&[u8], &mut Vec<u8>)) {
    if std::str::from_utf8(text).is_ok() {
        return valid(text, out);
    }
    for chunk in text.utf8_chunks() {
        valid(chunk.valid().as_bytes(), out);
        invalid(chunk.invalid(), out);
    }
}

/// A text as UTF-8: bytes that are not become the text `\\xNN`, so that nothing is lost.
pub(crate) fn utf8(text: &[u8]) -> Cow<'_, [u8]> {
    if std::str::from_utf8(text).is_ok() {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(text.len() + 64);
    for chunk in text.utf8_chunks() {
        out.extend_from_slice(chunk.valid().as_bytes());
        for byte in chunk.invalid() {
            out.extend_from_slice(b"\\x");
            hex(*byte, &mut out);
        }
    }
    Cow::Owned(out)
}

fn escape_rest(text: &[u8], out: &mut Vec<u8>) {
    each_valid(text, out, |mut rest, out| {
        loop {
            let plain = plain_prefix::<true>(rest);
            out.extend_from_slice(&rest[..plain]);
            let Some(byte) = rest.get(plain) else { return };
            one(*byte, out);
            rest = &rest[plain + 1..];
        }
    });
}

fn one(byte: u8, out: &mut Vec<u8>) {
    match byte {
        b'"' => out.extend_from_slice(b"\\\""),
        b'\\' => out.extend_from_slice(b"\\\\"),
        b'\n' => out.extend_from_slice(b"\\n"),
        b'\r' => out.extend_from_slice(b"\\r"),
        b'\t' => out.extend_from_slice(b"\\t"),
        byte => {
            out.extend_from_slice(b"\\u00");
            hex(byte, out);
        }
    }
}

fn hex(byte: u8, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.push(DIGITS[usize::from(byte >> 4)]);
    out.push(DIGITS[usize::from(byte & 15)]);
}

fn invalid(bytes: &[u8], out: &mut Vec<u8>) {
    for byte in bytes {
        out.extend_from_slice(b"\\\\x");
        hex(*byte, out);
    }
}

fn copy_rest(text: &[u8], out: &mut Vec<u8>) {
    each_valid(text, out, |mut rest, out| {
        loop {
            let plain = plain_prefix::<true>(rest);
            out.extend_from_slice(&rest[..plain]);
            let Some(byte) = rest.get(plain) else { return };
            let used = if *byte == b'\\' {
                copy_escape(&rest[plain..], out)
            } else {
                0
            };
            if used == 0 {
                one(*byte, out);
            }
            rest = &rest[plain + used.max(1)..];
        }
    });
}

/// Copies one escape sequence as JSON's; returns how many bytes it took, 0 when it is none.
fn copy_escape(text: &[u8], out: &mut Vec<u8>) -> usize {
    match text.get(1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
            out.extend_from_slice(&text[..2]);
            2
        }
        Some(b'u') if text.len() >= 6 && text[2..6].iter().all(u8::is_ascii_hexdigit) => {
            out.extend_from_slice(&text[..6]);
            6
        }
        Some(b'a') => control(7, out),
        Some(b'v') => control(11, out),
        Some(b'x') if text.len() >= 4 && text[2..4].iter().all(u8::is_ascii_hexdigit) => {
            if text[2] < b'8' {
                out.extend_from_slice(b"\\u00");
                out.extend_from_slice(&text[2..4]);
            } else {
                out.extend_from_slice(b"\\\\x");
                out.extend_from_slice(&text[2..4]);
            }
            4
        }
        _ => 0,
    }
}

fn control(byte: u8, out: &mut Vec<u8>) -> usize {
    out.extend_from_slice(b"\\u00");
    hex(byte, out);
    2
}

/// Appends the text that the inside of a quoted string stands for. Escapes that cannot be read stay as they are.
pub(crate) fn unescape(text: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        let used = unescape_one(rest, out);
        if used == 0 {
            out.push(b'\\');
            rest = &rest[1..];
        } else {
            rest = &rest[used..];
        }
    }
    out.extend_from_slice(rest);
}

fn unescape_one(text: &[u8], out: &mut Vec<u8>) -> usize {
    let byte = match text.get(1) {
        Some(b'n') => b'\n',
        Some(b't') => b'\t',
        Some(b'r') => b'\r',
        Some(b'b') => 8,
        Some(b'f') => 12,
        Some(b'a') => 7,
        Some(b'v') => 11,
        Some(byte @ (b'"' | b'\\' | b'/')) => *byte,
        Some(b'x') => match text.get(2..4).and_then(parse_hex) {
            Some(value) => value as u8,
            None => return 0,
        },
        Some(b'u') => return unicode(text, out),
        _ => return 0,
    };
    out.push(byte);
    if text[1] == b'x' { 4 } else { 2 }
}

fn unicode(text: &[u8], out: &mut Vec<u8>) -> usize {
    let Some(first) = text.get(2..6).and_then(parse_hex) else {
        return 0;
    };
    let (code, used) = match text.get(6..8) {
        Some(b"\\u") if (0xd800..0xdc00).contains(&first) => {
            match text.get(8..12).and_then(parse_hex) {
                Some(second @ 0xdc00..=0xdfff) => {
                    (0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00), 12)
                }
                _ => (first, 6),
            }
        }
        _ => (first, 6),
    };
    let char = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
    out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
    used
}

fn parse_hex(digits: &[u8]) -> Option<u32> {
    u32::from_str_radix(
        std::str::from_utf8(digits)
            .ok()
            .filter(|text| !text.starts_with('+'))?,
        16,
    )
    .ok()
}

#[cfg(test)]
mod tests;
