//! Header tokens: the brackets, numbers, dashes and level words between a timestamp and the message.
//!
//! The walk stops at the first word of prose, so a level word inside a message is never reached.

use crate::level::{is_weak, value, word};
use crate::record::Span;
use crate::scan::{find, skip_blanks};

/// One token. For brackets and pipes `inner` is what they hold, trimmed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) inner: Span,
    /// The opening bracket, `|` for text between pipes, 0 for a bare word.
    pub(crate) wrap: u8,
    /// Where it begins, bracket included.
    pub(crate) start: usize,
    /// One past its last byte, bracket included.
    pub(crate) end: usize,
}

/// A token that says a level.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    pub(crate) severity: u8,
    /// The level word alone.
    pub(crate) raw: Span,
    pub(crate) token: Token,
    /// How many tokens stood before it.
    pub(crate) index: usize,
    /// The first token of the walk.
    pub(crate) first: Token,
    /// The last token before the level, when there was one.
    pub(crate) before: Option<Token>,
}

/// Header tokens looked at before giving up; the longest header we know (Sidekiq's) needs five.
const TOKENS_MAX: usize = 7;
/// How far a header may reach beyond its timestamp.
const HEADER_BYTES_MAX: usize = 96;
/// Longest bracketed token.
const BRACKET_BYTES_MAX: usize = 64;

/// The token at or after `at`.
pub(crate) fn token(line: &[u8], at: usize) -> Option<Token> {
    let start = skip_blanks(line, at);
    let open = *line.get(start)?;
    let close = match open {
        b'[' => b']',
        b'(' => b')',
        b'<' => b'>',
        b'{' => b'}',
        b'|' => b'|',
        _ => return Some(bare(line, start)),
    };
    let limit = line.len().min(start + BRACKET_BYTES_MAX);
    let Some(end) = find(&line[..limit], start + 1, close) else {
        return Some(bare(line, start));
    };
    // A closing pipe also opens the next column, so it stays in the line.
    let after = if open == b'|' { end } else { end + 1 };
    Some(Token {
        inner: trimmed(line, start + 1, end),
        wrap: open,
        start,
        end: after,
    })
}

fn bare(line: &[u8], start: usize) -> Token {
    let mut end = start + usize::from(line.get(start) == Some(&b'|'));
    let mut opened = false;
    while let Some(byte) = line.get(end) {
        // A bracket that was opened before this token ends it.
        if matches!(byte, b' ' | b'\t' | b'|') || (*byte == b']' && !opened) {
            break;
        }
        opened |= *byte == b'[';
        end += 1;
    }
    Token {
        inner: Span::new(start, end),
        wrap: 0,
        start,
        end: end.max(start + 1),
    }
}

fn trimmed(line: &[u8], mut start: usize, mut end: usize) -> Span {
    while start < end && line[start] == b' ' {
        start += 1;
    }
    while start < end && line[end - 1] == b' ' {
        end -= 1;
    }
    Span::new(start, end)
}

/// Whether bare words in lower case count as levels; true right after a timestamp that only loggers write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bare {
    /// Only capitals, or any case before a colon.
    Capitals,
    /// Also lower case in the first place.
    AlsoLower,
    /// Also capitals that are ordinary words elsewhere: `FINE`, `CONFIG`.
    AlsoWeak,
}

/// Walks the header from `at` and returns the first token that says a level.
pub(crate) fn find_level(line: &[u8], at: usize, bare: Bare) -> Option<Found> {
    let mut next = at;
    let mut first = None;
    let mut before = None;
    for index in 0..TOKENS_MAX {
        let token = token(line, next)?;
        let opening = *first.get_or_insert(token);
        if let Some((severity, raw)) = says_level(line, &token, index, bare) {
            return Some(Found {
                severity,
                raw,
                token,
                index,
                first: opening,
                before,
            });
        }
        if token.end > at + HEADER_BYTES_MAX || !is_header(line, &token) {
            return None;
        }
        before = Some(token);
        next = token.end;
    }
    None
}

