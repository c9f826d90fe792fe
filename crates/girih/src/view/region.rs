//! Memory with extents and strides.

use super::span::Memory;
use crate::tile::{Packet, join};
use cubecl::prelude::*;
use std::rc::Rc;

/// Memory with the extents and strides that a view of it needs, read once.
pub(super) struct Region<E: Scalar> {
    memory: Rc<dyn Memory<E>>,
    /// Scalars per vector.
    width: usize,
    extents: Vec<NativeExpand<usize>>,
    /// Vectors from one element to the next; along the last axis of vectors, from one vector to the next.
    strides: Vec<NativeExpand<usize>>,
}

impl<E: Scalar> Clone for Region<E> {
    fn clone(&self) -> Self {
        Self {
            memory: self.memory.clone(),
            width: self.width,
            extents: self.extents.clone(),
            strides: self.strides.clone(),
        }
    }
}

impl<E: Scalar> Region<E> {
    /// Memory of `rank` axes.
    pub(super) fn new(scope: &Scope, memory: Rc<dyn Memory<E>>, rank: usize) -> Self {
        let width = memory.width(scope);
        let extents = (0..rank).map(|axis| memory.extent(scope, axis)).collect();
        let strides = (0..rank)
            .map(|axis| match (width, axis + 1 == rank) {
                (1, _) => memory.stride(scope, axis),
                (_, true) => 1usize.into(),
                (_, false) => memory
                    .stride(scope, axis)
                    .__expand_div_method(scope, width.into()),
            })
            .collect();
        Self {
            memory,
            width,
            extents,
            strides,
        }
    }

    /// The same memory with another number of axes.
    pub(super) fn of_rank(&self, scope: &Scope, rank: usize) -> Self {
        match rank == self.extents.len() {
            true => self.clone(),
            false => Self::new(scope, self.memory(), rank),
        }
    }

    /// Scalars per vector.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    pub(super) fn extent(&self, axis: usize) -> NativeExpand<usize> {
        self.extents[axis]
    }

    pub(super) fn memory(&self) -> Rc<dyn Memory<E>> {
        self.memory.clone()
    }

    /// Offset of the vector that holds the element, in vectors.
    pub(super) fn offset(
        &self,
        scope: &Scope,
        elements: &[NativeExpand<usize>],
    ) -> NativeExpand<usize> {
        let last = elements.len() - 1;
        let mut offset: Option<NativeExpand<usize>> = None;
        for (axis, element) in elements.iter().enumerate() {
            let term = match (self.width, axis == last) {
                (1, _) | (_, false) => element.__expand_mul_method(scope, self.strides[axis]),
                (_, true) => element.__expand_div_method(scope, self.width.into()),
            };
            offset = Some(match offset {
                Some(sum) => sum.__expand_add_method(scope, term),
                None => term,
            });
        }
        offset.expect("a region has at least one axis")
    }

    /// The vector that holds the element.
    pub(super) fn read(&self, scope: &Scope, elements: &[NativeExpand<usize>]) -> Packet<E> {
        self.memory.read(scope, self.offset(scope, elements))
    }

    /// The element alone, out of its vector.
    pub(super) fn read_one(&self, scope: &Scope, elements: &[NativeExpand<usize>]) -> Packet<E> {
        let vector = self.read(scope, elements);
        if self.width == 1 {
            return vector;
        }
        let last = elements[elements.len() - 1];
        let index = last.__expand_rem_method(scope, self.width.into());
        join(
            scope,
            &[vector.__expand_extract_dynamic_method(scope, index)],
        )
    }
}
