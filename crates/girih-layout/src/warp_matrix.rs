//! How the threads of a warp hold the operands of a matrix instruction.

use crate::{IntTuple, Integer, Layout, ThreadValueLayout};
use alloc::vec::Vec;

/// One of NVIDIA's matrix instructions, by which the 32 threads of a warp (a plane of CubeCL) multiply 16 rows by 8 columns:
/// PTX's `mma.sync.m16n8k{inner}`. Each thread holds a part of every operand in registers of 32 bits, its fragment.
///
/// | elements | `inner` | |
/// |---|---|---|
/// | 8 bits | 16, 32 | `u8`, `i8`, and the floats of 8 bits |
/// | 16 bits | 8, 16 | `f16`, `bf16` |
/// | 32 bits | 4, 8 | `tf32` |
///
/// A thread is four neighbours' turn along a row: thread `4 g + t` holds of the sums those of rows `g` and `g + 8`, columns `2 t`
/// and `2 t + 1`. Of the factors it holds whole registers of neighbours along the extent that is summed over.
///
/// ```
/// use girih_layout::WarpMatrix;
///
/// // Halves, 16 at a time.
/// let matrix = WarpMatrix::new(16, 16).expect("there is one");
/// assert_eq!(matrix.left().to_string(), "((_4,_8),(_2,_2,_2)):((_32,_1),(_16,_8,_128)) in (_16,_16)");
/// // Thread 5 is in row 1: its second register starts 8 rows on, its third 8 columns.
/// assert_eq!(matrix.left().coord(5, 0)?.to_string(), "(1,2)");
/// assert_eq!(matrix.left().coord(5, 2)?.to_string(), "(9,2)");
/// assert_eq!(matrix.left().coord(5, 4)?.to_string(), "(1,10)");
/// assert_eq!(matrix.right().coord(5, 1)?.to_string(), "(3,1)");
/// assert_eq!(WarpMatrix::sums().coord(5, 3)?.to_string(), "(9,3)");
/// # Ok::<(), girih_layout::LayoutError>(())
/// ```
///
/// Source: the figures of the fragments in the PTX ISA, chapter "Warp Level Matrix Instructions".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WarpMatrix {
    inner: u64,
    bits: u64,
}

impl WarpMatrix {
    /// Rows of the left factor, and of the sums.
    pub const ROWS: u64 = 16;
    /// Columns of the right factor, and of the sums.
    pub const COLUMNS: u64 = 8;
    /// Threads of a warp.
    pub const THREADS: u64 = 32;
    /// Sums that a register pair of a thread holds side by side.
    pub const NEIGHBOURS: u64 = 2;

    /// The instruction that sums over `inner` products of elements of `bits` bits each; `None` where there is none.
    pub const fn new(inner: u64, bits: u64) -> Option<Self> {
        if !matches!(bits, 8 | 16 | 32) {
            return None;
        }
        let quads = inner / (QUAD * 32 / bits);
        match inner.is_multiple_of(QUAD * 32 / bits) && matches!(quads, 1 | 2) {
            true => Some(Self { inner, bits }),
            false => None,
        }
    }

    /// How many products are added to each sum.
    pub const fn inner(&self) -> u64 {
        self.inner
    }

    /// Elements of a factor in a register.
    pub const fn per_register(&self) -> u64 {
        32 / self.bits
    }

    /// The fragments of the left factor, a tile of 16 x `inner`.
    pub fn left(&self) -> ThreadValueLayout {
        let (lanes, rows) = (self.per_register(), Self::ROWS);
        spread(
            [rows, self.inner],
            &[(QUAD, lanes * rows), (ROWS_OF_QUADS, 1)],
            &[
                (lanes, rows),
                (rows / ROWS_OF_QUADS, ROWS_OF_QUADS),
                (self.quads(), QUAD * lanes * rows),
            ],
        )
    }

    /// The fragments of the right factor, a tile of `inner` x 8.
    pub fn right(&self) -> ThreadValueLayout {
        let lanes = self.per_register();
        spread(
            [self.inner, Self::COLUMNS],
            &[(QUAD, lanes), (Self::COLUMNS, self.inner)],
            &[(lanes, 1), (self.quads(), QUAD * lanes)],
        )
    }

    /// The fragments of the sums, a tile of 16 x 8: the same for every instruction.
    pub fn sums() -> ThreadValueLayout {
        blocks_of_sums([Self::ROWS, Self::COLUMNS], [1, 1])
    }