/// The level a token says, with the word that says it.
fn says_level(line: &[u8], token: &Token, index: usize, bare: Bare) -> Option<(u8, Span)> {
    let inner = token.inner;
    let text = inner.of(line);
    if text.len() < 3 || text.len() > 40 {
        return None;
    }
    let start = inner.start as usize;
    if token.wrap != 0 {
        let severity = word(text);
        if severity != 0 {
            let sure = !is_weak(text) || text == b"Note" || text.iter().all(u8::is_ascii_uppercase);
            return sure.then_some((severity, inner));
        }
        return bracket_parts(text).and_then(|(from, to)| {
            let severity = word(&text[from..to]);
            (severity != 0).then_some((severity, Span::new(start + from, start + to)))
        });
    }
    if index == 0 && bare == Bare::AlsoLower && text.ends_with(b")") {
        // zap's levels without a name: `Level(-2)`.
        let severity = value(text);
        return (severity != 0).then_some((severity, inner));
    }
    let colon = text.iter().position(|byte| *byte == b':');
    let body = &text[..colon.unwrap_or(text.len())];
    // `app.INFO:` of Monolog: the channel stands before the level.
    let from = if colon.is_some() {
        body.iter()
            .rposition(|byte| *byte == b'.')
            .map_or(0, |dot| dot + 1)
    } else {
        0
    };
    let body = &body[from..];
    let severity = word(body);
    if severity == 0 || matches!(body.len(), 2) {
        return None;
    }
    let capitals = body
        .iter()
        .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
    let ends_token = colon.is_none_or(|colon| colon + 1 == text.len());
    let lower_first = index == 0 && bare == Bare::AlsoLower && colon.is_none();
    // Jenkins' columns leave no doubt that `FINE` is a level.
    let column =
        token.start > 0 && line[token.start - 1] == b'\t' && line.get(token.end) == Some(&b'\t');
    if is_weak(body) && !(capitals && (colon.is_some() || column || bare == Bare::AlsoWeak)) {
        return None;
    }
    ((ends_token && (capitals || colon.is_some())) || lower_first)
        .then(|| (severity, Span::new(start + from, start + from + body.len())))
}

/// The part of `core:error` or `info/worker` that may be a level.
fn bracket_parts(text: &[u8]) -> Option<(usize, usize)> {
    let at = text.iter().position(|byte| matches!(byte, b':' | b'/'))?;
    if text[at] == b':' {
        Some((at + 1, text.len()))
    } else {
        Some((0, at))
    }
}

/// Whether a token without a level can still belong to a header: brackets, numbers, dashes, identifiers of processes
/// and threads. Words of prose cannot.
fn is_header(line: &[u8], token: &Token) -> bool {
    let text = token.inner.of(line);
    if token.wrap != 0 {
        // MySQL's word in the place of a level, which is none; what follows is no header any more.
        return text != b"System" || !line[token.end..].starts_with(b" [MY-");
    }
    let has_digit = text.iter().any(u8::is_ascii_digit);
    text.iter().all(|byte| matches!(byte, b'-' | b'|' | b':'))
        || text
            .iter()
            .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'#' | b':' | b'*'))
        || text.starts_with(b"pid=")
        || text.starts_with(b"tid=")
        || text.starts_with(b"class=")
        || text.starts_with(b"jid=")
        || (text.contains(&b'@') && !text.contains(&b'/'))
        || (has_digit
            && text.len() >= 8
            && text
                .iter()
                .all(|byte| byte.is_ascii_hexdigit() || *byte == b'-'))
        || followed_by_dash(line, token)
}

/// `name - LEVEL - message`: a single word between dashes.
fn followed_by_dash(line: &[u8], token: &Token) -> bool {
    line.get(token.end..token.end + 3) == Some(b" - ")
}
