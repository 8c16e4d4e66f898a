//! In which order, and how many, records of a set are given: pure draws from a small generator.
//!
//! Nothing here allocates. The generator is not for secrets; it decides which address comes first.

use std::net::IpAddr;

use crate::geo::Geo;
use crate::zone::{GROUPS_PER_SET_MAX, OrderRef, RECORDS_PER_SET_MAX, SetRef};

/// A small pseudo-random generator (SplitMix64), one per worker thread.
///
/// Source: G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
#[derive(Debug, Clone)]
pub struct Entropy(u64);

impl Entropy {
    /// Starts from a seed; equal seeds give equal draws.
    pub fn new(seed: u64) -> Entropy {
        Entropy(seed)
    }

    /// The next 64 bits.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which must not be zero. The bias is below 2⁻³² for bounds that fit 32 bits.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.draw()) * u128::from(bound)) >> 64) as u64
    }

    fn shuffle(&mut self, items: &mut [u16]) {
        for n_left in (2..=items.len()).rev() {
            items.swap(n_left - 1, self.below(n_left as u64) as usize);
        }
    }
}

/// Positions of records in the order they are to be given.
#[derive(Debug)]
pub(crate) struct Arrangement {
    positions: [u16; RECORDS_PER_SET_MAX],
    len: usize,
}

impl Arrangement {
    /// Draws an arrangement for `set`.
    pub(crate) fn draw(set: &SetRef<'_>, entropy: &mut Entropy) -> Arrangement {
        let mut drawn = Arrangement {
            positions: [0; RECORDS_PER_SET_MAX],
            len: 0,
        };
        let n_records = usize::from(set.n_records);
        match set.order {
            // Who is near is asked before; this is the case that nobody is.
            OrderRef::Fixed | OrderRef::Nearest => drawn.push_range(0, n_records),
            OrderRef::Shuffle => {
                drawn.push_range(0, n_records);
                entropy.shuffle(&mut drawn.positions[..n_records]);
            }
            OrderRef::Weighted { take, groups } => {
                let mut table = Groups::default();
                for group in groups.iter() {
                    table.push(u64::from(group.weight), usize::from(group.n_records));
                }
                match usize::from(take) {
                    0 => drawn.all_by_weight(table, entropy),
                    take if take >= n_records => drawn.all_by_weight(table, entropy),
                    take => drawn.some_by_weight(&table, take, entropy),
                }
            }
        }
        drawn
    }

    /// The records near a client; all when none is. Addresses only.
    pub(crate) fn near(set: &SetRef<'_>, geo: &Geo, client: IpAddr) -> Arrangement {
        let mut drawn = Arrangement {
            positions: [0; RECORDS_PER_SET_MAX],
            len: 0,
        };
        drawn.len = geo.nearest(client, set.addresses(), &mut drawn.positions);
        if drawn.len == 0 {
            drawn.push_range(0, usize::from(set.n_records));
        }
        drawn
    }

    pub(crate) fn positions(&self) -> &[u16] {
        &self.positions[..self.len]
    }

    fn push_range(&mut self, start: usize, n_records: usize) {
        for position in start..start + n_records {
            self.positions[self.len] = position as u16;
            self.len += 1;
        }
    }

    /// All records, group by group: each next group is drawn with probability proportional to its weight among those left;
    /// groups of weight zero come last in random order. Within a group the order is random too, so that one cluster's addresses
    /// share its load (k8gb leaves them in object order).
    fn all_by_weight(&mut self, mut groups: Groups, entropy: &mut Entropy) {
        for n_left in (1..=groups.len).rev() {
            let total = groups.weights[..n_left].iter().sum::<u64>();
            let index = match total {
                0 => entropy.below(n_left as u64) as usize,
                _ => groups.at_weight(entropy.below(total)),
            };
            let (start, n_records) = (groups.starts[index], groups.counts[index]);
            let from = self.len;
            self.push_range(start, n_records);
            entropy.shuffle(&mut self.positions[from..self.len]);
            groups.swap_remove(index, n_left);
        }
    }

