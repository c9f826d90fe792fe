//! Which accesses to memory banks get in each other's way.

use crate::LayoutError;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

/// A memory of several banks, each of which serves one word at a time; consecutive words are in consecutive banks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Banks {
    /// How many banks there are.
    pub count: u64,
    /// How many bytes a word has.
    pub word_bytes: u64,
    /// How many bytes an element of the layout has.
    pub element_bytes: u64,
}

impl Banks {
    /// The shared memory of NVIDIA GPUs, 32 banks of 4 bytes, with elements of `element_bytes`.
    pub const fn shared_memory(element_bytes: u64) -> Self {
        Self {
            count: 32,
            word_bytes: 4,
            element_bytes,
        }
    }

    /// For each element the bank it begins in, and how many words the busiest of its banks must serve for its access.
    pub(super) fn conflicts(
        self,
        offsets: &[u64],
        columns: usize,
        access: Access,
    ) -> Result<Vec<(u64, u64)>, LayoutError> {
        if self.count == 0 || self.word_bytes == 0 || self.element_bytes == 0 {
            return Err(LayoutError::Banks {
                count: self.count,
                word_bytes: self.word_bytes,
                element_bytes: self.element_bytes,
            });
        }
        let words = offsets.iter().map(|&offset| self.words(offset));
        let words = words.collect::<Result<Vec<_>, _>>()?;
        let access_of = |cell: usize| match access {
            Access::Rows => cell / columns,
            Access::Columns => cell % columns,
        };
        let mut served = BTreeMap::<_, BTreeSet<_>>::new();
        for (cell, words) in words.iter().enumerate() {
            for word in words.clone() {
                let bank = word % self.count;
                served
                    .entry((access_of(cell), bank))
                    .or_default()
                    .insert(word);
            }
        }
        let busiest = |(cell, words): (usize, &core::ops::RangeInclusive<u64>)| {
            let of_word = |word| served[&(access_of(cell), word % self.count)].len() as u64;
            let ways = words.clone().map(of_word).max().unwrap_or(1);
            (words.start() % self.count, ways)
        };
        Ok(words.iter().enumerate().map(busiest).collect())
    }

    /// The words that an element is in.
    fn words(self, offset: u64) -> Result<core::ops::RangeInclusive<u64>, LayoutError> {
        let overflow = LayoutError::Overflow {
            left: offset,
            operation: "*",
            right: self.element_bytes,
        };
        let first = offset.checked_mul(self.element_bytes);
        let last = first.and_then(|first| first.checked_add(self.element_bytes - 1));
        let (first, last) = first.zip(last).ok_or(overflow)?;
        Ok(first / self.word_bytes..=last / self.word_bytes)
    }
}

/// Which elements are accessed at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Those of a row.
    Rows,
    /// Those of a column.
    Columns,
}
