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

/// An operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// The first, whose lines are rows.
    A,
    /// The second, whose lines are columns.
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
    /// these rows side by side, where the lower cube would have none.
    pub const fn parts(&self) -> bool {
        matches!((self.share, self.groups), (Share::B, Groups::Rows))
    }

    /// Whether a warpgroup passes by tiles of which it has no element. Those of groups of K do not, for they clear buffers together.
    pub const fn passes_by(&self) -> bool {
        !matches!(self.groups, Groups::Inner)
    }

    /// Whether the cubes of a cluster share an operand.
    pub const fn shares(&self, operand: Operand) -> bool {
        matches!(
            (self.share, operand),
            (Share::A, Operand::A) | (Share::B, Operand::B)
        )
    }

    /// Lines of a cube's tile: rows of A, or columns of B.
    pub const fn lines(&self, operand: Operand) -> u32 {
        match operand {
            Operand::A => ROWS,
            Operand::B => self.columns,
        }
    }

    /// Lines that one bulk copy brings, 128 bytes of each. Where a line's positions of K are contiguous these are all of a tile, or of
    /// an operand that is shared the half that each cube loads; elsewhere 64.
    ///
    /// An operand has one tensor map, and a map one size of copies: where cubes that share an operand elsewhere load it each for
    /// themselves, a copy brings half of it too.
    pub const fn lines_of_copy(&self, operand: Operand) -> u32 {
        match (self.majors[operand as usize], self.shares(operand)) {
            (Major::Mn, _) => 64,
            (Major::K, true) => self.lines(operand) / 2,
            (Major::K, false) => self.lines(operand),
        }
    }

    /// Copies that a cube starts to have an operand's lines in a buffer: of its half of them, for both cubes, or of all.
    pub const fn copies(&self, operand: Operand, shared: bool) -> u32 {
        let cubes = if shared { 2 } else { 1 };
        self.lines(operand) / self.lines_of_copy(operand) / cubes
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

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: Form = Form {
        columns: 256,
        stages: 4,
        share: Share::Nothing,
        majors: [Major::K, Major::K],
        band: 8,
        groups: Groups::Nothing,
        routing: Routing::InOrder,
        writing: Writing::Set,
        vectors: true,
        biased: false,
        weighted: false,
        activation: Activation::Identity,
        bounds: Bounds::Mask,
        beside: Beside::Nothing,
    };

    /// Every form that differs in how operands lie, are shared and are in groups.
    fn forms() -> Vec<Form> {
        let mut forms = vec![];
        for (columns, stages) in [(256, 4), (128, 6), (64, 8)] {
            for share in [Share::Nothing, Share::A, Share::B] {
                for groups in [Groups::Nothing, Groups::Rows, Groups::Inner] {
                    for a in [Major::K, Major::Mn] {
                        for b in [Major::K, Major::Mn] {
                            forms.push(Form {
                                columns,
                                stages,
                                share,
                                groups,
                                majors: [a, b],
                                ..FORM
                            });
                        }
                    }
                }
            }
        }
        forms.retain(Form::is_possible);
        forms
    }

    /// The bytes that are waited for come, and no others, whether the cubes of a cluster share an operand or have a tile apart.
    #[test]
    fn copies_fill_a_buffer() {
        for form in forms() {
            let came = |operand: Operand, shared: bool| {
                let cubes = if shared { form.cubes() } else { 1 };
                // What a tensor map may say.
                assert!(form.lines_of_copy(operand) <= 256, "{form:?}");
                128 * cubes * form.copies(operand, shared) * form.lines_of_copy(operand)
            };
            let shares = [Operand::A, Operand::B].map(|operand| form.shares(operand));
            let mut ways = vec![shares];
            if form.parts() {
                ways.push([false, false]);
            }
            for [a, b] in ways {
                let came = came(Operand::A, a) + came(Operand::B, b);
                assert_eq!(came, form.stage_bytes(), "{form:?}");
            }
        }
    }
}
