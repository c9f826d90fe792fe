//! What happens to an index that is out of range.

use crate::handle::comptime_handle;
use crate::memory::{CellExpand, MemoryOrder, MemoryScope, Operation, Strength};
use core::marker::PhantomData;
use cubecl::prelude::*;
use std::rc::Rc;

/// What a view does with an index out of `0..extent` along its gather dimension.
///
/// An index below 0 is out of range, whatever its type. On an extent of 0 every index is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bounds {
    /// Nothing: every index is promised to be in range. One that is not is undefined behaviour.
    Assume,
    /// Loads give the padding, stores drop the element.
    Mask,
    /// Each index is moved to the nearest of `0..extent`; on an extent of 0, as [`Mask`](Self::Mask).
    Clamp,
    /// `-extent..0` counts from the end; the rest as [`Mask`](Self::Mask).
    Wrap,
    /// As [`Mask`](Self::Mask), and the first offence is kept on the device until [`check`](super::Checked::check).
    Report,
}

/// An index that was out of range: the first of its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Offence {
    /// Its position in the list of indices.
    pub position: u64,
    /// The index.
    pub index: i128,
    /// The axis that it indexes.
    pub axis: usize,
    /// That axis's extent: `0..extent` was allowed.
    pub extent: usize,
}

/// Where in range an index points, and whether it is (`true` under [`Bounds::Assume`]).
#[cube]
pub(super) fn resolve<I: Int>(
    index: I,
    extent: usize,
    #[comptime] bounds: Bounds,
) -> (usize, bool) {
    let zero = I::from_int(0);
    match comptime!(bounds) {
        Bounds::Assume => (usize::cast_from(index), true.runtime()),
        Bounds::Mask | Bounds::Report => (
            usize::cast_from(index),
            index >= zero && below::<I>(index, extent),
        ),
        Bounds::Clamp => {
            let inside = select(
                below::<I>(index, extent),
                usize::cast_from(index),
                extent - 1,
            );
            (select(index < zero, 0usize, inside), extent > 0)
        }
        Bounds::Wrap => {
            // -1 - index, without the overflow that -index has at the type's minimum.
            let from_end = !index;
            let distance = select(index < zero, from_end, index);
            let inside = below::<I>(distance, extent);
            let forward = usize::cast_from(distance);
            (select(index < zero, extent - 1 - forward, forward), inside)
        }
    }
}

/// `index < extent` for an index that is not negative, in whichever of the two types holds both.
#[cube]
fn below<I: Int>(index: I, extent: usize) -> bool {
    let elem = elem_type_of::<I>();
    if comptime!(elem.size() == 8) {
        index < I::cast_from(extent)
    } else {
        usize::cast_from(index) < extent
    }
}

/// Keeps the smallest position whose index was out of range, on the device.
///
/// A kernel makes it of the record that [`Report`](super::Report) gives it.
pub struct Reporter<'a>(PhantomData<&'a ()>);

/// What a [`Reporter`] is while the kernel is expanded.
#[derive(Clone)]
pub struct ReporterExpand {
    record: Rc<NativeExpand<[Atomic<u32>]>>,
    first: NativeExpand<u32>,
}
impl CubeType for Reporter<'_> {
    type ExpandType = ReporterExpand;
}
comptime_handle!([] ReporterExpand);

impl<'a> Reporter<'a> {
    /// A reporter over a record of one element, for a view whose first index is entry `first` of the whole list.
    #[allow(unused_variables)]
    pub fn new(record: &'a [Atomic<u32>], first: u32) -> Self {
        cubecl::unexpanded!()
    }

    /// Expansion of [`new`](Self::new).
    pub fn __expand_new(
        _scope: &Scope,
        record: &NativeExpand<[Atomic<u32>]>,
        first: NativeExpand<u32>,
    ) -> ReporterExpand {
        ReporterExpand {
            record: Rc::new(record.clone_unchecked()),
            first,
        }
    }
}

impl ReporterExpand {
    /// The view's index of that number is out of range.
    pub(super) fn offend(&self, scope: &Scope, coordinate: NativeExpand<u32>) {
        let position = self.first.__expand_add_method(scope, coordinate);
        let record: &NativeExpand<[Atomic<u32>]> = &self.record;
        let cell = record.__expand_index_method(scope, NativeExpand::<usize>::from(0));
        let relaxed = Strength {
            order: MemoryOrder::Relaxed,
            scope: MemoryScope::Device,
        };
        CellExpand::of(scope, cell).update(scope, position, Operation::Min, relaxed);
    }
}

/// How a view treats its indices, while the kernel is expanded.
#[derive(Clone)]
pub(super) struct Policy {
    pub bounds: Bounds,
    pub reporter: Option<ReporterExpand>,
}
comptime_handle!([] Policy);

impl Policy {
    /// Every index is promised to be in range.
    pub(super) fn promise() -> Self {
        Self {
            bounds: Bounds::Assume,
            reporter: None,
        }
    }

    /// These bounds, asked for by `view`. A report needs to be told where to keep the offence.
    pub(super) fn of(view: &str, bounds: Bounds) -> Self {
        assert!(
            bounds != Bounds::Report,
            "girih: {view}::bounds: Bounds::Report; call `report(reporter)`, which says where to keep the offence"
        );
        Self {
            bounds,
            reporter: None,
        }
    }

    /// Masked, and the first offence kept.
    pub(super) fn report(reporter: ReporterExpand) -> Self {
        Self {
            bounds: Bounds::Report,
            reporter: Some(reporter),
        }
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            bounds: Bounds::Mask,
            reporter: None,
        }
    }
}
