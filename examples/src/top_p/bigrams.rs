//! Which byte follows which.

/// How many bytes there are.
pub const BYTES: usize = 256;

/// girih's own book, as a text to learn from.
pub const BOOK: &str = concat!(
    include_str!("../../../docs/src/layouts.md"),
    include_str!("../../../docs/src/tiles.md"),
    include_str!("../../../docs/src/views.md"),
    include_str!("../../../docs/src/groups.md"),
    include_str!("../../../docs/src/memory.md"),
    include_str!("../../../docs/src/scans.md"),
);

/// What cannot be sampled.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Refused {
    /// A text without a byte.
    #[error("the text is empty; one byte at least is needed to learn from")]
    NoText,
    /// A byte that nothing follows.
    #[error("the byte {0:?} is not in the text, so that nothing is known of what follows it")]
    Unknown(char),
    /// A prompt without a byte.
    #[error("the prompt is empty; the first byte drawn follows its last one")]
    NoPrompt,
    /// A part of the mass that is none.
    #[error("p is {0}; it needs a number from 0 to 1")]
    P(f64),
    /// A temperature that is none.
    #[error("temperature is {0}; it needs a finite number above 0")]
    Temperature(f64),
}

/// How often each byte follows each in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bigrams {
    counts: Vec<u32>,
}

impl Bigrams {
    /// Those of a text, whose first byte follows its last: so some byte follows each.
    ///
    /// # Errors
    /// [`Refused::NoText`].
    pub fn of(text: &[u8]) -> Result<Self, Refused> {
        let (&first, _) = text.split_first().ok_or(Refused::NoText)?;
        let mut counts = vec![0; BYTES * BYTES];
        let following = text[1..].iter().copied().chain([first]);
        for (&byte, next) in text.iter().zip(following) {
            counts[usize::from(byte) * BYTES + usize::from(next)] += 1;
        }
        Ok(Self { counts })
    }

    /// How often each byte follows this one.
    pub fn after(&self, byte: u8) -> &[u32] {
        &self.counts[usize::from(byte) * BYTES..][..BYTES]
    }

    /// Whether the byte is in the text.
    pub fn has(&self, byte: u8) -> bool {
        self.after(byte).iter().any(|&count| count > 0)
    }

    /// Logarithms of the counts, a row for each byte: minus infinity for what never follows it.
    pub fn logits(&self) -> Vec<f32> {
        self.counts
            .iter()
            .map(|&count| (count as f32).ln())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_what_follows_what() {
        let bigrams = Bigrams::of(b"abab").unwrap();
        assert_eq!(bigrams.after(b'a')[usize::from(b'b')], 2);
        // The text begins anew.
        assert_eq!(bigrams.after(b'b')[usize::from(b'a')], 2);
        assert_eq!(bigrams.logits()[0], f32::NEG_INFINITY);
        assert!(bigrams.has(b'a') && !bigrams.has(b'c'));
        assert_eq!(Bigrams::of(b""), Err(Refused::NoText));
    }

    #[test]
    fn what_is_drawn_is_followed_by_something() {
        let bigrams = Bigrams::of(BOOK.as_bytes()).unwrap();
        for byte in 0..=u8::MAX {
            let next = bigrams.after(byte);
            let drawn = (0..=u8::MAX).filter(|&next_byte| next[usize::from(next_byte)] > 0);
            assert!(drawn.into_iter().all(|next_byte| bigrams.has(next_byte)));
        }
    }
}
