//! From text to nodes.

use serde_json::Value;

use super::{Filter, Node, Slice, To};

/// How deeply filters and unions may stand inside each other.
const NESTING_MAX: usize = 8;

struct Parser<'t> {
    text: &'t str,
    at: usize,
    nesting: usize,
    nodes: Vec<Node>,
}

/// The nodes of `text`, which is what stands between braces.
pub(super) fn parse(text: &str, nesting: usize) -> Result<Vec<Node>, String> {
    if nesting > NESTING_MAX {
        return Err(format!("more than {NESTING_MAX} filters inside each other"));
    }
    let mut parser = Parser {
        text,
        at: 0,
        nesting,
        nodes: Vec::new(),
    };
    while parser.step()? {}
    Ok(parser.nodes)
}

impl<'t> Parser<'t> {
    /// Reads one node; false at the end.
    fn step(&mut self) -> Result<bool, String> {
        let rest = self.rest();
        if rest.starts_with("[?(") {
            return self.filter().map(|()| true);
        }
        if rest.starts_with("..") {
            return self.recursive().map(|()| true);
        }
        let Some(c) = rest.chars().next() else {
            return Ok(false);
        };
        match c {
            '\n' | '\r' => return Err("unclosed action".into()),
            '}' => return Err("a path must be one action".into()),
            ' ' | '@' | '$' => self.at += 1,
            '[' => self.array()?,
            '"' | '\'' => self.quoted(c)?,
            '.' => {
                self.at += 1;
                self.field();
            }
            '+' | '-' => self.number()?,
            c if c.is_numeric() => self.number()?,
            c if c == '_' || c.is_alphabetic() => self.identifier(),
            c => {
                return Err(format!(
                    "unrecognized character in action: {}",
                    code_point(c)
                ));
            }
        }
        Ok(true)
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn recursive(&mut self) -> Result<(), String> {
        if self.nodes.last() == Some(&Node::Recursive) {
            return Err("invalid multiple recursive descent".into());
        }
        self.at += 2;
        self.nodes.push(Node::Recursive);
        if self
            .rest()
            .starts_with(|c: char| c == '_' || c.is_alphanumeric())
        {
            self.field();
        }
        Ok(())
    }

    /// A field's name up to a terminator without a backslash in front.
    fn field(&mut self) {
        let mut escaped = false;
        let end = self.rest().find(|c| match c {
            _ if escaped => {
                escaped = false;
                false
            }
            '\\' => {
                escaped = true;
                false
            }
            c => is_terminator(c),
        });
        let name = self.take(end);
        self.nodes.push(match name {
            "*" => Node::Wildcard,
            name => Node::Field(name.replace('\\', "")),
        });
    }

    fn identifier(&mut self) {
        let word = self.take(self.rest().find(is_terminator));
        self.nodes.push(match word {
            "true" | "false" => Node::Literal(Value::Bool(word == "true")),
            word => Node::Identifier(word.to_owned()),
        });
    }

    fn number(&mut self) -> Result<(), String> {
        let rest = self.rest();
        let sign = usize::from(rest.starts_with(['+', '-']));
        let end = rest[sign..].find(|c: char| c != '.' && !c.is_numeric());
        let text = self.take(end.map(|end| end + sign));
        let number = match (text.parse::<i64>(), text.parse::<f64>()) {
            (Ok(whole), _) => whole.into(),
            (_, Ok(float)) => float.into(),
            _ => return Err(format!("cannot parse number {text}")),
        };
        self.nodes.push(Node::Literal(number));
        Ok(())
    }

    fn quoted(&mut self, quote: char) -> Result<(), String> {
        let rest = self.rest();
        let mut previous = ' ';
        let end = rest.char_indices().skip(1).find(|&(_, c)| {
            let ends = c == '\n' || (c == quote && previous != '\\');
            previous = c;
            ends
        });
        match end {
            Some((at, c)) if c == quote => {
                let text = self.take(Some(at + 1));
                self.nodes.push(Node::Literal(unquote(text)?.into()));
                Ok(())
            }
            _ => Err("unterminated quoted string".into()),
        }
    }

    /// `[…]` with an index, a slice, a quoted key, or several of them.
    fn array(&mut self) -> Result<(), String> {
        let rest = self.rest();
        let end = rest
            .find(['\n', ']'])
            .filter(|&end| rest[end..].starts_with(']'));
        let end = end.ok_or("unterminated array")?;
        let inside = &self.take(Some(end + 1))[1..end];
        let parts: Vec<&str> = inside.split(',').collect();
        if parts.len() > 1 {
            let parse_part =
                |part: &&str| parse(&format!("[{}]", part.trim_matches(' ')), self.nesting + 1);
            let union = parts.iter().map(parse_part).collect::<Result<_, _>>()?;
            self.nodes.push(Node::Union(union));
            return Ok(());
        }
        let key = inside
            .strip_prefix('\'')
            .and_then(|rest| rest.strip_suffix('\''));
        if let Some(key) = key.filter(|key| !key.contains('\'')) {
            self.nodes
                .extend(parse(&format!(".{key}"), self.nesting + 1)?);
            return Ok(());
        }
        let inside = if inside == "*" { ":" } else { inside };
        self.nodes.push(Node::Slice(slice(inside)?));
        Ok(())
    }

    /// `[?(left op right)]` or `[?(exists)]`.
    fn filter(&mut self) -> Result<(), String> {
        self.at += 3;
        let rest = self.rest();
        let mut quote = None;
        let mut closed = false;
        let mut previous = ' ';
        let end = rest.char_indices().find(|&(_, c)| {
            match (c, quote) {
                ('\n', _) => return true,
                ('"' | '\'', None) => quote = Some(c),
                ('"' | '\'', Some(pair)) if c == pair && previous != '\\' => closed = true,
                (')', _) if quote.is_some() == closed => return true,
                _ => {}
            }
            previous = c;
            false
        });
        let end = match end {
            Some((end, ')')) => end,
            _ => return Err("unterminated filter".into()),
        };
        if !rest[end + 1..].starts_with(']') {
            return Err("unclosed array expect ]".into());
        }
        self.at += end + 2;
        let filter = self.comparison(&rest[..end])?;
        self.nodes.push(Node::Filter(Box::new(filter)));
        Ok(())
    }

    fn comparison(&self, text: &str) -> Result<Filter, String> {
        let is_operator = |c: char| matches!(c, '!' | '<' | '>' | '=');
        let parse_side = |text: &str| parse(text, self.nesting + 1);
        if let Some(start) = text.find(is_operator).filter(|&start| start > 0) {
            let (left, rest) = text.split_at(start);
            let length = rest
                .find(|c| !is_operator(c))
                .unwrap_or(rest.len().saturating_sub(1));
            if length > 0 {
                let (operator, right) = rest.split_at(length);
                return Ok(Filter {
                    left: parse_side(left)?,
                    right: parse_side(right)?,
                    operator: operator.to_owned(),
                });
            }
        }
        Ok(Filter {
            left: parse_side(text)?,
            right: Vec::new(),
            operator: "exists".into(),
        })
    }

    fn take(&mut self, len: Option<usize>) -> &'t str {
        let rest = self.rest();
        let taken = &rest[..len.unwrap_or(rest.len())];
        self.at += taken.len();
        taken
    }
}

