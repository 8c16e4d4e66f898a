//! The text form of label selectors: a lexer and a recursive descent without recursion.
//!
//! `in` and `notin` are operators only where an operator may stand; elsewhere they are ordinary
//! keys and values. White space separates and is otherwise ignored.

use std::collections::BTreeSet;

use super::{Operator, Requirement};
use crate::names::qualified_name;
use crate::status::FieldError;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Token {
    End,
    Open,
    Close,
    Comma,
    Not,
    Identifier,
    Operator(Operator),
}

struct Parser {
    items: Vec<(Token, String)>,
    at: usize,
}

/// The requirements in `text`, in the order in which they were written.
pub(super) fn parse(text: &str) -> Result<Vec<Requirement>, String> {
    let mut parser = Parser {
        items: lex(text),
        at: 0,
    };
    let mut out = Vec::new();
    loop {
        match parser.peek() {
            (Token::Identifier | Token::Not, _) => {}
            (Token::End, _) => return Ok(out),
            (_, found) => {
                return Err(format!(
                    "found '{found}', expected: !, identifier, or 'end of string'"
                ));
            }
        }
        let requirement = parser
            .requirement()
            .map_err(|e| format!("unable to parse requirement: {e}"))?;
        out.push(requirement);
        match parser.next() {
            (Token::End, _) => return Ok(out),
            (Token::Comma, _) => {
                let (token, found) = parser.peek();
                if !matches!(token, Token::Identifier | Token::Not) {
                    return Err(format!("found '{found}', expected: identifier after ','"));
                }
            }
            (_, found) => {
                return Err(format!("found '{found}', expected: ',' or 'end of string'"));
            }
        }
    }
}

// === impl Parser ===

impl Parser {
    /// The current token as a key or value; `in` and `notin` are identifiers here.
    fn peek(&self) -> (Token, &str) {
        let (token, text) = &self.items[self.at.min(self.items.len() - 1)];
        let word = matches!(token, Token::Operator(Operator::In | Operator::NotIn));
        (if word { Token::Identifier } else { *token }, text)
    }

    fn next(&mut self) -> (Token, String) {
        let (token, text) = self.peek();
        let text = text.to_owned();
        self.at += 1;
        (token, text)
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let (mut token, mut key) = self.next();
        let negated = token == Token::Not;
        if negated {
            (token, key) = self.next();
        }
        if token != Token::Identifier {
            return Err(format!("found '{key}', expected: identifier"));
        }
        let bad_key = qualified_name(&key);
        if !bad_key.is_empty() {
            return Err(FieldError::invalid("", key, bad_key.join("; ")).to_string());
        }
        let (operator, values) = match self.peek().0 {
            _ if negated => (Operator::DoesNotExist, Vec::new()),
            Token::End | Token::Comma => (Operator::Exists, Vec::new()),
            _ => self.operator_and_values()?,
        };
        Requirement::new(&key, operator, values).map_err(|e| e.to_string())
    }

    fn operator_and_values(&mut self) -> Result<(Operator, Vec<String>), String> {
        let (token, text) = &self.items[self.at];
        let Token::Operator(operator) = *token else {
            return Err(format!(
                "found '{text}', expected: in, notin, =, ==, !=, gt, lt"
            ));
        };
        self.at += 1;
        let values = match operator {
            Operator::In | Operator::NotIn => self.values()?.into_iter().collect(),
            _ => vec![self.exact_value()?],
        };
        Ok((operator, values))
    }

    fn exact_value(&mut self) -> Result<String, String> {
        if matches!(self.peek().0, Token::End | Token::Comma) {
            return Ok(String::new());
        }
        match self.next() {
            (Token::Identifier, value) => Ok(value),
            (_, found) => Err(format!("found '{found}', expected: identifier")),
        }
    }

    /// `(a,b)`; empty places between commas and brackets are empty values.
    fn values(&mut self) -> Result<BTreeSet<String>, String> {
        let (token, found) = self.next();
        if token != Token::Open {
            return Err(format!("found '{found}' expected: '('"));
        }
        match self.peek() {
            (Token::Identifier | Token::Comma, _) => {
                let values = self.value_list()?;
                // The list ends only in front of a bracket.
                self.next();
                Ok(values)
            }
            (Token::Close, _) => {
                self.next();
                Ok(BTreeSet::from([String::new()]))
            }
            (_, found) => Err(format!("found '{found}', expected: ',', ')' or identifier")),
        }
    }

    fn value_list(&mut self) -> Result<BTreeSet<String>, String> {
        let mut out = BTreeSet::new();
        loop {
            match self.next() {
                (Token::Identifier, value) => {
                    out.insert(value);
                    match self.peek() {
                        (Token::Comma, _) => {}
                        (Token::Close, _) => return Ok(out),
                        (_, found) => return Err(format!("found '{found}', expected: ',' or ')'")),
                    }
                }
                (Token::Comma, _) => {
                    let next = self.peek().0;
                    if out.is_empty() || matches!(next, Token::Close | Token::Comma) {
                        out.insert(String::new());
                    }
                    if next == Token::Close {
                        return Ok(out);
                    }
                }
                (_, found) => return Err(format!("found '{found}', expected: ',', or identifier")),
            }
        }
    }
}

/// Splits `text` into tokens; the last one is always [`Token::End`].
///
/// As upstream has it, a NUL byte ends a word, and in front of a word it ends the text.
fn lex(text: &str) -> Vec<(Token, String)> {
    let mut rest = text;
    let mut out = Vec::new();
    loop {
        rest = rest.trim_start_matches(is_white);
        if rest.is_empty() || rest.starts_with('\0') {
            out.push((Token::End, String::new()));
            return out;
        }
        let end = if rest.starts_with(is_special) {
            special_len(rest)
        } else {
            rest.find(|c| is_special(c) || is_white(c) || c == '\0')
                .unwrap_or(rest.len())
        };
        let (lit, tail) = rest.split_at(end);
        out.push((token(lit), lit.to_owned()));
        rest = tail.strip_prefix('\0').unwrap_or(tail);
    }
}

/// Length of the longest operator at the start of `text`.
fn special_len(text: &str) -> usize {
    if text.starts_with("==") || text.starts_with("!=") {
        2
    } else {
        1
    }
}

fn token(lit: &str) -> Token {
    match lit {
        ")" => Token::Close,
        "," => Token::Comma,
        "!" => Token::Not,
        "(" => Token::Open,
        "==" => Token::Operator(Operator::DoubleEquals),
        "=" => Token::Operator(Operator::Equals),
        ">" => Token::Operator(Operator::GreaterThan),
        "<" => Token::Operator(Operator::LessThan),
        "!=" => Token::Operator(Operator::NotEquals),
        "in" => Token::Operator(Operator::In),
        "notin" => Token::Operator(Operator::NotIn),
        _ => Token::Identifier,
    }
}

fn is_white(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

fn is_special(c: char) -> bool {
    matches!(c, '=' | '!' | '(' | ')' | ',' | '>' | '<')
}
