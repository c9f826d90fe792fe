//! What the portable kernels are compiled for, and what they are told at launch.
// CubeCL's macros write undocumented twins of the items here.
#![allow(missing_docs)]
#![allow(clippy::too_many_arguments)]

use super::{Activation, MatmulTile};
use cubecl::prelude::*;
use girih::Bounds;

/// How a tile of an operand is read. A tile has positions of K along one side, rows of A or columns of B along the other:
/// its lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reading {
    /// Vectors across lines, which lie next to each other.
    AcrossLines,
    /// Vectors along lines, several of which are transposed in registers.
    AlongLines,
    /// Element by element; neighbouring units take neighbouring positions of K, or neighbouring lines.
    Elements {
        /// Whether it is positions of K.
        along_lines: bool,
    },
}

/// What rows, or positions of K, are in groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Grouping {
    /// None.
    Batches,
    /// Rows of A and of the result: each group has a matrix B.
    Rows,
    /// Positions of K: each group has a result.
    Inner,
}

/// What a kernel is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Form {
    /// Elements of a vector in shared memory and in registers.
    pub vector: u32,
    /// How the work is cut.
    pub tile: MatmulTile,
    /// Units of a plane, where planes multiply fragments; 0 where units multiply by themselves.
    pub plane: u32,
    /// How A and B are read.
    pub readings: [Reading; 2],
    /// Whether they are in shared memory line by line, not position of K by position.
    pub by_line: [bool; 2],
    /// What is in groups.
    pub grouping: Grouping,
    /// What becomes of an element before it is stored.
    pub activation: Activation,
    /// What an index out of range means.
    pub bounds: Bounds,
}

impl Form {
    /// Units of a cube, along the columns of its tile and in all.
    pub const fn units(&self) -> [u32; 2] {
        let columns = self.tile.columns / self.tile.unit_columns;
        let parts = columns * (self.tile.rows / self.tile.unit_rows);
        match self.plane {
            0 => [columns, parts],
            plane => [columns, parts * plane],
        }
    }

    /// Vectors that a tile of so many lines takes in shared memory.
    pub const fn staged(&self, lines: u32, by_line: bool) -> usize {
        let [rows, row] = match by_line {
            true => [lines, self.tile.depth],
            false => [self.tile.depth, lines],
        };
        (rows * self.pitch(row)) as usize
    }

    /// Bytes of shared memory, of operands' and sums' elements of these sizes.
    pub const fn shared_bytes(&self, [operand, sum]: [usize; 2]) -> usize {
        let [a, b] = self.by_line;
        let vectors = self.staged(self.tile.rows, a) + self.staged(self.tile.columns, b);
        let lists = 8 * self.tile.rows as usize;
        let rooms = match self.plane {
            0 => 0,
            plane => (self.units()[1] / plane) as usize * 256 * sum,
        };
        vectors * self.vector as usize * operand + lists + rooms
    }

    /// Vectors from one row of a staged tile to the next, of so many elements: one more than there are, so that units that write
    /// several rows reach different banks.
    pub const fn pitch(&self, row: u32) -> u32 {
        row / self.vector + 1
    }
}

/// The sizes of a product, and how its tiles are counted.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
pub struct Sizes {
    /// Rows of A and of the result, of all groups together.
    pub rows: usize,
    /// Columns of B and of the result.
    pub columns: usize,
    /// Positions of K, of all groups together.
    pub inner: usize,
    /// Groups.
    pub groups: usize,
    /// Tiles along the rows, at most.
    pub row_tiles: usize,
    /// Tiles along the columns.
    pub column_tiles: usize,
    /// Tiles in all.
    pub tiles: usize,
    /// Rows that a list may point to: of A, and of the result.
    pub rows_a: usize,
    pub rows_c: usize,
}

/// From one element to the next.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
pub struct Strides {
    /// Of A, along its rows, along K, and from group to group.
    pub a_row: usize,
    pub a_inner: usize,
    /// Of B.
    pub b_inner: usize,
    pub b_column: usize,
    pub b_group: usize,
    /// Of the result.
    pub c_row: usize,
    pub c_column: usize,
    pub c_group: usize,
    /// Of the bias.
    pub bias_column: usize,
    pub bias_group: usize,
}

/// Numbers of a batch's axis: the extent, and the strides in A, B, the result and the bias.
pub(crate) const PER_AXIS: usize = 5;
