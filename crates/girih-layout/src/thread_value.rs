//! How a tile is spread over threads.

use crate::algebra::gcd;
use crate::{ComposedLayout, IntTuple, Layout, LayoutError, crd2idx};
use alloc::string::ToString;

/// Which element of a tile each thread holds as each of its values: a layout from (thread, value) to the element's
/// linear coordinate in the tile. Threads are CubeCL's units, of a cube or of any group.
///
/// ```
/// use girih_layout::{Layout, ThreadValueLayout, consts::*};
///
/// // 4 x 8 threads, numbered along rows, each with 1 x 4 consecutive elements of a row: a tile of 4 x 32.
/// let threads = Layout::right((_4, _8))?;
/// let values = Layout::right((_1, _4))?;
/// let spread = ThreadValueLayout::blocked(&threads, &values)?;
/// assert_eq!(format!("{:#}", spread.tile_shape()), "(4,32)");
/// assert_eq!(spread.coord(9, 2)?.to_string(), "(1,6)");
/// assert_eq!(spread.owner((1, 6))?, (9, 2));
///
/// // Each thread can load its four values from rows of 128 elements at once.
/// let memory: Layout = "(4,32):(128,1)".parse()?;
/// assert_eq!(spread.vector_width(&memory)?, 4);
/// # Ok::<(), girih_layout::LayoutError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ThreadValueLayout {
    tile: IntTuple,
    layout: Layout,
}

impl ThreadValueLayout {
    /// The spread of a tile of shape `tile` by `layout`, whose mode 0 is the thread and mode 1 the value. Elements may
    /// be held by several threads, or by none.
    ///
    /// # Errors
    /// [`LayoutError::NotThreadValue`] when `layout` has other than two modes or reaches past the tile.
    pub fn new(tile: impl Into<IntTuple>, layout: Layout) -> Result<Self, LayoutError> {
        let tile = tile.into();
        if layout.rank() != 2 || layout.cosize().value() > tile.size()?.value() {
            return Err(LayoutError::NotThreadValue {
                layout: layout.to_string(),
                tile: tile.to_string(),
            });
        }
        Ok(Self { tile, layout })
    }

    /// The spread in which each thread holds neighbouring elements: a block of the shape of `values`, the blocks
    /// arranged as `threads` is. `threads` and `values` number the threads and each thread's values.
    ///
    /// Law: with `threads(a) = t` and `values(b) = v`, thread `t` holds as value `v` the element at `a * shape(values)
    /// + b`, in each mode. The tile has the product of both shapes, and each of its elements has one holder.
    ///
    /// # Errors
    /// [`LayoutError::NotCompact`] when `threads` or `values` leaves out a number below its size or uses one twice.
    pub fn blocked(threads: &Layout, values: &Layout) -> Result<Self, LayoutError> {
        Self::inverted(threads, values, threads.raked_product(values))
    }

    /// The spread in which neighbouring elements belong to neighbouring threads: a block of the shape of `threads`,
    /// repeated as `values` is.
    ///
    /// Law: with `threads(a) = t` and `values(b) = v`, thread `t` holds as value `v` the element at `b * shape(threads)
    /// + a`, in each mode. The tile has the product of both shapes, and each of its elements has one holder.
    ///
    /// # Errors
    /// [`LayoutError::NotCompact`] when `threads` or `values` leaves out a number below its size or uses one twice.
    pub fn striped(threads: &Layout, values: &Layout) -> Result<Self, LayoutError> {
        Self::inverted(threads, values, threads.blocked_product(values))
    }

    /// The spread whose inverse, from the tile to `thread + value * threads`, is `holders`.
    fn inverted(
        threads: &Layout,
        values: &Layout,
        holders: Result<Layout, LayoutError>,
    ) -> Result<Self, LayoutError> {
        if !is_compact(threads)? || !is_compact(values)? {
            return Err(LayoutError::NotCompact {
                threads: threads.to_string(),
                values: values.to_string(),
            });
        }
        let holders = holders?;
        let elements = holders.right_inverse()?;
        let pairs = Layout::left((threads.size(), values.size()))?;
        Self::new(
            holders.shape().product_each()?,
            elements.composition(pairs)?,
        )
    }

