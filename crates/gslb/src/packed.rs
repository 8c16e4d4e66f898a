//! Values that are kept as JSON text: a fraction of the memory that their parts take, for what is seldom read.

use std::{fmt, marker::PhantomData};

use serde::{Serialize, de::DeserializeOwned};

/// A value as JSON text. Two are equal when the values are.
#[derive(Clone, PartialEq, Eq)]
pub struct Packed<T> {
    text: Box<[u8]>,
    kind: PhantomData<fn() -> T>,
}

impl<T: Serialize + DeserializeOwned + Default> Packed<T> {
    /// Packs a value. One that is no JSON, which values that came as JSON are not, counts as the default.
    pub fn of(value: &T) -> Packed<T> {
        Packed {
            text: serde_json::to_vec(value).unwrap_or_default().into(),
            kind: PhantomData,
        }
    }

    /// The value.
    pub fn unpack(&self) -> T {
        serde_json::from_slice(&self.text).unwrap_or_default()
    }
}

impl<T: Serialize + DeserializeOwned + Default> Default for Packed<T> {
    fn default() -> Packed<T> {
        Packed::of(&T::default())
    }
}

impl<T> fmt::Debug for Packed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.text))
    }
}