    /// `take` records, each with probability `take × weight share` (systematic sampling over a random order, W. G. Madow 1949),
    /// in random order. So the expected share of a group is its weight's, whichever record a resolver or client picks. A record
    /// whose probability would exceed one is always taken; weight zero is taken only if all weights are zero.
    fn some_by_weight(&mut self, groups: &Groups, take: usize, entropy: &mut Entropy) {
        let all_zero = groups.weights[..groups.len]
            .iter()
            .all(|weight| *weight == 0);
        let mut shares = [0u64; RECORDS_PER_SET_MAX];
        for index in 0..groups.len {
            let weight = if all_zero {
                groups.counts[index] as u64
            } else {
                groups.weights[index]
            };
            if weight == 0 {
                continue;
            }
            let (start, n_records) = (groups.starts[index], groups.counts[index]);
            self.push_range(start, n_records);
            // 20 bits below the point; 32 bits of weight and 9 bits of records still fit.
            shares[start..start + n_records].fill((weight << 20) / n_records as u64);
        }
        entropy.shuffle(&mut self.positions[..self.len]);
        let n_certain = self.move_certain_first(&shares, take);
        let n_wanted = take.min(self.len) - n_certain;
        let total = self.total(&shares, n_certain);
        if n_wanted > 0 && total > 0 {
            let mut n_taken = 0;
            let mut reached = 0u128;
            let first = u128::from(entropy.below(total));
            for at in n_certain..self.len {
                reached += u128::from(shares[usize::from(self.positions[at])]) * n_wanted as u128;
                // Points lie at first, first + total, first + 2 × total …; a share is below `total`, so it holds at most one.
                if n_taken < n_wanted && reached > first + u128::from(total) * n_taken as u128 {
                    self.positions.swap(n_certain + n_taken, at);
                    n_taken += 1;
                }
            }
        }
        self.len = n_certain + n_wanted;
        entropy.shuffle(&mut self.positions[..self.len]);
    }

    /// Moves records that must be taken to the front and returns their number. Taking one out raises the odds of the others, so
    /// this repeats until nothing changes; at most `take` rounds.
    fn move_certain_first(&mut self, shares: &[u64; RECORDS_PER_SET_MAX], take: usize) -> usize {
        let mut n_certain = 0;
        loop {
            let n_before = n_certain;
            let total = self.total(shares, n_certain);
            let n_wanted = (take - n_certain.min(take)) as u64;
            for at in n_before..self.len {
                let share = shares[usize::from(self.positions[at])];
                if n_wanted > 0
                    && u128::from(share) * u128::from(n_wanted) >= u128::from(total)
                    && n_certain < take
                {
                    self.positions.swap(n_certain, at);
                    n_certain += 1;
                }
            }
            if n_certain == n_before {
                return n_certain;
            }
        }
    }

    fn total(&self, shares: &[u64; RECORDS_PER_SET_MAX], from: usize) -> u64 {
        self.positions[from..self.len]
            .iter()
            .map(|at| shares[usize::from(*at)])
            .sum()
    }
}

/// Groups as arrays on the stack.
struct Groups {
    weights: [u64; GROUPS_PER_SET_MAX],
    starts: [usize; GROUPS_PER_SET_MAX],
    counts: [usize; GROUPS_PER_SET_MAX],
    len: usize,
    n_records: usize,
}

impl Default for Groups {
    fn default() -> Groups {
        let zero = [0; GROUPS_PER_SET_MAX];
        Groups {
            weights: [0; GROUPS_PER_SET_MAX],
            starts: zero,
            counts: zero,
            len: 0,
            n_records: 0,
        }
    }
}

impl Groups {
    fn push(&mut self, weight: u64, n_records: usize) {
        self.weights[self.len] = weight;
        self.starts[self.len] = self.n_records;
        self.counts[self.len] = n_records;
        self.n_records += n_records;
        self.len += 1;
    }

    /// The group in whose stretch of the summed weights `point` lies.
    fn at_weight(&self, mut point: u64) -> usize {
        for (index, weight) in self.weights.iter().enumerate() {
            match point.checked_sub(*weight) {
                Some(rest) => point = rest,
                None => return index,
            }
        }
        unreachable!("the point was drawn below the sum of the weights")
    }

    fn swap_remove(&mut self, index: usize, n_left: usize) {
        let last = n_left - 1;
        self.weights.swap(index, last);
        self.starts.swap(index, last);
        self.counts.swap(index, last);
    }
}

#[cfg(test)]
mod tests;
