//! Texts to values.

use super::ParseError;
use crate::builder::Builder;
use crate::{ComposedLayout, IntTuple, Integer, Layout, LayoutError, Swizzle, Tiler};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::str::FromStr;

/// How deep a text may nest: deeper is refused, so that no text can exhaust the stack.
const MAX_DEPTH: usize = 64;

/// Reads a text from left to right. Blanks between symbols do not matter.
pub(crate) struct Reader<'a> {
    text: &'a str,
    /// The byte reached.
    at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// The value that `read` makes of the whole text.
    pub(crate) fn all<T>(
        text: &'a str,
        read: impl FnOnce(&mut Self) -> Result<T, LayoutError>,
    ) -> Result<T, LayoutError> {
        let mut reader = Self::new(text);
        let value = read(&mut reader)?;
        match reader.peek() {
            None => Ok(value),
            Some(_) => Err(reader.expected("the end of the text")),
        }
    }

    pub(crate) fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        let trimmed = rest.trim_start();
        self.at += rest.len() - trimmed.len();
        trimmed.chars().next()
    }

    /// Steps over `symbol` if it comes next.
    pub(crate) fn eat(&mut self, symbol: char) -> bool {
        let found = self.peek() == Some(symbol);
        if found {
            self.at += symbol.len_utf8();
        }
        found
    }

    pub(crate) fn expect(&mut self, symbol: char) -> Result<(), LayoutError> {
        match self.eat(symbol) {
            true => Ok(()),
            false => Err(self.expected(&format!("`{symbol}`"))),
        }
    }

    pub(crate) fn expected(&mut self, what: &str) -> LayoutError {
        let found = match self.peek() {
            None => "the end".to_string(),
            Some(symbol) => format!("`{symbol}`"),
        };
        self.fail(self.at, format!("expected {what}, found {found}"))
    }

    /// An error at a byte of the text.
    pub(crate) fn fail(&self, byte: usize, problem: String) -> LayoutError {
        LayoutError::Parse(ParseError {
            text: self.text.to_string(),
            at: self.text[..byte].chars().count(),
            problem,
        })
    }

    /// The byte of the next symbol.
    pub(crate) fn position(&mut self) -> usize {
        self.peek();
        self.at
    }

    pub(crate) fn integer(&mut self, what: &str) -> Result<Integer, LayoutError> {
        let is_static = self.eat('_');
        if self.peek() == Some('-') {
            return Err(self.fail(self.at, "negative integers are not allowed".to_string()));
        }
        let value = self.number(what)?;
        Ok(match is_static {
            true => Integer::Static(value),
            false => Integer::Dynamic(value),
        })
    }

    pub(crate) fn number(&mut self, what: &str) -> Result<u64, LayoutError> {
        self.peek();
        let rest = &self.text[self.at..];
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if digits == 0 {
            return Err(self.expected(what));
        }
        let value = rest[..digits].parse().map_err(|_| {
            let problem = format!("{} is larger than {}", &rest[..digits], u64::MAX);
            self.fail(self.at, problem)
        })?;
        self.at += digits;
        Ok(value)
    }

    pub(crate) fn int_tuple(&mut self) -> Result<IntTuple, LayoutError> {
        let mut builder = Builder::new();
        self.int_tuple_into(&mut builder, 0)?;
        Ok(builder.finish())
    }

    fn int_tuple_into(&mut self, out: &mut Builder, depth: usize) -> Result<(), LayoutError> {
        if !self.eat('(') {
            out.leaf(self.integer("an integer or `(`")?);
            return Ok(());
        }
        self.require_depth(depth)?;
        let head = out.open();
        while !self.eat(')') {
            self.int_tuple_into(out, depth + 1)?;
            // As in Python, the comma of a tuple of one may stand: `(4,)`.
            if !self.eat(',') && self.peek() != Some(')') {
                return Err(self.expected("`,` or `)`"));
            }
        }
        out.close(head);
        Ok(())
    }

    /// Refuses a parenthesis, just read, that is too deep.
    fn require_depth(&self, depth: usize) -> Result<(), LayoutError> {
        match depth < MAX_DEPTH {
            true => Ok(()),
            false => Err(self.fail(
                self.at - 1,
                format!("nested deeper than {MAX_DEPTH} levels"),
            )),
        }
    }

    /// `Sw<bits,base,shift>`.
    pub(crate) fn swizzle(&mut self) -> Result<Swizzle, LayoutError> {
        let start = self.position();
        self.expect('S')?;
        self.expect('w')?;
        self.expect('<')?;
        let bits = self.number_u32()?;
        self.expect(',')?;
        let base = self.number_u32()?;
        self.expect(',')?;
        let negative = self.eat('-');
        let shift = self.number_u32()?;
        self.expect('>')?;
        let shift = i32::try_from(shift).map(|shift| if negative { -shift } else { shift });
        Swizzle::new(bits, base, shift.unwrap_or(i32::MAX))
            .map_err(|error| self.fail(start, error.to_string()))
    }

    fn number_u32(&mut self) -> Result<u32, LayoutError> {
        let start = self.position();
        let number = self.number("a number of bits")?;
        u32::try_from(number)
            .map_err(|_| self.fail(start, format!("{number} bits are more than 64")))
    }

    /// `Sw<bits,base,shift> o offset o layout`, or a layout alone.
    pub(crate) fn composed(&mut self) -> Result<ComposedLayout, LayoutError> {
        if self.peek() != Some('S') {
            return self.layout().map(ComposedLayout::from);
        }
        let start = self.position();
        let swizzle = self.swizzle()?;
        self.expect('o')?;
        let offset = self.integer("an integer")?;
        self.expect('o')?;
        let layout = self.layout()?;
        ComposedLayout::new(swizzle, offset, layout)
            .map_err(|error| self.fail(start, error.to_string()))
    }

    /// A layout, an integer `n` for `n:1`, or `<` tilers `>`.
    pub(crate) fn tiler(&mut self, depth: usize) -> Result<Tiler, LayoutError> {
        if !self.eat('<') {
            let shape_at = self.position();
            let shape = self.int_tuple()?;
            return match (self.peek(), shape.as_integer()) {
                (Some(':'), _) | (_, None) => self.layout_from(shape_at, shape).map(Tiler::Layout),
                (_, Some(extent)) => Ok(extent.into()),
            };
        }
        self.require_depth(depth)?;
        let mut tilers = Vec::new();
        while !self.eat('>') {
            tilers.push(self.tiler(depth + 1)?);
            if !self.eat(',') && self.peek() != Some('>') {
                return Err(self.expected("`,` or `>`"));
            }
        }
        Ok(Tiler::Modes(tilers))
    }

    /// `shape:stride`, or a shape alone, whose strides are then compact from the left.
    pub(crate) fn layout(&mut self) -> Result<Layout, LayoutError> {
        let start = self.position();
        let shape = self.int_tuple()?;
        self.layout_from(start, shape)
    }

    /// The layout whose shape was read from `start` on.
    fn layout_from(&mut self, start: usize, shape: IntTuple) -> Result<Layout, LayoutError> {
        let layout = match self.eat(':') {
            false => Layout::left(shape),
            true => Layout::new(shape, self.int_tuple()?),
        };
        layout.map_err(|error| self.fail(start, error.to_string()))
    }
}

