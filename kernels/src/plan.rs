//! How a gather or scatter is cut into tiles: extents, vectors, cubes.

use crate::fold::{Axis, fold};
use crate::widths;
use cubecl::prelude::*;
use cubecl::server::Handle;
use cubecl::std::tensor::TensorHandle;
use girih::device::{Device, Target};
use girih::layout::{ComposedLayout, IntTuple, Layout, LayoutError, Swizzle, ThreadValueLayout};

/// The axes that two tensors share around the indexed one, as two outer and two inner axes at most, and the axis itself.
#[derive(Debug)]
pub(crate) struct Walk {
    /// Outer, outer, indexed, inner, inner.
    pub extents: [usize; 5],
    /// Strides of both tensors along those axes, in elements.
    pub strides: [[usize; 5]; 2],
    /// Extents of both tensors along the indexed axis.
    indexed: [usize; 2],
}

impl Walk {
    /// Walks both tensors, which agree in every extent but that of `axis`; `None` where their strides fold to more axes
    /// than a kernel has. The extent of the indexed axis is the second tensor's.
    pub(crate) fn new(first: &TensorHandle, second: &TensorHandle, axis: usize) -> Option<Self> {
        let (shape, b) = crate::check::dims(second);
        let (first, a) = crate::check::dims(first);
        let outer = fold(&shape[..axis], [&a[..axis], &b[..axis]]);
        let inner = fold(&shape[axis + 1..], [&a[axis + 1..], &b[axis + 1..]]);
        if outer.len() > 2 || inner.len() > 2 {
            return None;
        }
        let indexed = Axis {
            extent: shape[axis],
            strides: [a[axis], b[axis]],
        };
        let none = Axis {
            extent: 1,
            strides: [0, 0],
        };
        let padded = |axes: Vec<Axis<2>>| {
            let missing = 2 - axes.len();
            std::iter::repeat_n(none.clone(), missing)
                .chain(axes)
                .collect::<Vec<_>>()
        };
        let axes: Vec<_> = padded(outer)
            .into_iter()
            .chain([indexed])
            .chain(padded(inner))
            .collect();
        let each = |of: &dyn Fn(&Axis<2>) -> usize| std::array::from_fn(|at| of(&axes[at]));
        Some(Self {
            extents: each(&|axis| axis.extent),
            strides: [each(&|axis| axis.strides[0]), each(&|axis| axis.strides[1])],
            // What has no elements is never read: it may as well have one.
            indexed: [first[axis].max(1), shape[axis]],
        })
    }

    /// Whether one outer and one inner axis are enough.
    pub(crate) fn is_short(&self) -> bool {
        self.extents[0] == 1 && self.extents[3] == 1
    }

    /// The widest of the `widths` in which both tensors can be moved along the last axis, from where their handles
    /// start; elements have `size` bytes.
    pub(crate) fn width(&self, widths: &[usize], handles: [&Handle; 2], size: usize) -> usize {
        let starts = handles.map(|handle| start(handle, size));
        let common = [0, 1].map(|tensor| {
            let rows = widths::Rows {
                extents: self.extents,
                strides: self.strides[tensor],
                indexed: self.indexed[tensor],
                start: starts[tensor],
            };
            widths::known(rows, || self.vector(tensor, starts[tensor]).unwrap_or(1))
        });
        widths
            .iter()
            .copied()
            .find(|&width| {
                common
                    .iter()
                    .all(|vector| vector.is_multiple_of(width as u64))
            })
            .unwrap_or(1)
    }

    /// How many elements of a tensor that starts at element `start` can be moved at once: those that each row, spread
    /// over the values of one unit, has together.
    fn vector(&self, tensor: usize, start: u64) -> std::result::Result<u64, LayoutError> {
        // The last axis first, so that the linear coordinate runs along the rows.
        let mut extents = self.extents;
        extents[2] = self.indexed[tensor];
        let integers = |values: [usize; 5]| {
            let reversed = values.into_iter().rev();
            IntTuple::tuple(reversed.map(|value| IntTuple::from(value as u64)))
        };
        let shape = integers(extents);
        let memory = Layout::new(&shape, integers(self.strides[tensor]))?;
        let memory = ComposedLayout::new(Swizzle::IDENTITY, start, memory)?;
        let row = extents[4] as u64;
        let rows = extents[..4].iter().product::<usize>() as u64;
        let spread = ThreadValueLayout::new(shape, Layout::new((rows, row), (row, 1))?)?;
        spread.vector_width(memory)
    }
}

