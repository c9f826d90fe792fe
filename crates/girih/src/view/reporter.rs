//! Where an index out of range is kept until someone asks.

use crate::handle::comptime_handle;
use crate::memory::{CellExpand, MemoryOrder, MemoryScope, Operation, Strength};
use core::marker::PhantomData;
use cubecl::prelude::*;
use std::rc::Rc;

/// An index that was out of range: the first of its kind.
///
/// Along an axis whose indices are listed it is the one with the smallest position in the list. Along any other axis
/// every index is its own position: the smallest index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Offence {
    /// Its position in the list of indices; along an axis without a list the index, or 0 where that is below 0.
    pub position: u64,
    /// The index.
    pub index: i128,
    /// The axis that it indexes.
    pub axis: usize,
    /// That axis's extent: `0..extent` was allowed.
    pub extent: usize,
}

/// Keeps the first index out of range, on the device.
///
/// A kernel makes it of the record that [`Report`](super::Report) gives it. An index in range costs its comparison and
/// nothing else, one out of range one atomic minimum.
pub struct Reporter<'a>(PhantomData<&'a ()>);

/// What a [`Reporter`] is while the kernel is expanded.
#[derive(Clone)]
pub struct ReporterExpand {
    record: Record,
    first: NativeExpand<u32>,
}

/// The record that a reporter writes.
#[derive(Clone)]
enum Record {
    /// The smallest position in the list.
    Position(Rc<NativeExpand<[Atomic<u32>]>>),
    /// For each axis of memory the smallest position in its list, or the smallest index.
    Axes(Rc<NativeExpand<[Atomic<u64>]>>),
}

impl CubeType for Reporter<'_> {
    type ExpandType = ReporterExpand;
}
comptime_handle!([] ReporterExpand);

const RELAXED: Strength = Strength {
    order: MemoryOrder::Relaxed,
    scope: MemoryScope::Device,
};

/// The largest index that a record of axes tells from larger ones.
pub(super) const LARGEST: i64 = i64::MAX - 1;

impl<'a> Reporter<'a> {
    /// A reporter over a record of one element, for a view whose first index is entry `first` of the whole list.
    ///
    /// It keeps positions in a list, so an axis without one cannot be reported to it: see [`axes`](Self::axes).
    #[allow(unused_variables)]
    pub fn new(record: &'a [Atomic<u32>], first: u32) -> Self {
        cubecl::unexpanded!()
    }

    /// A reporter over a record of one element per axis of memory, for a view whose first index is entry `first` of the
    /// whole list (of each whole list, where there are several).
    #[allow(unused_variables)]
    pub fn axes(record: &'a [Atomic<u64>], first: u32) -> Self {
        cubecl::unexpanded!()
    }

    /// Expansion of [`new`](Self::new).
    pub fn __expand_new(
        _scope: &Scope,
        record: &NativeExpand<[Atomic<u32>]>,
        first: NativeExpand<u32>,
    ) -> ReporterExpand {
        ReporterExpand {
            record: Record::Position(Rc::new(record.clone_unchecked())),
            first,
        }
    }

    /// Expansion of [`axes`](Self::axes).
    pub fn __expand_axes(
        _scope: &Scope,
        record: &NativeExpand<[Atomic<u64>]>,
        first: NativeExpand<u32>,
    ) -> ReporterExpand {
        ReporterExpand {
            record: Record::Axes(Rc::new(record.clone_unchecked())),
            first,
        }
    }
}

impl ReporterExpand {
    /// Entry `coordinate` of the list along that axis is out of range.
    pub(super) fn offend_in_list(&self, scope: &Scope, axis: usize, coordinate: NativeExpand<u32>) {
        let position = self.first.__expand_add_method(scope, coordinate);
        match &self.record {
            Record::Position(record) => keep_smallest(scope, record, 0, position),
            Record::Axes(record) => {
                let position = u64::__expand_cast_from(scope, position);
                keep_smallest(scope, record, axis, position);
            }
        }
    }

    /// That index is out of range of an axis without a list.
    pub(super) fn offend_in_run(&self, scope: &Scope, axis: usize, index: NativeExpand<i64>) {
        match &self.record {
            Record::Position(_) => panic!(
                "girih: report: a record of positions in a list, for axis {axis}, which has no list; a reporter of \
                 `Reporter::axes` is needed, or another rule there: `bounds([..])`"
            ),
            Record::Axes(record) => {
                let bits = u64::__expand_reinterpret::<i64>(scope, index);
                let ordered = bits.__expand_bitxor_method(scope, (1u64 << 63).into());
                keep_smallest(scope, record, axis, ordered);
            }
        }
    }
}

fn keep_smallest<T: Int>(
    scope: &Scope,
    record: &NativeExpand<[Atomic<T>]>,
    slot: usize,
    value: NativeExpand<T>,
) {
    let cell = record.__expand_index_method(scope, NativeExpand::<usize>::from(slot));
    CellExpand::of(scope, cell).update(scope, value, Operation::Min, RELAXED);
}
