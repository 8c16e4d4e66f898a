//! Which records to show: `--level warn+` and `--where 'logger ~ "^http" and status >= 500'`.

use flotilla_loglevel::{LEVELS, Level};
use regex::Regex;

use crate::entry::Entry;

/// Why a filter could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A level that does not exist.
    #[error("unknown level {0:?}; levels are {names}", names = names())]
    Level(String),
    /// The condition breaks off or has something unexpected.
    #[error("condition: expected {expected} at column {column}, found {found:?}")]
    Syntax {
        /// What would have been right.
        expected: &'static str,
        /// What stands there; empty at the end.
        found: String,
        /// Counted from 1.
        column: usize,
    },
    /// A pattern that is not a regular expression.
    #[error("condition: bad pattern at column {column}")]
    Pattern {
        /// Counted from 1.
        column: usize,
        /// What the expression library says.
        #[source]
        cause: Box<regex::Error>,
    },
}

fn names() -> String {
    LEVELS.map(Level::name).join(", ")
}

/// A set of levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Levels(u16);

impl Levels {
    /// Every level, `unknown` included.
    pub const ALL: Levels = Levels(u16::MAX);

    /// Reads `warn+` (and above), `info-` (and below), `warn,error`, or one level.
    ///
    /// # Errors
    /// [`Error::Level`] for a word that is no level.
    pub fn parse(text: &str) -> Result<Levels, Error> {
        let mut set = 0;
        for part in text.split(',').map(str::trim) {
            let (name, side) = match part.strip_suffix(['+', '-']) {
                Some(name) => (name, part.as_bytes().last().copied()),
                None => (part, None),
            };
            let level = level(name)?;
            for other in LEVELS {
                let chosen = match side {
                    Some(b'+') => other >= level,
                    Some(_) => other <= level && other != Level::Unknown,
                    None => other == level,
                };
                set |= u16::from(chosen) << other as u16;
            }
        }
        Ok(Levels(set))
    }

    /// Whether the set has this level.
    pub fn contains(self, level: Level) -> bool {
        self.0 & 1 << level as u16 != 0
    }
}

/// Reads the name of a level, in any spelling that loggers use.
///
/// # Errors
/// [`Error::Level`] for anything else.
pub fn level(name: &str) -> Result<Level, Error> {
    Level::from_name(name)
        .or_else(|| {
            Some(Level::of_severity(flotilla_loglevel::word(name.as_bytes())))
                .filter(|level| *level != Level::Unknown)
        })
        .ok_or_else(|| Error::Level(name.to_owned()))
}

/// A parsed condition.
///
/// `NAME OP VALUE`, joined by `and`, `or`, `not` and parentheses; `not` binds tightest, then `and`. Operators: `=`, `!=`,
/// `~` and `!~` (regular expression), `<`, `<=`, `>`, `>=` (numbers; levels in their order). A name alone asks whether the
/// part or field exists. Names: level, format, source, stream, logger, caller, thread, msg, err, ts, raw, or any field.
#[derive(Debug)]
pub struct Condition(Node);

#[derive(Debug)]
enum Node {
    And(Box<Node>, Box<Node>),
    Or(Box<Node>, Box<Node>),
    Not(Box<Node>),
    Exists(String),
    Equals(String, String),
    Matches(String, Regex),
    Compares(String, Order, String),
}

#[derive(Clone, Copy, Debug)]
enum Order {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Condition {
    /// Reads a condition.
    ///
    /// # Errors
    /// [`Error::Syntax`] and [`Error::Pattern`], with the column.
    pub fn parse(text: &str) -> Result<Condition, Error> {
        let mut parser = Parser {
            text,
            at: 0,
            depth: 0,
        };
        let node = parser.or()?;
        parser.blanks();
        if parser.at < text.len() {
            Err(parser.expected("the end, `and` or `or`"))
        } else {
            Ok(Condition(node))
        }
    }

