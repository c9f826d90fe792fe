//! [`Kept`]: memory in which the units of a group keep a tile that any of them may ask for.

use super::fill::row_major;
use super::packet::{join, lanes};
use super::{Packet, TileExpand, TileShape};
use crate::coop::GroupExpand;
use crate::device::expanded_for;
use crate::memory::shared;
use cubecl::prelude::*;
use std::rc::Rc;

/// Elements of a tile, in row-major order.
pub(super) struct Kept<E: Scalar> {
    call: &'static str,
    group: GroupExpand,
    dims: Rc<[usize]>,
    cells: Cells<E>,
}

enum Cells<E: Scalar> {
    /// Memory of the one unit of the group.
    Private(NativeExpand<Array<E>>),
    /// Memory of the cube, and where in it the group's part starts.
    Shared(NativeExpand<Shared<[E]>>, NativeExpand<u32>),
}

impl<E: Scalar> Clone for Cells<E> {
    fn clone(&self) -> Self {
        match self {
            Self::Private(array) => Self::Private(*array),
            Self::Shared(slice, first) => Self::Shared(slice.clone(), *first),
        }
    }
}

impl<E: Scalar> Kept<E> {
    /// Memory for a tile of these extents, for each group like this one of the cube.
    pub(super) fn new(
        scope: &Scope,
        call: &'static str,
        group: &GroupExpand,
        dims: &[usize],
    ) -> Self {
        let len = dims.iter().product::<usize>().max(1);
        let cells = match group.holders(call) {
            1 => Cells::Private(Array::__expand_new(scope, len)),
            _ => {
                let (rank, count) = group.seat(scope, call);
                assert_fits::<E>(scope, call, dims, len, count);
                let first = match count {
                    1 => 0u32.into(),
                    _ => rank.__expand_mul_method(scope, (len as u32).into()),
                };
                let slice = shared::expand::<E>(scope, len * count as usize);
                Cells::Shared(slice, first)
            }
        };
        Self {
            call,
            group: group.clone(),
            dims: dims.into(),
            cells,
        }
    }

    /// Waits until every unit of the group is done with the memory.
    pub(super) fn wait(&self, scope: &Scope) {
        if let Cells::Shared(..) = self.cells {
            self.group.meet(scope, self.call);
        }
    }

    /// Keeps the packet that starts at these coordinates.
    pub(super) fn put(&self, scope: &Scope, at: &[NativeExpand<u32>], packet: Packet<E>) {
        let first = row_major(scope, &self.dims, at);
        for (index, element) in (0u32..).zip(lanes(scope, packet)) {
            self.put_at(scope, plus(scope, first, index), element);
        }
    }

    /// Keeps the element of a row-major position.
    pub(super) fn put_at(
        &self,
        scope: &Scope,
        position: NativeExpand<u32>,
        element: NativeExpand<E>,
    ) {
        match self.cells.clone() {
            Cells::Private(mut array) => {
                let position = usize::__expand_cast_from(scope, position);
                array
                    .__expand_index_mut_method(scope, position)
                    .__expand_assign_method(scope, element);
            }
            Cells::Shared(mut slice, first) => {
                let position = within(scope, first, position);
                slice
                    .__expand_index_mut_method(scope, position)
                    .__expand_assign_method(scope, element);
            }
        }
    }

    /// The tile of what is kept.
    pub(super) fn tile<S: TileShape>(&self) -> TileExpand<E, S> {
        let (dims, cells) = (self.dims.clone(), self.cells.clone());
        TileExpand::new(1, move |scope, at, width| {
            let first = row_major(scope, &dims, at);
            let lanes: Vec<_> = (0..width as u32)
                .map(|index| cells.get(scope, plus(scope, first, index)))
                .collect();
            join(scope, &lanes)
        })
    }

    /// The element of a row-major position.
    pub(super) fn get(&self, scope: &Scope, position: NativeExpand<u32>) -> NativeExpand<E> {
        self.cells.get(scope, position)
    }
}

impl<E: Scalar> Cells<E> {
    fn get(&self, scope: &Scope, position: NativeExpand<u32>) -> NativeExpand<E> {
        let element = match self {
            Self::Private(array) => {
                let position = usize::__expand_cast_from(scope, position);
                array
                    .__expand_index_method(scope, position)
                    .__expand_deref_method(scope)
            }
            Self::Shared(slice, first) => {
                let position = within(scope, *first, position);
                slice
                    .__expand_index_method(scope, position)
                    .__expand_deref_method(scope)
            }
        };
        element.read_value(scope).into()
    }
}

fn plus(scope: &Scope, number: NativeExpand<u32>, distance: u32) -> NativeExpand<u32> {
    match distance {
        0 => number,
        _ => number.__expand_add_method(scope, distance.into()),
    }
}

fn within(
    scope: &Scope,
    first: NativeExpand<u32>,
    position: NativeExpand<u32>,
) -> NativeExpand<usize> {
    let position = match first.constant().is_some_and(|first| first.as_u64() == 0) {
        true => position,
        false => first.__expand_add_method(scope, position),
    };
    usize::__expand_cast_from(scope, position)
}

/// Fails where the device has less shared memory than the groups of a cube need.
fn assert_fits<E: Scalar>(scope: &Scope, call: &str, dims: &[usize], len: usize, groups: u32) {
    let Some((_, properties)) = expanded_for(scope) else {
        return;
    };
    let most = properties.hardware.max_shared_memory_size;
    let bytes = len * E::__expand_size(scope) * groups as usize;
    assert!(
        bytes <= most,
        "girih: {call}: a tile of extents {dims:?} kept by each of {groups} groups of a cube takes {bytes} bytes of \
         shared memory; the device has {most}: take a smaller tile, or fewer groups"
    );
}
