//! Where a text is wrong.

use alloc::format;
use alloc::string::String;

/// A text that is not of the form it should have, and the place where that shows.
///
/// ```
/// use girih_layout::{Layout, LayoutError};
///
/// let Err(LayoutError::Parse(error)) = "(2,x):(1,2)".parse::<Layout>() else { unreachable!() };
/// assert_eq!(error.at(), 3);
/// assert_eq!(error.to_string(), "expected an integer or `(`, found `x` at character 3 of `(2,x):(1,2)`");
/// assert_eq!(error.caret(), "(2,x):(1,2)\n   ^ expected an integer or `(`, found `x`");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem} at character {at} of `{text}`")]
pub struct ParseError {
    pub(super) text: String,
    pub(super) at: usize,
    pub(super) problem: String,
}

impl ParseError {
    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Which character is wrong, counted from 0; the length of the text where something is missing at its end.
    pub fn at(&self) -> usize {
        self.at
    }

    /// What is wrong there: what was expected and what was found.
    pub fn problem(&self) -> &str {
        &self.problem
    }

    /// The text with a caret under the wrong character, over two lines.
    pub fn caret(&self) -> String {
        format!("{}\n{:at$}^ {}", self.text, "", self.problem, at = self.at)
    }
}
