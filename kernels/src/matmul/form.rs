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

/// Rows and columns of a fragment, which a plane multiplies.
pub const FRAGMENT: u32 = 16;

/// How one operand's tiles come to shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Side {
    /// Lines of a tile: rows of A, or columns of B.
    pub lines: u32,
    /// How they are read.
    pub reading: Reading,
    /// Whether they lie line by line, not position of K by position.
    pub by_line: bool,
    /// Whether they are those of a list.
    pub listed: bool,
}

impl Side {
    /// Whether it is read element by element.
    pub const fn is_by_element(&self) -> bool {
        matches!(self.reading, Reading::Elements { .. })
    }
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
    /// Positions of K of a fragment; 0 where there are none.
    pub fragment: u32,
    /// Tiles of each operand that are in shared memory: with two, the next is read while one is multiplied.
    pub buffers: u32,
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

    /// How the tiles of A come to shared memory.
    pub const fn side_a(&self, listed: bool) -> Side {
        Side {
            lines: self.tile.rows,
            reading: self.readings[0],
            by_line: self.by_line[0],
            listed,
        }
    }

    /// How those of B do.
    pub const fn side_b(&self) -> Side {
        Side {
            lines: self.tile.columns,
            reading: self.readings[1],
            by_line: self.by_line[1],
            listed: false,
        }
    }

    /// Vectors of a tile in a row of shared memory, which is a line or a position of K, and such rows.
    pub const fn rows_of(&self, side: Side) -> [u32; 2] {
        match side.by_line {
            true => [self.tile.depth / self.vector, side.lines],
            false => [side.lines / self.vector, self.tile.depth],
        }
    }

    /// Vectors of a tile that a unit brings to shared memory, at most.
    pub const fn steps(&self, side: Side) -> u32 {
        let [row, rows] = self.rows_of(side);
        (row * rows).div_ceil(self.units()[1])
    }

    /// Vectors from one row of a tile in shared memory to the next: one more than there are, so that units that write several
    /// rows reach different banks.
    pub const fn pitch(&self, side: Side) -> u32 {
        self.rows_of(side)[0] + 1
    }

    /// Vectors that a tile takes in shared memory.
    pub const fn staged(&self, side: Side) -> u32 {
        self.rows_of(side)[1] * self.pitch(side)
    }

    /// Parts that a unit's sums are written in: columns of vectors, or fragments of its plane.
    pub const fn parts(&self) -> u32 {
        let sums = self.tile.unit_rows * self.tile.unit_columns;
        match self.plane {
            0 => self.tile.unit_columns / self.vector,
            _ => sums / FRAGMENT / FRAGMENT,
        }
    }

    /// Bytes of shared memory, of operands' and sums' elements of these sizes.
    pub const fn shared_bytes(&self, [operand, sum]: [usize; 2]) -> usize {
        let vectors = self.staged(self.side_a(false)) + self.staged(self.side_b());
        let vectors = (vectors * self.buffers) as usize;
        let lists = 8 * self.tile.rows as usize;
        let rooms = match self.plane {
            0 => 0,
            plane => (self.units()[1] / plane * FRAGMENT * FRAGMENT) as usize * sum,
        };
        vectors * self.vector as usize * operand + lists + rooms
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
