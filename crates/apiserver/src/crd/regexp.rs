//! Go's regular expressions, run by the `regex` crate.
//!
//! CRD authors write RE2 as Go understands it. The `regex` crate descends from the same design and
//! never backtracks either, so a hostile pattern costs linear time; but it differs in a few places
//! of the syntax, which [`translate`] evens out: `\d`, `\w`, `\s` and `\b` are ASCII, `\Q…\E`
//! quotes, a `[` inside a class is itself, set operations (`&&`, `--`, `~~`) do not exist, and a
//! brace that is not a repetition is itself. What Go refuses beyond that, [`check_repetitions`] does.
//!
//! Source: Go 1.25 `regexp/syntax`.

use std::fmt::Write as _;
use std::sync::OnceLock;

use regex::{Regex, RegexBuilder};
use regex_syntax::ast::{Ast, ErrorKind, RepetitionKind, RepetitionRange, parse::Parser};

/// Most memory one compiled pattern may use, in bytes; a larger one does not compile.
const COMPILED_BYTES_MAX: usize = 1 << 20;

/// Memory of one pattern's lazy automaton, in bytes.
const CACHE_BYTES_MAX: usize = 256 << 10;

/// A pattern that is compiled when it is first matched.
#[derive(Debug)]
pub struct Pattern {
    source: Box<str>,
    compiled: OnceLock<Result<Regex, String>>,
}

impl Pattern {
    /// A pattern that is not compiled yet.
    pub fn new(source: &str) -> Self {
        Self {
            source: source.into(),
            compiled: OnceLock::new(),
        }
    }

