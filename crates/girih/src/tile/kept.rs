//! [`Kept`]: memory in which the units of a group keep a tile that any of them may ask for.

use super::fill::row_major;
use super::packet::{join, lanes, width};
use super::{Packet, TileExpand, TileShape, Width};
use crate::coop::GroupExpand;
use crate::device::{Target, expanded_for};
use crate::memory::{shared, shared_aligned};
use cubecl::prelude::*;
use std::rc::Rc;

/// The most bytes that a unit reads or writes at once.
const VECTOR: usize = 16;

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
            1 => {
                assert_private_fits::<E>(scope, call, dims, len);
                Cells::Private(Array::__expand_new(scope, len))
            }
            _ => {
                let (rank, count) = group.seat(scope, call);
                assert_fits::<E>(scope, call, dims, len, count);
                let first = match count {
                    1 => 0u32.into(),
                    _ => rank.__expand_mul_method(scope, (len as u32).into()),
                };
                let len = len * count as usize;
                let slice = match has_vectors(scope) {
                    true => shared_aligned::expand::<E>(scope, len, VECTOR),
                    false => shared::expand::<E>(scope, len),
                };
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
        let width = width(scope, &packet);
        if let Cells::Shared(slice, start) = &self.cells
            && is_vector::<E>(scope, &self.dims, width)
        {
            scope.register_size::<Width>(width);
            let position = within(scope, *start, first);
            return put_vector::expand::<E, Width>(scope, &mut slice.clone(), position, packet);
        }
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
            if let Cells::Shared(slice, start) = &cells
                && is_vector::<E>(scope, &dims, width)
            {
                scope.register_size::<Width>(width);
                let position = within(scope, *start, first);
                return vector_at::expand::<E, Width>(scope, slice, position);
            }
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

/// Whether shared memory is read and written by vectors: where a target takes one type of memory for another.
fn has_vectors(scope: &Scope) -> bool {
    expanded_for(scope).is_some_and(|(target, properties)| {
        target == Target::Cuda && properties.features.memory_reinterpret
    })
}

/// Whether packets of so many elements are vectors of shared memory. They start at multiples of their width in a row; so do rows
/// and the parts of groups, where rows are made of whole ones.
fn is_vector<E: Scalar>(scope: &Scope, dims: &[usize], width: usize) -> bool {
    let row = dims[dims.len() - 1];
    width > 1
        && width.is_power_of_two()
        && width * E::__expand_size(scope) <= VECTOR
        && row.is_multiple_of(width)
        && has_vectors(scope)
}

/// The vector that starts at a multiple of its width.
#[cube]
fn vector_at<E: Scalar, W: Size>(cells: &Shared<[E]>, position: usize) -> Vector<E, W> {
    let vectors = cells.as_vectorized().with_vector_size::<W>();
    vectors[position / W::value()]
}

/// Writes the vector that starts at a multiple of its width.
#[cube]
fn put_vector<E: Scalar, W: Size>(cells: &mut Shared<[E]>, position: usize, value: Vector<E, W>) {
    let vectors = cells.as_vectorized_mut().with_vector_size_mut::<W>();
    vectors[position / W::value()] = value;
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

/// Fails where a tile is more than a unit can well have of its own. Local memory is cached as shared memory is, which is why as
/// much of it is enough; compilers take minutes over more of it.
fn assert_private_fits<E: Scalar>(scope: &Scope, call: &str, dims: &[usize], len: usize) {
    let Some((_, properties)) = expanded_for(scope) else {
        return;
    };
    let most = properties.hardware.max_shared_memory_size;
    let bytes = len * E::__expand_size(scope);
    assert!(
        bytes <= most,
        "girih: {call}: a tile of extents {dims:?} kept by one unit takes {bytes} bytes of its own memory; as much as the device \
         has shared memory for a cube, {most}, is the most: take a smaller tile, or more units"
    );
}
