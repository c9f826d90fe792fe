//! What can be wrong with an input.

use crate::ParseError;
use alloc::string::String;

/// Why an input has no result: each names what was given and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LayoutError {
    /// A text is not what it should be.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// A result needs more than 64 bits.
    #[error("{left} {operation} {right} does not fit in 64 bits")]
    Overflow {
        /// The left operand.
        left: u64,
        /// The operation's sign.
        operation: &'static str,
        /// The right operand.
        right: u64,
    },
    /// A division by 0.
    #[error("{dividend} / 0: the divisor must be at least 1")]
    DivisionByZero {
        /// What was to be divided.
        dividend: u64,
    },
    /// Two tuples differ in how they nest.
    #[error("{left_name} {left} and {right_name} {right} must nest in the same way")]
    NotCongruent {
        /// What the left tuple is.
        left_name: &'static str,
        /// The left tuple.
        left: String,
        /// What the right tuple is.
        right_name: &'static str,
        /// The right tuple.
        right: String,
    },
    /// A path leads to no mode.
    #[error("{tuple} has no mode at path {path:?}: mode {index} is asked of a rank of {rank}")]
    NoMode {
        /// The whole tuple or layout.
        tuple: String,
        /// The path asked for.
        path: alloc::vec::Vec<usize>,
        /// The index in the path that is too large.
        index: usize,
        /// The rank there.
        rank: usize,
    },
    /// A coordinate nests deeper than its shape, or has another rank.
    #[error(
        "coordinate {coord} does not fit shape {shape}: at each level it is one integer or has the shape's rank"
    )]
    CoordProfile {
        /// The coordinate.
        coord: String,
        /// The shape.
        shape: String,
    },
    /// A coordinate is past its extent.
    #[error("coordinate {coord} is outside shape {shape}: {value} must be below {extent}")]
    CoordOutOfRange {
        /// The whole coordinate.
        coord: String,
        /// The whole shape.
        shape: String,
        /// The part that is too large.
        value: u64,
        /// Its extent.
        extent: u64,
    },
    /// Two shapes must hold the same number of elements.
    #[error(
        "shape {left} holds {left_size} elements and shape {right} {right_size}: the sizes must be equal"
    )]
    SizeMismatch {
        /// The left shape.
        left: String,
        /// Its size.
        left_size: u64,
        /// The right shape.
        right: String,
        /// Its size.
        right_size: u64,
    },
    /// A profile was given another number of values than it has dynamic integers.
    #[error("profile {profile} takes {expected} dynamic values, {given} were given")]
    DynamicCount {
        /// The profile.
        profile: String,
        /// How many values it takes.
        expected: usize,
        /// How many were given.
        given: usize,
    },
    /// A tiler, or a profile, has more modes than what it is for.
    #[error(
        "tiler {tiler} has {tiler_rank} modes, layout {layout} has {rank}: at most as many are allowed"
    )]
    TilerRank {
        /// The tiler or profile.
        tiler: String,
        /// Its rank.
        tiler_rank: usize,
        /// The layout.
        layout: String,
        /// Its rank.
        rank: usize,
    },
    /// A layout without elements where at least one is needed.
    #[error("layout {layout} has an extent of 0: every extent must be at least 1 here")]
    Empty {
        /// The layout.
        layout: String,
    },
    /// No layout does what one layout after another would do.
    #[error(
        "{outer} after {inner} is no layout: the steps of the right one, and their sums, \
         must stay in one mode of the left one or cross its modes in whole parts"
    )]
    NoComposition {
        /// The layout that goes last.
        outer: String,
        /// The layout that goes first.
        inner: String,
    },
    /// No repetition of a layout fills a range.
    #[error(
        "{layout} has no complement: of its strides, sorted, each must be a multiple of the reach \
         before it, and {stride} is no multiple of {reach}"
    )]
    NoComplement {
        /// The layout.
        layout: String,
        /// The stride that breaks the rule.
        stride: u64,
        /// The largest stride below it times its extent.
        reach: u64,
    },
    /// A layout reaches an offset from several coordinates.
    #[error(
        "{layout} reaches an offset from several coordinates: a mode of stride 0 must have extent 1 here"
    )]
    NotInjective {
        /// The layout.
        layout: String,
    },
    /// Elements cannot be taken together.
    #[error(
        "{layout} cannot be read {count} elements at a time: each stride must divide {count} or be a \
         multiple of it, and the modes of strides below {count} must together stay below {count}"
    )]
    Upcast {
        /// The layout.
        layout: String,
        /// How many elements make one.
        count: u64,
    },
    /// An element of no bits.
    #[error("elements of {old_bits} bits as elements of {new_bits} bits: both must be at least 1")]
    ElementWidth {
        /// The width there was.
        old_bits: u64,
        /// The width asked for.
        new_bits: u64,
    },
    /// Bits of an offset that cannot be swizzled.
    #[error(
        "Sw<{bits},{base},{shift}>: the shift must move by at least the {bits} bits, \
         and base + bits + |shift| be at most 64"
    )]
    Swizzle {
        /// How many bits.
        bits: u32,
        /// How many low bits are kept.
        base: u32,
        /// How far apart the two groups of bits are.
        shift: i32,
    },
    /// A unit that a layout of units does not have.
    #[error("unit {unit} is not in {units}, whose units are the offsets that it reaches")]
    NoUnit {
        /// The unit asked for.
        unit: u64,
        /// The layout of units.
        units: String,
    },
    /// Layouts of threads and values that number them with gaps or twice.
    #[error(
        "threads {threads} and values {values}: each must reach every number below its size exactly once"
    )]
    NotCompact {
        /// The layout of threads.
        threads: String,
        /// The layout of values.
        values: String,
    },
    /// A layout that is not one of threads and values of a tile.
    #[error(
        "{layout} does not spread a tile {tile} over threads: it must have two modes, threads and values, \
         and reach offsets below the tile's size"
    )]
    NotThreadValue {
        /// The layout.
        layout: String,
        /// The tile's shape.
        tile: String,
    },
    /// A memory layout of another shape than the tile that is spread over threads.
    #[error("shape {given} is not that of tile {tile}: each mode must have the same size")]
    ShapeMismatch {
        /// The shape given.
        given: String,
        /// The tile's shape.
        tile: String,
    },
    /// A layout that cannot be drawn as a grid.
    #[error(
        "{layout} of rank {rank} and size {size} cannot be drawn: \
         a picture has rank 1 or 2 and at most {max_size} elements"
    )]
    Picture {
        /// The layout.
        layout: String,
        /// Its rank.
        rank: usize,
        /// Its size.
        size: u64,
        /// The largest size.
        max_size: u64,
    },
    /// Memory banks that hold nothing.
    #[error(
        "{count} banks of words of {word_bytes} bytes with elements of {element_bytes} bytes: \
         each number must be at least 1"
    )]
    Banks {
        /// How many banks.
        count: u64,
        /// How many bytes in a word.
        word_bytes: u64,
        /// How many bytes in an element.
        element_bytes: u64,
    },
}