impl FromStr for Integer {
    type Err = LayoutError;

    fn from_str(text: &str) -> Result<Self, LayoutError> {
        Reader::all(text, |reader| reader.integer("an integer"))
    }
}

impl FromStr for IntTuple {
    type Err = LayoutError;

    fn from_str(text: &str) -> Result<Self, LayoutError> {
        Reader::all(text, Reader::int_tuple)
    }
}

impl FromStr for Layout {
    type Err = LayoutError;

    /// Reads `shape:stride`, or a shape alone for its [left](Layout::left) layout.
    fn from_str(text: &str) -> Result<Self, LayoutError> {
        Reader::all(text, Reader::layout)
    }
}

impl FromStr for Tiler {
    type Err = LayoutError;

    /// Reads a layout, an integer `n` for `n:1`, or tilers for each mode: `<3:4,8>`.
    fn from_str(text: &str) -> Result<Self, LayoutError> {
        Reader::all(text, |reader| reader.tiler(0))
    }
}

impl FromStr for Swizzle {
    type Err = LayoutError;

    fn from_str(text: &str) -> Result<Self, LayoutError> {
        Reader::all(text, Reader::swizzle)
    }
}

impl FromStr for ComposedLayout {
    type Err = LayoutError;

    /// Reads `Sw<bits,base,shift> o offset o layout`, or a layout alone.
    fn from_str(text: &str) -> Result<Self, LayoutError> {
        Reader::all(text, Reader::composed)
    }
}
