//! Reading variables while collecting mistakes.

use super::{Config, Mistake, Parsed};

/// A source of variables and what was wrong with them so far.
pub(super) struct Reader<'a> {
    source: &'a dyn Fn(&str) -> Option<String>,
    mistakes: Vec<Mistake>,
    warnings: Vec<Mistake>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(source: &'a dyn Fn(&str) -> Option<String>) -> Reader<'a> {
        Reader {
            source,
            mistakes: Vec::new(),
            warnings: Vec::new(),
        }
    }

    pub(super) fn finish(self, config: Config) -> Result<Parsed, Vec<Mistake>> {
        if self.mistakes.is_empty() {
            Ok(Parsed {
                config,
                warnings: self.warnings,
            })
        } else {
            Err(self.mistakes)
        }
    }

    /// The source itself, for readers of other shapes.
    pub(super) fn source(&self) -> &'a dyn Fn(&str) -> Option<String> {
        self.source
    }

    pub(super) fn mistake(&mut self, name: &'static str, hint: String) {
        self.mistakes.push(Mistake { name, hint });
    }

    pub(super) fn warn(&mut self, name: &'static str, hint: String) {
        self.warnings.push(Mistake { name, hint });
    }

    pub(super) fn check(&mut self, name: &'static str, holds: bool, hint: impl Fn() -> String) {
        if !holds {
            self.mistake(name, hint());
        }
    }

    /// The value without blanks around it; the default when absent or empty.
    pub(super) fn text(&mut self, name: &'static str, default: &str) -> String {
        let value = self.text_or_empty(name, default);
        if value.is_empty() {
            default.to_owned()
        } else {
            value
        }
    }

    /// The value without blanks around it, where an empty one means something.
    pub(super) fn text_or_empty(&mut self, name: &'static str, default: &str) -> String {
        (self.source)(name).map_or_else(|| default.to_owned(), |value| value.trim().to_owned())
    }

    pub(super) fn required(&mut self, name: &'static str) -> String {
        let value = self.text(name, "");
        self.check(name, !value.is_empty(), || "is required".into());
        value
    }

    /// The elements of a comma list, without blanks and empty ones.
    pub(super) fn list(&mut self, name: &'static str) -> Vec<String> {
        let text = self.text(name, "");
        text.split(',')
            .map(str::trim)
            .filter(|e| !e.is_empty())
            .map(str::to_owned)
            .collect()
    }

    pub(super) fn number(&mut self, name: &'static str, default: u64, min: u64) -> u64 {
        /// Whole seconds and counts never need more; keeps durations far from overflow.
        const MAX: u64 = 0x7fff_ffff;
        let text = self.text(name, "");
        if text.is_empty() {
            return default;
        }
        match text.parse() {
            Ok(number) if (min..=MAX).contains(&number) => number,
            _ => {
                self.mistake(
                    name,
                    format!("{text:?} is not a whole number of {min} or more"),
                );
                default
            }
        }
    }

    pub(super) fn switch(&mut self, name: &'static str) -> bool {
        let text = self.text(name, "false");
        match text.to_ascii_lowercase().as_str() {
            "1" | "t" | "true" | "yes" => true,
            "0" | "f" | "false" | "no" => false,
            _ => {
                self.mistake(name, format!("{text:?} is neither true nor false"));
                false
            }
        }
    }

    pub(super) fn one_of(&mut self, name: &'static str, default: &str, values: &[&str]) -> String {
        let text = self.text(name, default);
        self.check(name, values.contains(&text.as_str()), || {
            format!("{text:?} is unknown; use one of {}", values.join(", "))
        });
        text
    }
}
