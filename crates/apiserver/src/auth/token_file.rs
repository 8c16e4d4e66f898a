//! Static tokens: a CSV file of `token,user,uid,"group1,group2"`, as kube-apiserver's `--token-auth-file` takes it.

use std::collections::HashMap;

use crate::access::Identity;

/// The tokens of one file.
#[derive(Clone, Debug, Default)]
pub struct TokenFile(HashMap<Box<str>, Identity>);

/// What is wrong with a file of tokens.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Fewer than token, user and uid.
    #[error("line {0} of the token file has fewer than three columns: token, user and uid")]
    Columns(usize),
    /// The first column is empty.
    #[error("line {0} of the token file has no token")]
    NoToken(usize),
    /// A quote that is not closed.
    #[error("line {0} of the token file has an unclosed quote")]
    Quote(usize),
}

impl TokenFile {
    /// Reads the file's text. Empty lines and lines beginning with `#` are skipped; of equal tokens the last counts.
    ///
    /// # Errors
    /// The first line that is wrong; never the token itself, because errors are logged.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut tokens = HashMap::new();
        for (number, line) in text
            .lines()
            .enumerate()
            .map(|(index, line)| (index + 1, line.trim()))
        {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let columns = columns(line).ok_or(Error::Quote(number))?;
            let [token, user, uid, rest @ ..] = columns.as_slice() else {
                return Err(Error::Columns(number));
            };
            if token.is_empty() {
                return Err(Error::NoToken(number));
            }
            let groups = rest.first().map_or("", String::as_str).split(',');
            let groups = groups.map(str::trim).filter(|group| !group.is_empty());
            let mut identity = Identity::user(user.as_str(), groups.map(String::from));
            identity.uid = uid.clone();
            tokens.insert(token.as_str().into(), identity);
        }
        Ok(Self(tokens))
    }

    /// Adds one token, such as the one made at the first start.
    pub fn insert(&mut self, token: &str, identity: Identity) {
        self.0.insert(token.into(), identity);
    }

    /// Whose token it is.
    pub fn identity(&self, token: &str) -> Option<&Identity> {
        self.0.get(token)
    }
}

/// The columns of one line; a column in double quotes may contain commas, and doubled quotes for one. `None` when a quote
/// is not closed.
fn columns(line: &str) -> Option<Vec<String>> {
    let mut columns = vec![String::new()];
    let mut quoted = false;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        let column = columns.last_mut()?;
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                column.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => columns.push(String::new()),
            // Space after a comma is not part of the value.
            ' ' if !quoted && column.is_empty() => {}
            c => column.push(c),
        }
    }
    (!quoted).then_some(columns)
}

#[cfg(test)]
mod tests;