    /// Whether the record fulfils it.
    pub fn matches(&self, entry: &Entry<'_>) -> bool {
        matches(&self.0, entry)
    }
}

fn matches(node: &Node, entry: &Entry<'_>) -> bool {
    match node {
        Node::And(left, right) => matches(left, entry) && matches(right, entry),
        Node::Or(left, right) => matches(left, entry) || matches(right, entry),
        Node::Not(inner) => !matches(inner, entry),
        Node::Exists(name) => entry.text(name).is_some(),
        Node::Equals(name, value) => entry.text(name).is_some_and(|text| text == value.as_str()),
        Node::Matches(name, pattern) => {
            entry.text(name).is_some_and(|text| pattern.is_match(&text))
        }
        Node::Compares(name, order, value) if name == "level" => {
            level(value).is_ok_and(|value| holds(*order, entry.record.level, value))
        }
        Node::Compares(name, order, value) => {
            let number = |text: &str| text.parse::<f64>().ok();
            let pair = entry
                .text(name)
                .and_then(|text| Some((number(&text)?, number(value)?)));
            pair.is_some_and(|(left, right)| holds(*order, left, right))
        }
    }
}

fn holds<T: PartialOrd>(order: Order, left: T, right: T) -> bool {
    match order {
        Order::Less => left < right,
        Order::LessOrEqual => left <= right,
        Order::Greater => left > right,
        Order::GreaterOrEqual => left >= right,
    }
}

/// Deepest nesting of parentheses and `not`.
const DEPTH_MAX: usize = 50;

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn or(&mut self) -> Result<Node, Error> {
        let mut node = self.and()?;
        while self.keyword("or") {
            node = Node::Or(Box::new(node), Box::new(self.and()?));
        }
        Ok(node)
    }

    fn and(&mut self) -> Result<Node, Error> {
        let mut node = self.not()?;
        while self.keyword("and") {
            node = Node::And(Box::new(node), Box::new(self.not()?));
        }
        Ok(node)
    }

    fn not(&mut self) -> Result<Node, Error> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.expected("less nesting"));
        }
        let node = if self.keyword("not") {
            Node::Not(Box::new(self.not()?))
        } else if self.symbol("(") {
            let node = self.or()?;
            if !self.symbol(")") {
                return Err(self.expected("`)`"));
            }
            node
        } else {
            self.comparison()?
        };
        self.depth -= 1;
        Ok(node)
    }

    fn comparison(&mut self) -> Result<Node, Error> {
        let name = self.value("a name")?;
        let operators = ["!=", "!~", "<=", ">=", "=", "~", "<", ">"];
        let Some(operator) = operators.into_iter().find(|operator| self.symbol(operator)) else {
            return Ok(Node::Exists(name));
        };
        self.blanks();
        let column = self.at + 1;
        let value = self.value("a value")?;
        let pattern = |value: &str| {
            Regex::new(value).map_err(|cause| Error::Pattern {
                column,
                cause: Box::new(cause),
            })
        };
        Ok(match operator {
            "=" => Node::Equals(name, value),
            "!=" => Node::Not(Box::new(Node::Equals(name, value))),
            "~" => Node::Matches(name, pattern(&value)?),
            "!~" => Node::Not(Box::new(Node::Matches(name, pattern(&value)?))),
            "<" => Node::Compares(name, Order::Less, value),
            "<=" => Node::Compares(name, Order::LessOrEqual, value),
            ">" => Node::Compares(name, Order::Greater, value),
            _ => Node::Compares(name, Order::GreaterOrEqual, value),
        })
    }

    fn value(&mut self, expected: &'static str) -> Result<String, Error> {
        self.blanks();
        let rest = &self.text[self.at..];
        if let Some(quoted) = rest.strip_prefix('"') {
            let Some(end) = quoted.find('"') else {
                return Err(self.expected("a closing quote"));
            };
            self.at += end + 2;
            return Ok(quoted[..end].to_owned());
        }
        let end = rest
            .find(|char: char| char.is_whitespace() || "()=!~<>\"".contains(char))
            .unwrap_or(rest.len());
        if end == 0 {
            return Err(self.expected(expected));
        }
        self.at += end;
        Ok(rest[..end].to_owned())
    }

    fn keyword(&mut self, word: &str) -> bool {
        self.blanks();
        let rest = &self.text[self.at..];
        let found = rest
            .strip_prefix(word)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '(', '\t']));
        self.at += if found { word.len() } else { 0 };
        found
    }

    fn symbol(&mut self, symbol: &str) -> bool {
        self.blanks();
        let found = self.text[self.at..].starts_with(symbol);
        self.at += if found { symbol.len() } else { 0 };
        found
    }

    fn blanks(&mut self) {
        self.at = self.text.len() - self.text[self.at..].trim_start().len();
    }

    fn expected(&self, expected: &'static str) -> Error {
        let found = self.text[self.at..]
            .split_whitespace()
            .next()
            .unwrap_or_default()
            .to_owned();
        Error::Syntax {
            expected,
            found,
            column: self.at + 1,
        }
    }
}

#[cfg(test)]
mod tests;
