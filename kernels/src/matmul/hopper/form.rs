//! What a kernel for Hopper is compiled for, and where its shared memory goes.

use super::beside::Beside;
use crate::matmul::Activation;
use girih::Bounds;
use girih::cuda::wgmma::Major;

/// Rows of a tile: 64 for each of the two warpgroups that multiply.
pub const ROWS: u32 = 128;
/// Positions of K that one buffer holds: 128 bytes of 16-bit elements.
pub const DEPTH: u32 = 64;
/// Units of a cube: the warpgroup that loads, and two that multiply.
pub const UNITS: u32 = 384;
/// Those of them that multiply.
pub(super) const MULTIPLIERS: u32 = 256;
/// Groups that a grouped product may have: their table is in shared memory.
pub const MOST_GROUPS: usize = 1024;
/// Bytes of 64 rows of 128.
pub(super) const BLOCK: u32 = 8192;
/// Bytes in which a plane brings 16 rows of the result into order.
pub(super) const STAGING: u32 = 2048;

/// Which operand the two cubes of a cluster load together, each half of it for both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Share {
    /// Each cube is on its own.
    Nothing,
    /// A: the cubes' tiles are side by side.
    A,
    /// B: the cubes' tiles are one below the other.
    B,
}

/// Where the rows of A are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Routing {
    /// One after another.
    InOrder,
    /// At the positions of a list.
    Gather,
}

/// What is in groups, each of which is a product of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Groups {
    /// Nothing.
    Nothing,
    /// The rows of A and of the result: each group has a matrix B.
    Rows,
    /// The positions of K: each group has a result.
    Inner,
}

/// How a result is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Writing {
    /// In place of what is there.
    Set,
    /// Added to what is there, atomically; 16 bytes at a time alone.
    Add,
}

/// What a kernel is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Form {
    /// Columns of a tile: 64, 128 or 256.
    pub columns: u32,
    /// Buffers that are filled ahead.
    pub stages: u32,
    /// What the cubes of a cluster share.
    pub share: Share,
    /// How A and B lie in memory.
    pub majors: [Major; 2],
    /// Tiles along M that are done before the next along N: what is loaded for one is then in the cache for others.
    pub band: u32,
    /// What is in groups.
    pub groups: Groups,
    /// Where A's rows are.
    pub routing: Routing,
    /// How the result is written.
    pub writing: Writing,
    /// Whether the result's rows are stored 16 bytes at a time.
    pub vectors: bool,
    /// Whether there is an addend for each column.
    pub biased: bool,
    /// Whether there is a factor for each row.
    pub weighted: bool,
    /// What becomes of an element before it is stored.
    pub activation: Activation,
    /// What an index out of range means.
    pub bounds: Bounds,
    /// What lies beside the result; only where rows are stored 16 bytes at a time, and not added.
    pub beside: Beside,
}

impl Form {
    /// Whether there is such a kernel: a cluster shares two blocks of 64 lines at the least where a block has 64 lines, and no
    /// rows that are gathered; and its buffers fit in shared memory.
    pub const fn is_possible(&self) -> bool {
        let halves = match (self.share, self.majors[1]) {
            (Share::B, Major::Mn) => self.columns >= 128,
            _ => true,
        };
        let gathers = matches!(self.routing, Routing::Gather);
        let shares_a = matches!(self.share, Share::A);
        let is_alone = matches!(self.beside, Beside::Nothing);
        let stores = self.vectors && matches!(self.writing, Writing::Set);
        halves
            && (is_alone || stores)
            && !(gathers && shares_a)
            && self.stages > 2
            && self.shared_bytes() <= 227 * 1024
    }

    /// What the accumulators go through: what lies beside a result takes the activation along to where rows are stored.
    pub const fn in_registers(&self) -> Activation {
        match self.beside {
            Beside::Nothing => self.activation,
            _ => Activation::Identity,
        }
    }

    /// Whether registers change hands: those who multiply need more than they start with.
    pub const fn trades_registers(&self) -> bool {
        self.columns > 128
    }

    /// Whether cubes that share B elsewhere each load their own where the last rows of a group fit in one cube's tile: they then do
    /// these rows side by side, where the lower cube would have none. Kept to products with nothing beside them by a B that is
    /// contiguous along N: of others, gradients of a large layer ended in a trap on an H200.
    pub const fn parts(&self) -> bool {
        let is_plain = matches!((self.beside, self.majors[1]), (Beside::Nothing, Major::Mn));
        is_plain && matches!((self.share, self.groups), (Share::B, Groups::Rows))
    }

    /// Whether a warpgroup passes by tiles of which it has no element. Those of groups of K do not, for they clear buffers together,
    /// and of cubes that share B only those that [part](Self::parts).
    pub const fn passes_by(&self) -> bool {
        self.parts()
            || !matches!(
                (self.share, self.groups),
                (Share::B, _) | (_, Groups::Inner)
            )
    }

    /// Cubes of a cluster.
    pub const fn cubes(&self) -> u32 {
        match self.share {
            Share::Nothing => 1,
            _ => 2,
        }
    }

    /// Rows of a cluster's tiles.
    pub const fn rows_at_once(&self) -> u32 {
        match self.share {
            Share::B => 2 * ROWS,
            _ => ROWS,
        }
    }

    /// Columns of a cluster's tiles.
    pub const fn columns_at_once(&self) -> u32 {
        match self.share {
            Share::A => 2 * self.columns,
            _ => self.columns,
        }
    }

    /// Bytes of a buffer: 128 of each row of A and column of B.
    pub const fn stage_bytes(&self) -> u32 {
        128 * (ROWS + self.columns)
    }

    /// Where the planes that store bring rows into order.
    pub(super) const fn staging_at(&self) -> u32 {
        self.stages * self.stage_bytes()
    }

    /// Where the barriers are: one of each buffer that it is full, and one that it is empty.
    pub(super) const fn barriers_at(&self) -> u32 {
        self.staging_at() + 8 * STAGING
    }

    /// Where the table of groups is. Of rows: tiles up to and with each, and the row that each ends before. Of positions of K:
    /// the first of each, and how many it has.
    pub const fn table_at(&self) -> u32 {
        self.barriers_at() + 16 * self.stages
    }

    /// Bytes of shared memory.
    pub const fn shared_bytes(&self) -> u32 {
        let table = match self.groups {
            Groups::Nothing => 0,
            _ => 8 * (MOST_GROUPS as u32 + 1),
        };
        self.table_at() + table
    }
}
