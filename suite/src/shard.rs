//! [`Shard`]: one process's part of the tests.

use std::{num::NonZeroUsize, str::FromStr};

use thiserror::Error;

/// Part `index` of `count`, both counted from 1: every `count`-th trial.
///
/// A device compiles one kernel at a time in a process; several processes share the work of a machine with more cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    index: usize,
    count: NonZeroUsize,
}

/// Why a text is no shard.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}`; a part and a count are needed, as in 1/8, the part one of 1 to the count")]
pub struct NoShard(String);

impl Shard {
    /// Those of the trials that are this part's.
    pub fn of<T>(self, trials: Vec<T>) -> Vec<T> {
        let mine = trials.into_iter().skip(self.index - 1);
        mine.step_by(self.count.get()).collect()
    }
}

impl FromStr for Shard {
    type Err = NoShard;

    fn from_str(text: &str) -> Result<Self, NoShard> {
        let parts = text.split_once('/');
        let numbers = parts.and_then(|(index, count)| {
            let count: NonZeroUsize = count.parse().ok()?;
            Some((index.parse().ok()?, count))
        });
        match numbers {
            Some((index, count)) if (1..=count.get()).contains(&index) => Ok(Self { index, count }),
            _ => Err(NoShard(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_all_once() {
        let mut all: Vec<u32> = (1..=3)
            .map(|index| format!("{index}/3").parse::<Shard>().expect("a shard"))
            .flat_map(|shard| shard.of((0..10).collect()))
            .collect();
        all.sort_unstable();
        assert_eq!(all, (0..10).collect::<Vec<_>>());
    }

    #[test]
    fn refuses_what_is_no_part() {
        for text in ["", "1", "0/3", "4/3", "1/0", "-1/2", "a/b", "1/2/3"] {
            let refused = text.parse::<Shard>().expect_err(text);
            assert!(refused.to_string().starts_with(&format!("`{text}`; ")));
        }
    }
}
