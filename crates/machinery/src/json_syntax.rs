//! Why a text is not JSON, in the words of Go's scanner.
//!
//! Clients read these words in refusals, so they say what kube-apiserver says; the parser proper names a line and a column
//! instead. Only asked when parsing failed already.
//!
//! Source: Go 1.25, `encoding/json/scanner.go`.

/// How deeply Go nests.
const DEPTH_MAX: usize = 10_000;

/// The first mistake in `text`; `None` when it is one JSON value.
pub fn mistake(text: &[u8]) -> Option<String> {
    let mut scan = Scan {
        text,
        at: 0,
        open: Vec::new(),
    };
    scan.document().err()
}

type Step = Result<(), String>;

struct Scan<'a> {
    text: &'a [u8],
    at: usize,
    /// Brackets around the place, outermost first.
    open: Vec<u8>,
}

impl Scan<'_> {
    fn document(&mut self) -> Step {
        loop {
            self.value()?;
            loop {
                self.skip_space();
                let Some(&bracket) = self.open.last() else {
                    return match self.peek() {
                        None => Ok(()),
                        Some(_) => self.wrong("after top-level value"),
                    };
                };
                match (bracket, self.some()?) {
                    (_, b',') => {
                        self.at += 1;
                        if bracket == b'{' {
                            self.key()?;
                        }
                        break;
                    }
                    (b'{', b'}') | (b'[', b']') => {
                        self.at += 1;
                        self.open.pop();
                    }
                    (b'{', _) => return self.wrong("after object key:value pair"),
                    _ => return self.wrong("after array element"),
                }
            }
        }
    }

    /// One value, or the beginnings of lists and objects up to the first that is none; an empty list or object is one.
    fn value(&mut self) -> Step {
        loop {
            self.skip_space();
            let first = self.some()?;
            match first {
                b'{' | b'[' => {
                    self.at += 1;
                    self.open.push(first);
                    if self.open.len() > DEPTH_MAX {
                        return Err("exceeded max depth".to_owned());
                    }
                    self.skip_space();
                    match (first, self.some()?) {
                        (b'{', b'}') | (b'[', b']') => {
                            self.at += 1;
                            self.open.pop();
                            return Ok(());
                        }
                        (b'{', _) => self.key()?,
                        _ => {}
                    }
                }
                b'"' => return self.string(),
                b'-' | b'0'..=b'9' => return self.number(),
                b't' => return self.literal("true"),
                b'f' => return self.literal("false"),
                b'n' => return self.literal("null"),
                _ => return self.wrong("looking for beginning of value"),
            }
        }
    }

    fn key(&mut self) -> Step {
        self.skip_space();
        if self.some()? != b'"' {
            return self.wrong("looking for beginning of object key string");
        }
        self.string()?;
        self.skip_space();
        if self.some()? != b':' {
            return self.wrong("after object key");
        }
        self.at += 1;
        Ok(())
    }

    fn string(&mut self) -> Step {
        self.at += 1;
        loop {
            match self.some()? {
                b'"' => {
                    self.at += 1;
                    return Ok(());
                }
                b'\\' => {
                    self.at += 1;
                    self.escape()?;
                }
                0..0x20 => return self.wrong("in string literal"),
                _ => self.at += 1,
            }
        }
    }

    fn escape(&mut self) -> Step {
        match self.some()? {
            b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"' => self.at += 1,
            b'u' => {
                self.at += 1;
                for _ in 0..4 {
                    if !self.some()?.is_ascii_hexdigit() {
                        return self.wrong("in \\u hexadecimal character escape");
                    }
                    self.at += 1;
                }
            }
            _ => return self.wrong("in string escape code"),
        }
        Ok(())
    }

    fn number(&mut self) -> Step {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.some()? {
            b'0' => self.at += 1,
            b'1'..=b'9' => self.digits(),
            _ => return self.wrong("in numeric literal"),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digit("after decimal point in numeric literal")?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digit("in exponent of numeric literal")?;
        }
        Ok(())
    }

    fn digit(&mut self, context: &str) -> Step {
        if !self.some()?.is_ascii_digit() {
            return self.wrong(context);
        }
        self.digits();
        Ok(())
    }

    fn digits(&mut self) {
        while self.peek().is_some_and(|c| c.is_ascii_digit()) {
            self.at += 1;
        }
    }

    fn literal(&mut self, word: &str) -> Step {
        for wanted in word.bytes() {
            if self.some()? != wanted {
                let wanted = char::from(wanted);
                return self.wrong(&format!("in literal {word} (expecting '{wanted}')"));
            }
            self.at += 1;
        }
        Ok(())
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek() {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn some(&self) -> Result<u8, String> {
        self.peek()
            .ok_or_else(|| "unexpected end of JSON input".to_owned())
    }

    fn wrong(&self, context: &str) -> Step {
        let found = self.some()?;
        let shown = match found {
            b'\'' => "\\'".to_owned(),
            b'"' => "\"".to_owned(),
            b'\\' => "\\\\".to_owned(),
            b'\n' => "\\n".to_owned(),
            b'\r' => "\\r".to_owned(),
            b'\t' => "\\t".to_owned(),
            0x07 => "\\a".to_owned(),
            0x08 => "\\b".to_owned(),
            0x0b => "\\v".to_owned(),
            0x0c => "\\f".to_owned(),
            0..0x20 | 0x7f => format!("\\x{found:02x}"),
            0x80..0xa1 | 0xad => format!("\\u{found:04x}"),
            _ => char::from(found).to_string(),
        };
        Err(format!("invalid character '{shown}' {context}"))
    }
}

#[cfg(test)]
mod tests {
    use super::mistake;

    #[test]
    fn mistakes_are_named_in_the_words_of_go() {
        for (text, want) in [
            (
                "{not json",
                "invalid character 'n' looking for beginning of object key string",
            ),
            (
                "not",
                "invalid character 'o' in literal null (expecting 'u')",
            ),
            ("", "unexpected end of JSON input"),
            ("[1,", "unexpected end of JSON input"),
            ("[1 2]", "invalid character '2' after array element"),
            ("{\"a\" 1}", "invalid character '1' after object key"),
            (
                "{\"a\":1 \"",
                "invalid character '\"' after object key:value pair",
            ),
            ("01", "invalid character '1' after top-level value"),
            ("-x", "invalid character 'x' in numeric literal"),
            ("1.", "unexpected end of JSON input"),
            (
                "1e'",
                "invalid character '\\'' in exponent of numeric literal",
            ),
            ("\"\\q\"", "invalid character 'q' in string escape code"),
            (
                "\"\\u12g",
                "invalid character 'g' in \\u hexadecimal character escape",
            ),
            ("\"\n\"", "invalid character '\\n' in string literal"),
            (
                "[,]",
                "invalid character ',' looking for beginning of value",
            ),
            (
                "[1,]",
                "invalid character ']' looking for beginning of value",
            ),
            (
                "\u{e9}",
                "invalid character 'Ã' looking for beginning of value",
            ),
        ] {
            assert_eq!(mistake(text.as_bytes()).as_deref(), Some(want), "{text}");
        }
        for text in [
            "{}",
            " [ ] ",
            "[[{\"a\":[1,-0.5e+3,null,true,false,\"\\u00e9\"]}], {}]",
        ] {
            assert_eq!(mistake(text.as_bytes()), None, "{text}");
        }
    }
}
