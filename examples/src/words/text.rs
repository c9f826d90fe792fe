//! The text: the book and the README, which are under the repository's licences (MIT or Apache-2.0).

use std::collections::HashMap;

const PAGES: [&str; 7] = [
    include_str!("../../../README.md"),
    include_str!("../../../docs/src/groups.md"),
    include_str!("../../../docs/src/layouts.md"),
    include_str!("../../../docs/src/memory.md"),
    include_str!("../../../docs/src/tiles.md"),
    include_str!("../../../docs/src/views.md"),
    include_str!("../../../docs/src/words.md"),
];

/// How often a word has to be there to have a vector.
const LEAST: usize = 4;

/// A word and one near it, by their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    /// The word.
    pub word: usize,
    /// The word near it.
    pub near: usize,
}

/// A text as numbers of words.
#[derive(Debug, Clone)]
pub struct Corpus {
    words: Vec<String>,
    counts: Vec<usize>,
    text: Vec<usize>,
}

impl Corpus {
    /// The repository's own text.
    pub fn book() -> Self {
        Self::new(&PAGES.join("\n"))
    }

    /// The words of a text that are there some times, the frequent ones first.
    pub fn new(text: &str) -> Self {
        let tokens: Vec<String> = text
            .split(|letter: char| !letter.is_alphabetic())
            .filter(|token| token.len() > 1)
            .map(str::to_lowercase)
            .collect();
        let mut counts = HashMap::<&str, usize>::new();
        for token in &tokens {
            *counts.entry(token).or_default() += 1;
        }
        let mut known: Vec<_> = counts
            .into_iter()
            .filter(|&(_, count)| count >= LEAST)
            .collect();
        known.sort_unstable_by_key(|&(word, count)| (usize::MAX - count, word));
        let numbers: HashMap<_, _> = known.iter().map(|&(word, _)| word).zip(0..).collect();
        let text = tokens
            .iter()
            .filter_map(|token| numbers.get(token.as_str()).copied());
        Self {
            text: text.collect(),
            counts: known.iter().map(|&(_, count)| count).collect(),
            words: known.iter().map(|&(word, _)| word.to_owned()).collect(),
        }
    }

    /// The words, by their numbers.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// How often each is there.
    pub fn counts(&self) -> &[usize] {
        &self.counts
    }

    /// How many words the text has, of those that are known.
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// Whether no word is known.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The number of a word.
    pub fn number(&self, word: &str) -> Option<usize> {
        self.words.iter().position(|known| known == word)
    }

    /// Every word with each of those up to `window` places away.
    pub fn pairs(&self, window: usize) -> Vec<Pair> {
        let mut pairs = vec![];
        for (place, &word) in self.text.iter().enumerate() {
            let end = (place + window + 1).min(self.text.len());
            let near = (place.saturating_sub(window)..end).filter(|&other| other != place);
            pairs.extend(near.map(|other| Pair {
                word,
                near: self.text[other],
            }));
        }
        pairs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequent_words_come_first_and_rare_ones_are_left_out() {
        let corpus = Corpus::new("To be, or not to be: to be or TO BE. once");
        assert_eq!(corpus.words(), ["be", "to"]);
        assert_eq!(corpus.counts(), [4, 4]);
        assert_eq!(corpus.text, [1, 0, 1, 0, 1, 0, 1, 0]);
        assert_eq!(corpus.number("once"), None);
    }

    #[test]
    fn pairs_stay_within_the_text() {
        let corpus = Corpus::new("go go go go");
        assert_eq!(corpus.pairs(1).len(), 6);
        assert_eq!(corpus.pairs(9).len(), 12);
    }

    #[test]
    fn the_book_has_words_to_learn() {
        let corpus = Corpus::book();
        assert!(corpus.words().len() > 300 && corpus.len() > 5000);
        assert!(corpus.number("tile").is_some());
    }
}