/// The element that the handle starts at; one that no vector starts at where it starts within an element.
pub(crate) fn start(handle: &Handle, size: usize) -> u64 {
    let (bytes, size) = (handle.offset_start.unwrap_or(0), size as u64);
    match bytes.is_multiple_of(size) {
        true => bytes / size,
        false => 1,
    }
}

/// Extents of a tile: outer, indexed and inner, and how the tiles spread over cubes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tiling {
    /// Extents of a tile along the inner of the outer axes, the indexed axis, and the last axis, in elements.
    pub tile: [usize; 3],
    /// How many tiles there are along each of the five axes.
    pub tiles: [usize; 5],
    /// Units of a cube.
    pub units: u32,
}

impl Tiling {
    /// Tiles as wide as the rows are, up to a cube's share, then as tall as is left; powers of two, so that a unit's
    /// place in the tile costs shifts.
    pub(crate) fn new(device: &Device, extents: [usize; 5], width: usize) -> Self {
        let units = cube_units(device);
        let share = units as usize * packets_per_unit(device);
        let [_, outer, indexed, _, inner] = extents;
        let columns = inner.div_ceil(width).next_power_of_two().min(share);
        let rows = indexed.next_power_of_two().min(share / columns);
        // What is left, however many slabs there are: each further extent would be another kernel to compile.
        let slabs = share / columns / rows;
        let tile = [slabs, rows, columns * width];
        let tiles = [
            extents[0],
            outer.div_ceil(tile[0]),
            indexed.div_ceil(tile[1]),
            extents[3],
            inner.div_ceil(tile[2]),
        ];
        Self { tile, tiles, units }
    }

    /// One cube per tile.
    pub(crate) fn cubes(&self, device: &Device) -> CubeCount {
        cubes(device, self.tiles.iter().product())
    }
}

/// At least so many cubes, however many the device has along one axis.
pub(crate) fn cubes(device: &Device, total: usize) -> CubeCount {
    let (max_x, max_y, _) = device.client().properties().hardware.max_cube_count;
    let rows = total.div_ceil(max_x as usize);
    let (y, z) = (rows.min(max_y as usize), rows.div_ceil(max_y as usize));
    CubeCount::new_3d(total.div_ceil(y * z) as u32, y as u32, z as u32)
}

/// Enough units to fill a GPU's processor with few cubes; on a CPU all that a cube has, which is one per core.
pub(crate) fn cube_units(device: &Device) -> u32 {
    let most = device
        .client()
        .properties()
        .hardware
        .max_units_per_cube
        .clamp(1, 256);
    1 << most.ilog2()
}

/// Two packets in flight per unit reach the memory's rate on a GPU; on a CPU a cube costs more than a packet, so that
/// each does many.
fn packets_per_unit(device: &Device) -> usize {
    match device.target() {
        Target::Cpu => 256,
        _ => 2,
    }
}

/// Which of the three divisions of a cube's number are left to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cut {
    /// More than one tile along the last axis.
    pub columns: bool,
    /// More than one tile along the outer axis.
    pub slabs: bool,
}

impl Tiling {
    pub(crate) fn cut(&self) -> Cut {
        Cut {
            columns: self.tiles[4] > 1,
            slabs: self.tiles[1] > 1,
        }
    }

    /// The numbers of tiles as a kernel argument.
    pub(crate) fn sequence(&self) -> SequenceArg<usize> {
        let mut sequence = SequenceArg::new();
        for tiles in self.tiles {
            sequence.push(tiles);
        }
        sequence
    }
}

/// What a launch needs of the tensors.
pub(crate) struct Place {
    pub tiling: Tiling,
    pub args: [TensorArg; 2],
    pub index: TensorArg,
    pub address: AddressType,
}

impl Place {
    /// `tensors` are those of the walk: along the indexed axis the first has `extent` elements, the second the walk's.
    pub(crate) fn new(
        device: &Device,
        walk: &Walk,
        width: usize,
        extent: usize,
        tensors: [&TensorHandle; 2],
        index: &TensorHandle,
    ) -> Self {
        let tiling = Tiling::new(device, walk.extents, width);
        let mut extents = walk.extents;
        extents[2] = extent;
        let short = walk.is_short();
        let args = [
            arg(tensors[0], extents, walk.strides[0], short),
            arg(tensors[1], walk.extents, walk.strides[1], short),
        ];
        let address = tensors
            .iter()
            .chain([&index])
            .map(|tensor| address(tensor))
            .max()
            .unwrap_or_default();
        Self {
            tiling,
            args,
            index: index.clone().into_arg(),
            address,
        }
    }
}

