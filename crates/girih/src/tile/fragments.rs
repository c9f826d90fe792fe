//! [`Blocks`]: a tile held by planes as fragments of matrix instructions.

use super::spread::integer;
use crate::coop::GroupExpand;
use crate::device::{expanded_for, has_warp_matrix};
use crate::layout::{IntTuple, Layout, LayoutError, WarpMatrix};
use cubecl::ir::ElemType;
use cubecl::prelude::*;

/// How planes share a tile of sums: each has a block, and planes past the last block have none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Blocks {
    /// Blocks along the rows, and along the columns.
    counts: [u64; 2],
}

impl Blocks {
    /// Elements of a packet, neighbours in a row.
    pub(super) const WIDTH: usize = WarpMatrix::NEIGHBOURS as usize;

    /// The blocks of a tile of sums of `E` that a group is to hold for products of these factors; `None` where it is to hold it
    /// as any other tile: the device lists no instruction for them, the group is not of whole planes, or the extents are not
    /// those of whole instructions.
    pub(super) fn of<E: Scalar>(
        scope: &Scope,
        group: &GroupExpand,
        dims: &[usize],
        factors: ElemType,
    ) -> Option<Self> {
        let (_, properties) = expanded_for(scope)?;
        if !has_warp_matrix(&properties, [factors; 2], E::elem_type(scope)) {
            return None;
        }
        let units = u64::from(group.units_of_whole_planes(scope)?);
        Self::best(tile(dims), units / WarpMatrix::THREADS)
    }

    /// As many blocks as planes can have one each; of these those that read the least of the factors.
    fn best(tile: [u64; 2], planes: u64) -> Option<Self> {
        let counts =
            (1..=planes).flat_map(|rows| (1..=planes / rows).map(move |columns| [rows, columns]));
        let whole = counts.filter(|&counts| WarpMatrix::tile_of_sums(tile, counts).is_some());
        let counts = whole.max_by_key(|counts| {
            let read = tile[0] / counts[0] + tile[1] / counts[1];
            (counts[0] * counts[1], core::cmp::Reverse(read))
        })?;
        Some(Self { counts })
    }

    /// Units that hold elements: those of the group's first ranks.
    pub(super) fn units(self) -> u64 {
        self.counts[0] * self.counts[1] * WarpMatrix::THREADS
    }

    /// Blocks along the columns: planes are numbered along them first.
    pub(super) fn per_row(self) -> u64 {
        self.counts[1]
    }

    /// The extents of a block.
    pub(super) fn extents(self, dims: &[usize]) -> [u64; 2] {
        let tile = tile(dims);
        [tile[0] / self.counts[0], tile[1] / self.counts[1]]
    }

    /// From (unit, step) to the packet, in row-major order.
    pub(super) fn packet_of(self, dims: &[usize]) -> Layout {
        let pair = |values: [usize; 2]| IntTuple::tuple(values.map(integer));
        let packets = || -> Result<Layout, LayoutError> {
            let row_major = Layout::new(pair([dims[0], dims[1]]), pair([dims[1], 1]))?;
            let sums = WarpMatrix::tile_of_sums(tile(dims), self.counts)
                .expect("blocks are of whole instructions' tiles");
            sums.partition(row_major)?
                .layout()
                .upcast(WarpMatrix::NEIGHBOURS)
        };
        packets().expect("neighbours of a row are a packet")
    }
}

/// The extents of a tile of two dimensions.
fn tile(dims: &[usize]) -> [u64; 2] {
    [dims[0] as u64, dims[1] as u64]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_plane_that_can_has_a_block_and_reads_little() {
        let counts = |tile, planes| Blocks::best(tile, planes).map(|blocks| blocks.counts);
        assert_eq!(counts([64, 64], 4), Some([2, 2]));
        assert_eq!(counts([128, 32], 4), Some([4, 1]));
        assert_eq!(counts([16, 64], 4), Some([1, 4]));
        // Two tiles for eight planes, and four tiles in a column for three.
        assert_eq!(counts([16, 16], 8), Some([1, 2]));
        assert_eq!(counts([64, 8], 3), Some([2, 1]));
        assert_eq!(counts([16, 12], 1), None);
        assert_eq!(counts([8, 8], 1), None);
    }

    #[test]
    fn units_hold_packets_of_their_block() {
        // 32 x 16 elements, 8 packets a row, by two planes of 16 rows each.
        let layout = Blocks { counts: [2, 1] }.packet_of(&[32, 16]);
        let packet = |unit: u64, step: u64| layout.index((unit, step)).unwrap().value();
        // Unit 38 is thread 6 of the second plane: row 17, the third packet of a tile of 8 columns.
        assert_eq!(packet(38, 0), 17 * 8 + 2);
        // Then eight rows on, then the next tile of the row.
        assert_eq!(packet(38, 1), 25 * 8 + 2);
        assert_eq!(packet(38, 2), 17 * 8 + 6);
        assert_eq!(layout.mode(1).unwrap().size().value(), 4);
    }
}