fn slice(text: &str) -> Result<Slice, String> {
    let parts: Vec<&str> = text.split(':').collect();
    let is_number = |part: &&str| {
        part.strip_prefix('-')
            .unwrap_or(part)
            .bytes()
            .all(|b| b.is_ascii_digit())
    };
    if parts.len() > 3 || !parts.iter().all(is_number) {
        return Err(format!("invalid array index {text}"));
    }
    let number = |at: usize| match parts.get(at) {
        None | Some(&"") => Ok(None),
        Some(part) => {
            let error = |_| format!("array index {part} is not a number");
            part.parse().map(Some).map_err(error)
        }
    };
    let to = match (parts.len(), number(1)?) {
        (1, _) => To::OneItem,
        (_, None) => To::End,
        (_, Some(at)) => To::At(at),
    };
    Ok(Slice {
        from: number(0)?,
        to,
        step: number(2)?,
    })
}

/// Text between quotes with the escapes of Go strings, except octal ones.
fn unquote(text: &str) -> Result<String, String> {
    let inside = &text[1..text.len() - 1];
    let error = || format!("unquote string {text} error invalid syntax");
    let mut out = String::with_capacity(inside.len());
    let mut chars = inside.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        out.push(match chars.next().ok_or_else(error)? {
            'a' => '\u{7}',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            '\\' => '\\',
            'x' => code(&mut chars, 2).ok_or_else(error)?,
            'u' => code(&mut chars, 4).ok_or_else(error)?,
            'U' => code(&mut chars, 8).ok_or_else(error)?,
            c if text.starts_with(c) => c,
            _ => return Err(error()),
        });
    }
    Ok(out)
}

/// The character with the code of the next `n` hexadecimal digits.
fn code(chars: &mut std::str::Chars<'_>, n: usize) -> Option<char> {
    let hex: String = chars.take(n).collect();
    let code = u32::from_str_radix(&hex, 16).ok()?;
    char::from_u32(code).filter(|_| hex.len() == n)
}

fn is_terminator(c: char) -> bool {
    matches!(
        c,
        ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}'
    )
}

/// `U+007C '|'`, as Go's `%#U`.
fn code_point(c: char) -> String {
    let code = format!("U+{:04X}", u32::from(c));
    if crate::quote::is_print(c) {
        format!("{code} '{c}'")
    } else {
        code
    }
}