    /// The fragments of a larger tile of sums, which `warps[0]` x `warps[1]` warps share: each has a block of it, from which it
    /// takes one instruction's tile after the other, those of a row first. Threads are numbered through the warps, and these
    /// along the rows of blocks. `None` where blocks are not made of whole tiles.
    ///
    /// ```
    /// use girih_layout::WarpMatrix;
    ///
    /// // Four warps, each with 32 x 32 of 64 x 64 sums.
    /// let sums = WarpMatrix::tile_of_sums([64, 64], [2, 2]).expect("whole tiles");
    /// assert_eq!((sums.threads().size().value(), sums.values().size().value()), (128, 32));
    /// // The third warp starts at row 32. After four values comes the next tile of the row, after 16 the next row.
    /// assert_eq!(sums.coord(64, 0)?.to_string(), "(32,0)");
    /// assert_eq!(sums.coord(64, 4)?.to_string(), "(32,8)");
    /// assert_eq!(sums.coord(64, 16)?.to_string(), "(48,0)");
    /// # Ok::<(), girih_layout::LayoutError>(())
    /// ```
    pub fn tile_of_sums(tile: [u64; 2], warps: [u64; 2]) -> Option<ThreadValueLayout> {
        let [rows, columns] = tile;
        let is_whole = |extent: u64, warps: u64, unit: u64| {
            extent > 0 && warps > 0 && extent.is_multiple_of(warps.checked_mul(unit).unwrap_or(0))
        };
        if !is_whole(rows, warps[0], Self::ROWS) || !is_whole(columns, warps[1], Self::COLUMNS) {
            return None;
        }
        rows.checked_mul(columns)?;
        Some(blocks_of_sums(tile, warps))
    }

    /// Registers of a fragment along the extent that is summed over.
    const fn quads(&self) -> u64 {
        self.inner / (QUAD * self.per_register())
    }
}

/// Threads that are neighbours along a row of the left factor and of the sums, and along a column of the right factor.
const QUAD: u64 = 4;
/// Rows (of the right factor columns) that the quads of a warp are in.
const ROWS_OF_QUADS: u64 = 8;

/// The sums of a tile whose blocks are made of whole instructions' tiles.
fn blocks_of_sums([rows, columns]: [u64; 2], warps: [u64; 2]) -> ThreadValueLayout {
    let block = [rows / warps[0], columns / warps[1]];
    spread(
        [rows, columns],
        &[
            (QUAD, WarpMatrix::NEIGHBOURS * rows),
            (ROWS_OF_QUADS, 1),
            (warps[1], block[1] * rows),
            (warps[0], block[0]),
        ],
        &[
            (WarpMatrix::NEIGHBOURS, rows),
            (WarpMatrix::ROWS / ROWS_OF_QUADS, ROWS_OF_QUADS),
            (block[1] / WarpMatrix::COLUMNS, WarpMatrix::COLUMNS * rows),
            (block[0] / WarpMatrix::ROWS, WarpMatrix::ROWS),
        ],
    )
}