/// Wide enough for an offset anywhere in the buffer.
pub(crate) fn address(tensor: &TensorHandle) -> AddressType {
    AddressType::from_len(tensor.handle.size() as usize / tensor.dtype.size())
}

/// The five axes of one tensor as a kernel argument: all, or the outer, the indexed and the inner one.
pub(crate) fn arg(
    tensor: &TensorHandle,
    extents: [usize; 5],
    strides: [usize; 5],
    short: bool,
) -> TensorArg {
    let pick = |from: [usize; 5]| match short {
        true => vec![from[1], from[2], from[4]],
        false => from.to_vec(),
    };
    // SAFETY: the axes fold those of a tensor whose elements were checked to lie in its buffer.
    unsafe {
        TensorArg::from_raw_parts(
            tensor.handle.clone(),
            pick(strides).as_slice().into(),
            pick(extents).into(),
        )
    }
}

/// Slab, row and column of the tile that this cube does.
#[cube]
pub(crate) fn place(
    row_tiles: usize,
    column_tiles: usize,
    #[comptime] cut: Cut,
) -> (usize, usize, usize) {
    let mut column = 0usize;
    let mut row = CUBE_POS;
    if comptime!(cut.columns) {
        column = CUBE_POS % column_tiles;
        row = CUBE_POS / column_tiles;
    }
    let mut slab = 0usize;
    if comptime!(cut.slabs) {
        slab = row / row_tiles;
        row %= row_tiles;
    }
    (slab, row, column)
}

/// The tile that this cube does, along each of five axes.
#[derive(CubeType, Clone, Copy)]
pub(crate) struct Tile5 {
    pub outer: usize,
    pub slab: usize,
    pub row: usize,
    pub head: usize,
    pub column: usize,
}

/// The tile that this cube does, of so many along each axis.
#[cube]
pub(crate) fn place_strided(tiles: &Sequence<usize>) -> Tile5 {
    let (column, rest) = (CUBE_POS % tiles[4], CUBE_POS / tiles[4]);
    let (head, rest) = (rest % tiles[3], rest / tiles[3]);
    let (row, rest) = (rest % tiles[2], rest / tiles[2]);
    let (slab, outer) = (rest % tiles[1], rest / tiles[1]);
    Tile5 {
        outer,
        slab,
        row,
        head,
        column,
    }
}

/// The rows of a tile, a constant of the kernel.
#[cube]
pub(crate) fn rows_of_tile<R: Size>() -> u32 {
    let rows = R::value();
    comptime!(rows as u32).runtime()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Elements of the first tensor that move at once, from element `start` on.
    fn vector(extents: [usize; 5], strides: [usize; 5], indexed: usize, start: u64) -> u64 {
        let walk = Walk {
            extents,
            strides: [strides; 2],
            indexed: [indexed, extents[2]],
        };
        walk.vector(0, start).expect("a layout")
    }

    #[test]
    fn a_row_moves_in_its_largest_common_part() {
        assert_eq!(vector([1, 1, 6, 1, 12], [0, 0, 12, 0, 1], 6, 0), 12);
        // Rows further apart, a start within a row, and rows with a step between elements.
        assert_eq!(vector([1, 1, 6, 1, 12], [0, 0, 20, 0, 1], 6, 0), 4);
        assert_eq!(vector([1, 1, 6, 1, 12], [0, 0, 12, 0, 1], 6, 6), 6);
        assert_eq!(vector([1, 1, 6, 1, 12], [0, 0, 24, 0, 2], 6, 0), 1);
    }

    #[test]
    fn every_axis_keeps_rows_aligned() {
        assert_eq!(vector([2, 3, 6, 5, 16], [8, 48, 240, 16, 1], 6, 0), 8);
        assert_eq!(vector([2, 3, 6, 5, 16], [2, 48, 240, 16, 1], 6, 0), 2);
        // An axis of one element has no step.
        assert_eq!(vector([1, 3, 6, 5, 16], [2, 48, 240, 16, 1], 6, 0), 16);
    }

    #[test]
    fn the_indexed_axis_is_as_long_as_the_tensor() {
        // One index, but rows of 5 elements to choose from.
        assert_eq!(vector([1, 1, 1, 1, 4], [0, 0, 5, 0, 1], 9, 0), 1);
        assert_eq!(vector([1, 1, 1, 1, 4], [0, 0, 5, 0, 1], 1, 0), 4);
    }
}
