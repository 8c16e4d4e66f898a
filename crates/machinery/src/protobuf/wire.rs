//! The protobuf wire format: tags, variable-length numbers and length-prefixed bytes.

use super::Problem;

/// One field of a message, still encoded.
#[derive(Clone, Copy, Debug)]
pub(super) enum Raw<'a> {
    /// Wire type 0.
    Varint(u64),
    /// Wire type 1.
    Fixed64([u8; 8]),
    /// Wire type 2.
    Bytes(&'a [u8]),
    /// Wire type 5.
    Fixed32,
}

/// Walks the fields of one message.
pub(super) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(super) fn new(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    /// The next number and value, `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<(u32, Raw<'a>)>, Problem> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let key = self.varint()?;
        let number = u32::try_from(key >> 3).ok().filter(|number| *number != 0);
        let number = number.ok_or(Problem::Number)?;
        let raw = match (key & 7) as u8 {
            0 => Raw::Varint(self.varint()?),
            1 => {
                let bytes = self.take(8)?;
                Raw::Fixed64(bytes.try_into().map_err(|_| Problem::Truncated)?)
            }
            2 => {
                let length = usize::try_from(self.varint()?).map_err(|_| Problem::Truncated)?;
                Raw::Bytes(self.take(length)?)
            }
            5 => {
                self.take(4)?;
                Raw::Fixed32
            }
            other => return Err(Problem::WireType(other)),
        };
        Ok(Some((number, raw)))
    }

    /// A bare number, for packed lists; `None` at the end.
    pub(super) fn next_packed(&mut self) -> Result<Option<u64>, Problem> {
        if self.rest.is_empty() {
            Ok(None)
        } else {
            self.varint().map(Some)
        }
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Problem> {
        let (head, rest) = self
            .rest
            .split_at_checked(length)
            .ok_or(Problem::Truncated)?;
        self.rest = rest;
        Ok(head)
    }

    fn varint(&mut self) -> Result<u64, Problem> {
        let mut value = 0u64;
        for (index, byte) in self.rest.iter().enumerate() {
            let bits = u64::from(byte & 0x7f);
            if index == 9 && bits > 1 {
                return Err(Problem::Number);
            }
            value |= bits << (7 * index);
            if byte & 0x80 == 0 {
                self.rest = &self.rest[index + 1..];
                return Ok(value);
            }
            if index == 9 {
                return Err(Problem::Number);
            }
        }
        Err(Problem::Truncated)
    }
}

// === impl Raw ===

impl<'a> Raw<'a> {
    pub(super) fn bytes(self) -> Result<&'a [u8], Problem> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            other => Err(other.mismatch()),
        }
    }

    pub(super) fn text(self) -> Result<&'a str, Problem> {
        std::str::from_utf8(self.bytes()?).map_err(|_| Problem::Utf8)
    }

    /// A signed number: negative ones are sign-extended to 64 bits whatever the field's width.
    pub(super) fn integer(self) -> Result<i64, Problem> {
        match self {
            Self::Varint(bits) => Ok(bits.cast_signed()),
            other => Err(other.mismatch()),
        }
    }

    pub(super) fn double(self) -> Result<f64, Problem> {
        match self {
            Self::Fixed64(bytes) => Ok(f64::from_le_bytes(bytes)),
            other => Err(other.mismatch()),
        }
    }

    fn mismatch(self) -> Problem {
        Problem::WireType(match self {
            Self::Varint(_) => 0,
            Self::Fixed64(_) => 1,
            Self::Bytes(_) => 2,
            Self::Fixed32 => 5,
        })
    }
}

/// Appends fields to a message.
#[derive(Clone, Debug, Default)]
pub struct Writer {
    pub(super) out: Vec<u8>,
}

// === impl Writer ===

impl Writer {
    /// The message so far.
    pub fn into_bytes(self) -> Vec<u8> {
        self.out
    }

    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    /// An integer or truth value.
    pub fn varint_field(&mut self, number: u32, value: i64) {
        self.varint(u64::from(number) << 3);
        self.varint(value.cast_unsigned());
    }

    /// A double.
    pub fn double_field(&mut self, number: u32, value: f64) {
        self.varint((u64::from(number) << 3) | 1);
        self.out.extend_from_slice(&value.to_le_bytes());
    }

    /// Text, bytes or a message.
    pub fn bytes_field(&mut self, number: u32, value: &[u8]) {
        self.varint((u64::from(number) << 3) | 2);
        self.varint(value.len() as u64);
        self.out.extend_from_slice(value);
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.out.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        self.out.push(value as u8);
    }
}
