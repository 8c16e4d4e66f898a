//! Paths to a field, built without allocating until somebody has something to say about it.

use std::fmt;

/// A path as upstream's `field.Path` prints it: `spec.versions[0].schema`, keys of maps in brackets.
///
/// Each part lives on the stack of the function that walks one level deeper.
#[derive(Clone, Copy, Debug)]
pub struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    part: Part<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Part<'a> {
    Root,
    Child(&'a str),
    Key(&'a str),
    Index(usize),
}

impl<'a> Path<'a> {
    /// The object itself; prints as nothing.
    pub const ROOT: Path<'static> = Path {
        parent: None,
        part: Part::Root,
    };

    /// The field `name` below this path.
    pub fn child(&'a self, name: &'a str) -> Path<'a> {
        Path {
            parent: Some(self),
            part: Part::Child(name),
        }
    }

    /// The map entry `key` below this path.
    pub fn key(&'a self, key: &'a str) -> Path<'a> {
        Path {
            parent: Some(self),
            part: Part::Key(key),
        }
    }

    /// The list item at `index` below this path.
    pub fn index(&'a self, index: usize) -> Path<'a> {
        Path {
            parent: Some(self),
            part: Part::Index(index),
        }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        let mut at = Some(self);
        while let Some(path) = at {
            parts.push(path.part);
            at = path.parent;
        }
        let mut first = true;
        for part in parts.into_iter().rev() {
            match part {
                Part::Root => continue,
                Part::Child("") => continue,
                Part::Child(name) if first => f.write_str(name)?,
                Part::Child(name) => write!(f, ".{name}")?,
                Part::Key(key) => write!(f, "[{key}]")?,
                Part::Index(index) => write!(f, "[{index}]")?,
            }
            first = false;
        }
        Ok(())
    }
}

impl From<&Path<'_>> for String {
    fn from(path: &Path<'_>) -> Self {
        path.to_string()
    }
}

impl From<Path<'_>> for String {
    fn from(path: Path<'_>) -> Self {
        path.to_string()
    }
}
