//! A text as numbers.

/// A text whose characters are numbered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    alphabet: Vec<char>,
    numbers: Vec<usize>,
}

impl Text {
    /// Six of Shakespeare's sonnets.
    pub fn sonnets() -> Self {
        Self::new(include_str!("../../data/sonnets.txt"), 1).expect("the sonnets are a text")
    }

    /// A text of more characters than the model sees at a time.
    ///
    /// # Errors
    /// Where it is shorter.
    pub fn new(text: &str, context: usize) -> Result<Self, String> {
        let mut alphabet: Vec<char> = text.chars().collect();
        let count = alphabet.len();
        if count <= context {
            return Err(format!(
                "{count} characters; more than {context}, which the model sees, are needed"
            ));
        }
        alphabet.sort_unstable();
        alphabet.dedup();
        let number = |c: char| alphabet.binary_search(&c).expect("it is of the alphabet");
        let numbers = text.chars().map(number).collect();
        Ok(Self { alphabet, numbers })
    }

    /// How many characters it has.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// The characters that it has, in order.
    pub fn alphabet(&self) -> &[char] {
        &self.alphabet
    }

    /// The numbers of its characters.
    pub fn numbers(&self) -> &[usize] {
        &self.numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_numbered_in_order() {
        let text = Text::new("banana", 3).unwrap();
        assert_eq!(text.alphabet(), ['a', 'b', 'n']);
        assert_eq!(text.numbers(), [1, 0, 2, 0, 2, 0]);
    }

    #[test]
    fn a_short_text_is_refused() {
        let refused = Text::new("abc", 3).unwrap_err();
        assert_eq!(
            refused,
            "3 characters; more than 3, which the model sees, are needed"
        );
    }
}