/// A spread by the extents and strides of its threads and of their values.
fn spread(tile: [u64; 2], threads: &[(u64, u64)], values: &[(u64, u64)]) -> ThreadValueLayout {
    let tuple = |numbers: Vec<u64>| {
        IntTuple::tuple(
            numbers
                .into_iter()
                .map(|number| Integer::Static(number).into()),
        )
    };
    let of = |part: fn(&(u64, u64)) -> u64| {
        IntTuple::tuple([threads, values].map(|modes| tuple(modes.iter().map(part).collect())))
    };
    let layout = Layout::new(of(|mode| mode.0), of(|mode| mode.1));
    layout
        .and_then(|layout| ThreadValueLayout::new(tuple(tile.into()), layout))
        .expect("the fragments are parts of the tile, whose size 64 bits hold")
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    /// Every element has one holder.
    fn is_bijective(spread: &ThreadValueLayout) -> bool {
        let tile = spread.tile_shape().size().unwrap().value();
        let mut seen = vec![false; tile as usize];
        for offset in spread.layout().offsets() {
            if core::mem::replace(&mut seen[offset as usize], true) {
                return false;
            }
        }
        seen.into_iter().all(|seen| seen)
    }

    fn instructions() -> impl Iterator<Item = WarpMatrix> {
        [(16, 8), (32, 8), (8, 16), (16, 16), (4, 32), (8, 32)]
            .into_iter()
            .map(|(inner, bits)| WarpMatrix::new(inner, bits).unwrap())
    }

    fn at(spread: &ThreadValueLayout, thread: u64, value: u64) -> (u64, u64) {
        let coord = spread.coord(thread, value).unwrap();
        let mut leaves = coord.leaves().map(|leaf| leaf.value());
        (leaves.next().unwrap(), leaves.next().unwrap())
    }

    /// The positions as the PTX ISA states them, with groupID and threadID_in_group.
    #[test]
    fn fragments_are_where_the_ptx_isa_puts_them() {
        for matrix in instructions() {
            let lanes = matrix.per_register();
            for thread in 0..32 {
                let (group, in_group) = (thread / 4, thread % 4);
                for value in 0..matrix.inner() / 2 {
                    // Registers go down first, then along.
                    let register = value / lanes;
                    let row = if register % 2 == 0 { group } else { group + 8 };
                    let column = in_group * lanes + value % lanes + register / 2 * 4 * lanes;
                    assert_eq!(
                        at(&matrix.left(), thread, value),
                        (row, column),
                        "{matrix:?}"
                    );
                }
                for value in 0..matrix.inner() / 4 {
                    let row = in_group * lanes + value % lanes + value / lanes * 4 * lanes;
                    assert_eq!(
                        at(&matrix.right(), thread, value),
                        (row, group),
                        "{matrix:?}"
                    );
                }
                for value in 0..4 {
                    let row = if value < 2 { group } else { group + 8 };
                    let column = in_group * 2 + value % 2;
                    assert_eq!(at(&WarpMatrix::sums(), thread, value), (row, column));
                }
            }
        }
    }

    /// The layouts by which CuTe's traits name the same instructions; its right factor is transposed.
    #[test]
    fn fragments_are_those_of_cute() {
        let layout = |spread: ThreadValueLayout| alloc::format!("{:#}", spread.layout());
        let halves = WarpMatrix::new(16, 16).unwrap();
        assert_eq!(layout(halves.left()), "((4,8),(2,2,2)):((32,1),(16,8,128))");
        let bytes = WarpMatrix::new(32, 8).unwrap();
        assert_eq!(layout(bytes.left()), "((4,8),(4,2,2)):((64,1),(16,8,256))");
        assert_eq!(
            layout(WarpMatrix::sums()),
            "((4,8,1,1),(2,2,1,1)):((32,1,128,16),(16,8,128,16))"
        );
    }

    #[test]
    fn every_element_has_one_holder() {
        for matrix in instructions() {
            assert!(is_bijective(&matrix.left()), "{matrix:?}");
            assert!(is_bijective(&matrix.right()), "{matrix:?}");
        }
        assert!(is_bijective(&WarpMatrix::sums()));
    }

    /// What lets a kernel compute a thread's place once and add each value's as a constant.
    #[test]
    fn a_value_is_as_far_from_the_first_on_every_thread() {
        for matrix in instructions() {
            for fragment in [matrix.left(), matrix.right(), WarpMatrix::sums()] {
                for thread in 0..32 {
                    for value in 0..fragment.values().size().value() {
                        let ((row, column), (down, along)) =
                            (at(&fragment, thread, 0), at(&fragment, 0, value));
                        let place = at(&fragment, thread, value);
                        assert_eq!(place, (row + down, column + along));
                    }
                }
            }
        }
    }

    #[test]
    fn other_extents_have_no_instruction() {
        for (inner, bits) in [
            (0, 16),
            (12, 16),
            (32, 16),
            (24, 16),
            (8, 64),
            (64, 8),
            (2, 32),
            (8, 0),
            (8, 12),
        ] {
            assert_eq!(WarpMatrix::new(inner, bits), None, "{inner} of {bits} bits");
        }
    }

    #[test]
    fn parts_of_instructions_are_no_tiles() {
        for (tile, warps) in [
            ([16, 12], [1, 1]),
            ([24, 8], [1, 1]),
            ([32, 8], [1, 2]),
            ([16, 8], [2, 1]),
        ] {
            assert_eq!(WarpMatrix::tile_of_sums(tile, warps), None);
        }
        for (tile, warps) in [
            ([0, 8], [1, 1]),
            ([16, 8], [0, 1]),
            ([1 << 40, 1 << 40], [1, 1]),
        ] {
            assert_eq!(WarpMatrix::tile_of_sums(tile, warps), None);
        }
        assert_eq!(WarpMatrix::tile_of_sums([16, 16], [1 << 63, 1]), None);
    }
}
