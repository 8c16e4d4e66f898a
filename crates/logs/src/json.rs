//! JSON strings from log bytes: escapes of several dialects in, valid JSON out.
//!
//! Log bytes are not always UTF-8 and escapes are not always JSON's (Go writes `\x1b` and `\a`). Bytes that are not UTF-8
//! become the text `\xNN`, so nothing is lost and the output is always valid.

/// Appends `text`, which has no escapes, as the inside of a JSON string.
pub(crate) fn escape(text: &[u8], out: &mut Vec<u8>) {
    let plain = plain_prefix(text);
    out.extend_from_slice(&text[..plain]);
    if plain < text.len() {
        escape_rest(&text[plain..], out);
    }
}

/// Appends the inside of a quoted string, whose escapes are kept where JSON has them too.
pub(crate) fn copy_escaped(text: &[u8], out: &mut Vec<u8>) {
    let plain = plain_prefix(text);
    out.extend_from_slice(&text[..plain]);
    if plain < text.len() {
        copy_rest(&text[plain..], out);
    }
}

/// How many bytes from the start need no care: printable ASCII except the quote and the backslash.
#[inline]
fn plain_prefix(text: &[u8]) -> usize {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let mut done = 0;
    while let Some(word) = text[done..]
        .first_chunk::<8>()
        .map(|bytes| u64::from_le_bytes(*bytes))
    {
        let zero = |word: u64| word.wrapping_sub(LOW) & !word & HIGH;
        let control = word.wrapping_sub(LOW * 0x20) & !word & HIGH;
        let care = (word & HIGH) | control | zero(word ^ (LOW * 0x22)) | zero(word ^ (LOW * 0x5c));
        if care != 0 {
            return done + (care.trailing_zeros() / 8) as usize;
        }
        done += 8;
    }
    done + text[done..]
        .iter()
        .take_while(|byte| is_plain(**byte))
        .count()
}

fn is_plain(byte: u8) -> bool {
    (0x20..0x80).contains(&byte) && byte != b'"' && byte != b'\\'
}

#[inline(never)]
fn escape_rest(text: &[u8], out: &mut Vec<u8>) {
    for chunk in text.utf8_chunks() {
        let mut rest = chunk.valid().as_bytes();
        while let Some(at) = rest
            .iter()
            .position(|byte| *byte < 0x20 || matches!(byte, b'"' | b'\\'))
        {
            out.extend_from_slice(&rest[..at]);
            one(rest[at], out);
            rest = &rest[at + 1..];
        }
        out.extend_from_slice(rest);
        invalid(chunk.invalid(), out);
    }
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

#[inline(never)]
fn copy_rest(text: &[u8], out: &mut Vec<u8>) {
    for chunk in text.utf8_chunks() {
        let mut rest = chunk.valid().as_bytes();
        while let Some(at) = rest
            .iter()
            .position(|byte| *byte < 0x20 || matches!(byte, b'"' | b'\\'))
        {
            out.extend_from_slice(&rest[..at]);
            let used = if rest[at] == b'\\' {
                copy_escape(&rest[at..], out)
            } else {
                0
            };
            if used == 0 {
                one(rest[at], out);
                rest = &rest[at + 1..];
            } else {
                rest = &rest[at + used..];
            }
        }
        out.extend_from_slice(rest);
        invalid(chunk.invalid(), out);
    }
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