    /// The tile's shape, one extent per mode.
    pub fn tile_shape(&self) -> &IntTuple {
        &self.tile
    }

    /// The layout from (thread, value) to the linear coordinate in the tile.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The layout of the threads: mode 0.
    pub fn threads(&self) -> Layout {
        self.mode(0)
    }

    /// The layout of each thread's values: mode 1.
    pub fn values(&self) -> Layout {
        self.mode(1)
    }

    /// Where in the tile value `value` of thread `thread` is.
    ///
    /// # Errors
    /// [`LayoutError::CoordOutOfRange`] for a thread or value that there is not.
    pub fn coord(&self, thread: u64, value: u64) -> Result<IntTuple, LayoutError> {
        crate::idx2crd(self.layout.index((thread, value))?, &self.tile)
    }

    /// The thread that holds the element at `coord`, and as which of its values.
    ///
    /// # Errors
    /// [`LayoutError::NotInjective`] when elements have several holders, [`LayoutError::NoUnit`] when this one has
    /// none, and those of [`crd2idx`].
    pub fn owner(&self, coord: impl Into<IntTuple>) -> Result<(u64, u64), LayoutError> {
        let stride = Layout::left(&self.tile)?;
        let element = crd2idx(&coord.into(), &self.tile, stride.stride())?;
        let none = || LayoutError::NoUnit {
            unit: element.value(),
            units: self.layout.to_string(),
        };
        let holder = self
            .layout
            .left_inverse()?
            .index(element)
            .map_err(|_| none())?;
        if self.layout.index(holder).map_err(|_| none())?.value() != element.value() {
            return Err(none());
        }
        let threads = self.threads().size();
        Ok((
            holder.try_rem(threads)?.value(),
            holder.try_div(threads)?.value(),
        ))
    }

    /// Where each value of each thread lies in `memory`, the layout of the tile: (thread, value) to offset.
    ///
    /// Law: `R(t, v) = memory(coord(t, v))`.
    ///
    /// # Errors
    /// [`LayoutError::ShapeMismatch`] when the modes of `memory` have other sizes than the tile, and those of
    /// [`composition`](Layout::composition).
    pub fn partition(
        &self,
        memory: impl Into<ComposedLayout>,
    ) -> Result<ComposedLayout, LayoutError> {
        let memory = memory.into();
        let extents = memory.shape().product_each()?;
        if extents.to_static() != self.tile.to_static() {
            return Err(LayoutError::ShapeMismatch {
                given: memory.shape().to_string(),
                tile: self.tile.to_string(),
            });
        }
        memory.composition(&self.layout)
    }

    /// How many elements each thread can load from `memory` at once: the largest width such that every run of so many
    /// values, from value 0 on, is consecutive in memory and starts at a multiple of the width. The memory itself must
    /// be aligned to it.
    ///
    /// # Errors
    /// Those of [`partition`](ThreadValueLayout::partition).
    pub fn vector_width(&self, memory: impl Into<ComposedLayout>) -> Result<u64, LayoutError> {
        let spread = self.partition(memory)?;
        let values = spread.layout().mode(1)?.coalesce();
        let registers = Layout::consecutive(values.size());
        let run = values.max_common_vector(&registers)?.value();
        let starts = spread.layout().mode(0)?;
        let jumps = starts
            .leaf_modes()
            .chain(values.leaf_modes().filter(|mode| mode.stride.value() != 1));
        let strides = jumps
            .filter(|mode| mode.extent.value() > 1)
            .map(|mode| mode.stride.value());
        let width = strides.chain([spread.offset().value()]).fold(run, gcd);
        // A swizzle keeps runs of `2^base` elements together.
        Ok(match spread.swizzle().is_identity() {
            true => width,
            false => gcd(
                width,
                1u64.checked_shl(spread.swizzle().base()).unwrap_or(0),
            ),
        })
    }

    fn mode(&self, index: usize) -> Layout {
        // `new` has made sure of two modes.
        self.layout
            .mode(index)
            .unwrap_or_else(|_| self.layout.clone())
    }
}

/// Whether the layout reaches every offset below its size, each once.
fn is_compact(layout: &Layout) -> Result<bool, LayoutError> {
    Ok(layout.right_inverse()?.size().value() == layout.size().value())
}