    /// The text as the author wrote it.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether any part of `text` matches.
    ///
    /// # Errors
    /// Why the pattern does not compile.
    pub fn is_match(&self, text: &str) -> Result<bool, &str> {
        match self.compiled.get_or_init(|| compile(&self.source)) {
            Ok(regex) => Ok(regex.is_match(text)),
            Err(why) => Err(why),
        }
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

/// Compiles a Go pattern.
///
/// # Errors
/// What is wrong with it, in Go's words.
pub fn compile(pattern: &str) -> Result<Regex, String> {
    let translated = translate(pattern);
    let refused = |(why, part): Blame<'_>| format!("error parsing regexp: {why}: `{part}`");
    if let Ok(ast) = Parser::new().parse(&translated) {
        check_repetitions(&ast, &translated).map_err(refused)?;
    }
    let built = RegexBuilder::new(&translated)
        .size_limit(COMPILED_BYTES_MAX)
        .dfa_size_limit(CACHE_BYTES_MAX)
        .build();
    built.map_err(|error| {
        refused(match error {
            regex::Error::CompiledTooBig(_) => ("expression too large", pattern),
            _ => blame(pattern, &translated),
        })
    })
}

/// What is wrong with a pattern, and which part of it.
type Blame<'p> = (&'static str, &'p str);

const REPEAT_COUNT: &str = "invalid repeat count";

/// Most repetitions, also of repetitions in one another.
const REPETITIONS_MAX: u32 = 1000;

/// Refuses what Go refuses: a repetition right behind another one, and counts that are too large. Source: Go 1.25
/// `regexp/syntax`, `(*parser).repeat` and `repeatIsValid`.
fn check_repetitions<'p>(ast: &Ast, text: &'p str) -> Result<(), Blame<'p>> {
    match ast {
        Ast::Group(group) => check_repetitions(&group.ast, text),
        Ast::Alternation(any) => any
            .asts
            .iter()
            .try_for_each(|ast| check_repetitions(ast, text)),
        Ast::Concat(all) => all
            .asts
            .iter()
            .try_for_each(|ast| check_repetitions(ast, text)),
        Ast::Repetition(outer) => {
            check_repetitions(&outer.ast, text)?;
            let (start, end) = (outer.op.span.start.offset, outer.op.span.end.offset);
            let lazy_end = outer.span.end.offset;
            if let RepetitionKind::Range(range) = &outer.op.kind {
                let (low, high) = bounds(range);
                if low > REPETITIONS_MAX || high.is_some_and(|high| high > REPETITIONS_MAX) {
                    let braces = &text[start..end];
                    return Err((REPEAT_COUNT, braces.trim_end_matches('?')));
                }
            }
            if let Ast::Repetition(inner) = &*outer.ast {
                let both = &text[inner.op.span.start.offset..lazy_end.max(end)];
                return Err(("invalid nested repetition operator", both));
            }
            if !is_repeatable(ast, REPETITIONS_MAX) {
                return Err((REPEAT_COUNT, &text[start..lazy_end.max(end)]));
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn bounds(range: &RepetitionRange) -> (u32, Option<u32>) {
    match range {
        RepetitionRange::Exactly(n) => (*n, Some(*n)),
        RepetitionRange::AtLeast(n) => (*n, None),
        RepetitionRange::Bounded(low, high) => (*low, Some(*high)),
    }
}

/// Whether counted repetitions in one another repeat what is inside at most `most` times.
fn is_repeatable(ast: &Ast, most: u32) -> bool {
    match ast {
        Ast::Group(group) => is_repeatable(&group.ast, most),
        Ast::Alternation(any) => any.asts.iter().all(|ast| is_repeatable(ast, most)),
        Ast::Concat(all) => all.asts.iter().all(|ast| is_repeatable(ast, most)),
        Ast::Repetition(repetition) => {
            let (low, high) = match &repetition.op.kind {
                RepetitionKind::Range(range) => bounds(range),
                _ => (0, None),
            };
            let times = high.unwrap_or(low);
            let inside = most.checked_div(times).unwrap_or(most);
            high == Some(0) || times <= most && is_repeatable(&repetition.ast, inside)
        }
        _ => true,
    }
}

fn blame<'p>(pattern: &'p str, translated: &'p str) -> Blame<'p> {
    const PERL: &str = "invalid or unsupported Perl syntax";
    const CAPTURE: &str = "invalid named capture";
    const ESCAPE: &str = "invalid escape sequence";
    let error = match regex_syntax::Parser::new().parse(translated) {
        Err(regex_syntax::Error::Parse(error)) => error,
        // A class of characters that nobody has.
        Err(regex_syntax::Error::Translate(error)) => {
            let span = error.span();
            let part = &translated[span.start.offset..span.end.offset];
            return ("invalid character class range", part);
        }
        _ => return ("internal error", pattern),
    };
    let span = error.span();
    let part = &translated[span.start.offset..span.end.offset];
    let rest = &translated[span.start.offset..];
    let since = |opening: char| {
        let start = translated[..span.start.offset].rfind(opening);
        &translated[start.unwrap_or(0)..]
    };
    match error.kind() {
        ErrorKind::GroupUnclosed => ("missing closing )", pattern),
        ErrorKind::GroupUnopened => ("unexpected )", pattern),
        ErrorKind::ClassUnclosed => ("missing closing ]", rest),
        ErrorKind::ClassRangeInvalid => ("invalid character class range", part),
        ErrorKind::RepetitionMissing => {
            let is_lazy = rest.get(1..).is_some_and(|after| after.starts_with('?'));
            let operator = rest.get(..1 + usize::from(is_lazy)).unwrap_or(rest);
            ("missing argument to repetition operator", operator)
        }
        ErrorKind::RepetitionCountInvalid => (REPEAT_COUNT, part),
        // A number that does not fit.
        ErrorKind::DecimalInvalid => {
            let whole = since('{');
            let end = whole.find('}').map_or(whole.len(), |at| at + 1);
            (REPEAT_COUNT, &whole[..end])
        }
        ErrorKind::EscapeUnexpectedEof => ("trailing backslash at end of expression", ""),
        ErrorKind::EscapeUnrecognized | ErrorKind::UnsupportedBackreference => (ESCAPE, part),
        ErrorKind::EscapeHexInvalid | ErrorKind::EscapeHexInvalidDigit => {
            let whole = since('\\');
            (ESCAPE, &whole[..whole.len() - rest.len() + part.len()])
        }
        ErrorKind::UnsupportedLookAround if part.starts_with("(?<") => (CAPTURE, rest),
        ErrorKind::UnsupportedLookAround => (PERL, part),
        ErrorKind::GroupNameUnexpectedEof | ErrorKind::GroupNameInvalid => (CAPTURE, since('(')),
        ErrorKind::FlagUnrecognized => {
            let whole = since('(');
            (PERL, &whole[..whole.len() - rest.len() + part.len()])
        }
        ErrorKind::NestLimitExceeded(_) => ("expression nests too deeply", pattern),
        _ => (PERL, pattern),
    }
}

/// Rewrites Go's syntax into that of the `regex` crate.
pub fn translate(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut rest = pattern;
    let mut in_class = false;
    let mut class_start = false;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        let at_class_start = std::mem::take(&mut class_start);
        match c {
            '\\' => {
                rest = escape(&mut out, after, in_class);
                continue;
            }
            '[' if !in_class => {
                in_class = true;
                class_start = true;
                out.push('[');
                if let Some(negated) = after.strip_prefix('^') {
                    out.push('^');
                    rest = negated;
                    continue;
                }
            }
            ']' if in_class && at_class_start => out.push_str(r"\]"),
            ']' if in_class => {
                in_class = false;
                out.push(']');
            }
            '[' if after.starts_with(':') && after[1..].contains(":]") => out.push('['),
            '[' => out.push_str(r"\["),
            ':' if in_class && out.ends_with('[') && !out.ends_with(r"\[") => {
                let end = after.find(":]").map_or(after.len(), |at| at + 2);
                out.push(':');
                out.push_str(&after[..end]);
                rest = &after[end..];
                continue;
            }
            '&' | '~' if in_class => {
                out.push('\\');
                out.push(c);
            }
            '-' if in_class && after.starts_with('-') => out.push_str(r"\-"),
            '{' if !in_class && !is_repetition(after) => out.push_str(r"\{"),
            '}' if !in_class => out.push('}'),
            _ => out.push(c),
        }
        rest = after;
    }
    out
}

/// Writes the escape that begins with the backslash before `rest`; returns what follows it.
fn escape<'a>(out: &mut String, rest: &'a str, in_class: bool) -> &'a str {
    let Some(c) = rest.chars().next() else {
        out.push('\\');
        return rest;
    };
    let after = &rest[c.len_utf8()..];
    match c {
        'd' => out.push_str("[0-9]"),
        'D' => out.push_str("[^0-9]"),
        'w' => out.push_str("[0-9A-Za-z_]"),
        'W' => out.push_str("[^0-9A-Za-z_]"),
        's' => out.push_str(r"[\t\n\f\r ]"),
        'S' => out.push_str(r"[^\t\n\f\r ]"),
        'b' if !in_class => out.push_str(r"(?-u:\b)"),
        'B' if !in_class => out.push_str(r"(?-u:\B)"),
        '<' | '>' => out.push(c),
        'Q' if !in_class => {
            let end = after.find(r"\E").unwrap_or(after.len());
            out.push_str(&regex::escape(&after[..end]));
            return after[end..].strip_prefix(r"\E").unwrap_or("");
        }
        '0'..='7' if c == '0' || after.starts_with(|d: char| d.is_digit(8)) => {
            let digits = rest.len() - rest.trim_start_matches(|d: char| d.is_digit(8)).len();
            let digits = digits.min(3);
            let code = u32::from_str_radix(&rest[..digits], 8).unwrap_or(0);
            // Writing to a String cannot fail.
            let _ = write!(out, r"\x{{{code:x}}}");
            return &rest[digits..];
        }
        // The repetition's brace is part of the name, not to be escaped.
        'p' | 'P' | 'x' if after.starts_with('{') => {
            let end = after.find('}').map_or(after.len(), |at| at + 1);
            out.push('\\');
            out.push(c);
            out.push_str(&after[..end]);
            return &after[end..];
        }
        _ => {
            out.push('\\');
            out.push(c);
        }
    }
    after
}

/// Whether what follows a `{` makes it a repetition: `n}`, `n,}` or `n,m}`.
fn is_repetition(rest: &str) -> bool {
    let Some((inner, _)) = rest.split_once('}') else {
        return false;
    };
    let (low, high) = inner.split_once(',').unwrap_or((inner, "0"));
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    !low.is_empty() && digits(low) && digits(high)
}

#[cfg(test)]
mod tests;
