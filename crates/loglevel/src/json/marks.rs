//! Where the quotes of a JSON text stand, found sixty-four bytes at a time.
//!
//! A search for the next quote costs a call and a mispredicted branch for every string; a line of log has twenty to
//! forty of them. A block of sixty-four bytes is compared whole instead, into one bit per byte, and the next quote is
//! then the lowest bit that is left. The idea and the arithmetic of escapes are those of simdjson's first stage
//! (Langdale and Lemire, "Parsing Gigabytes of JSON per Second", section 3.1).

use wide::u8x16;

/// Bytes in a block, one bit of a mask for each.
const BLOCK: usize = 64;

/// The marks of one block; it moves on through the text as it is asked for later places.
#[derive(Clone, Debug)]
pub(crate) struct Marks<'a> {
    text: &'a [u8],
    /// Where the block begins.
    block: usize,
    /// Quotes without a backslash that escapes them.
    quotes: u64,
    /// 1 when the first byte behind the block is escaped.
    escapes_next: u64,
}

impl<'a> Marks<'a> {
    /// The marks of `text`, whose first byte asked for will be at or after `start`.
    #[inline(always)]
    pub(crate) fn new(text: &'a [u8], start: usize) -> Marks<'a> {
        let mut marks = Marks {
            text,
            block: start,
            quotes: 0,
            escapes_next: 0,
        };
        marks.read();
        marks
    }

    /// The first quote at or after `at` that is not escaped. `at` must not be smaller than in an earlier call.
    #[inline(always)]
    pub(crate) fn quote(&mut self, at: usize) -> Option<usize> {
        let mut offset = at.wrapping_sub(self.block);
        loop {
            if offset < BLOCK {
                let left = self.quotes >> offset;
                if left != 0 {
                    return Some(self.block + offset + left.trailing_zeros() as usize);
                }
            }
            self.advance()?;
            offset = offset.saturating_sub(BLOCK);
        }
    }

    /// Goes to the next block; `None` at the end of the text.
    #[inline]
    fn advance(&mut self) -> Option<()> {
        let next = self.block + BLOCK;
        if next >= self.text.len() {
            return None;
        }
        self.block = next;
        self.read();
        Some(())
    }

    #[inline(always)]
    fn read(&mut self) {
        let found = match self.text.get(self.block..).and_then(<[u8]>::first_chunk) {
            Some(block) => find(block),
            None => last(self.text, self.block),
        };
        self.quotes = found.quotes & !escaped(found.backslashes, &mut self.escapes_next);
    }
}

/// What stands where in one block: bit n for its byte n.
#[derive(Clone, Copy, Default)]
struct Found {
    quotes: u64,
    backslashes: u64,
}

/// The marks of the bytes from `start` to the end of the text, which are fewer than a block.
#[inline]
fn last(text: &[u8], start: usize) -> Found {
    let n_bytes = text.len().saturating_sub(start);
    // The last whole block of the text holds them, shifted; a text shorter than a block is copied.
    if let Some(block) = text.last_chunk() {
        // A shift by a whole word is none at all to the processor: `n_bytes` 0 has no marks.
        let shift = (BLOCK - n_bytes) as u32;
        let shifted = |mask: u64| mask.checked_shr(shift).unwrap_or(0);
        let found = find(block);
        return Found {
            quotes: shifted(found.quotes),
            backslashes: shifted(found.backslashes),
        };
    }
    let mut block = [b'x'; BLOCK];
    block[..n_bytes].copy_from_slice(&text[text.len() - n_bytes..]);
    find(&block)
}

/// The bytes that a backslash before them escapes. `carry` says whether the first one is, and then whether the first
/// byte of the next block is.
#[inline(always)]
fn escaped(backslashes: u64, carry: &mut u64) -> u64 {
    const ODD: u64 = 0xaaaa_aaaa_aaaa_aaaa;
    if backslashes == 0 {
        return std::mem::take(carry);
    }
    // A run of backslashes escapes what follows it when its length is odd. Subtracting the run from the odd bits ripples
    // through it and leaves that parity behind its end.
    let starts = backslashes & !*carry;
    let parity = ((starts << 1) | ODD).wrapping_sub(starts) ^ ODD;
    let escaped = parity ^ (backslashes | *carry);
    *carry = (parity & backslashes) >> 63;
    escaped
}

/// Four vectors of sixteen bytes, which every processor we build for can compare at once.
#[inline(always)]
fn find(block: &[u8; BLOCK]) -> Found {
    const LANE: usize = 16;

    let mut found = Found::default();
    for (n_lane, lane) in block.as_chunks::<LANE>().0.iter().enumerate() {
        let bytes = u8x16::new(*lane);
        let is = |byte: u8| bytes.simd_eq(u8x16::splat(byte));
        let bits = |hits: u8x16| u64::from(hits.to_bitmask()) << (LANE * n_lane);
        found.quotes |= bits(is(b'"'));
        found.backslashes |= bits(is(b'\\'));
    }
    found
}

#[cfg(test)]
mod tests;
