//! Memory of atomics.

use super::span::Memory;
use crate::memory::{CellExpand, Operation, Strength};
use crate::tile::Packet;
use cubecl::prelude::*;
use std::rc::Rc;

/// Memory of atomics that a kernel can view: scalars, or vectors where the device combines them at once.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be viewed as atomics of type `{E}`",
    note = "an atomic view takes `&Tensor<Atomic<{E}>>` or `&Tensor<Atomic<Vector<{E}, N>>>`"
)]
pub trait AtomicSource<'a, E: Scalar> {}
impl<'a, E: Scalar> AtomicSource<'a, E> for &'a Tensor<Atomic<E>> {}
impl<'a, E: Scalar, N: Size> AtomicSource<'a, E> for &'a Tensor<Atomic<Vector<E, N>>> {}

/// Memory of atomics while the kernel is expanded.
#[derive(Clone)]
pub struct AtomicSpanExpand<E: Numeric> {
    pub(super) memory: Rc<dyn Memory<E>>,
    pub(super) atomics: Rc<dyn Atomics<E>>,
}

/// Accesses to the vector of atomics (or the lone one) at an offset, its width forgotten by the type.
pub(super) trait Atomics<E: Numeric> {
    fn load(&self, scope: &Scope, offset: NativeExpand<usize>, with: Strength) -> Packet<E>;
    fn store(&self, scope: &Scope, offset: NativeExpand<usize>, value: Packet<E>, with: Strength);
    fn update(
        &self,
        scope: &Scope,
        offset: NativeExpand<usize>,
        value: Packet<E>,
        operation: Operation,
        with: Strength,
    ) -> Packet<E>;
}

impl<E: Numeric, T: CubePrimitive<Scalar = E>> From<&TensorExpand<Atomic<T>>>
    for AtomicSpanExpand<E>
{
    fn from(tensor: &TensorExpand<Atomic<T>>) -> Self {
        let atomics = || AtomicTensor {
            tensor: tensor.clone_unchecked(),
        };
        Self {
            memory: Rc::new(atomics()),
            atomics: Rc::new(atomics()),
        }
    }
}

/// A tensor of atomics, which is never read or written plainly.
struct AtomicTensor<T: CubePrimitive> {
    tensor: TensorExpand<Atomic<T>>,
}

impl<T: CubePrimitive> AtomicTensor<T> {
    fn cell(&self, scope: &Scope, offset: NativeExpand<usize>) -> CellExpand<T> {
        let slice: &SliceExpand<Atomic<T>> = &self.tensor;
        CellExpand::of(scope, slice.__expand_index_method(scope, offset))
    }
}

impl<T: CubePrimitive<Scalar: Numeric>> Atomics<T::Scalar> for AtomicTensor<T> {
    fn load(
        &self,
        scope: &Scope,
        offset: NativeExpand<usize>,
        with: Strength,
    ) -> Packet<T::Scalar> {
        let held = self.cell(scope, offset).load(scope, with);
        held.read_value(scope).into()
    }
    fn store(
        &self,
        scope: &Scope,
        offset: NativeExpand<usize>,
        value: Packet<T::Scalar>,
        with: Strength,
    ) {
        let value: NativeExpand<T> = value.read_value(scope).into();
        self.cell(scope, offset).store(scope, value, with);
    }
    fn update(
        &self,
        scope: &Scope,
        offset: NativeExpand<usize>,
        value: Packet<T::Scalar>,
        operation: Operation,
        with: Strength,
    ) -> Packet<T::Scalar> {
        let value: NativeExpand<T> = value.read_value(scope).into();
        let cell = self.cell(scope, offset);
        cell.update(scope, value, operation, with)
            .read_value(scope)
            .into()
    }
}

impl<T: CubePrimitive> Memory<T::Scalar> for AtomicTensor<T> {
    fn width(&self, scope: &Scope) -> usize {
        T::__expand_vector_size(scope)
    }
    fn extent(&self, scope: &Scope, axis: usize) -> NativeExpand<usize> {
        self.tensor.__expand_shape_method(scope, axis.into())
    }
    fn stride(&self, scope: &Scope, axis: usize) -> NativeExpand<usize> {
        self.tensor.__expand_stride_method(scope, axis.into())
    }
    fn read(&self, _scope: &Scope, _offset: NativeExpand<usize>) -> Packet<T::Scalar> {
        unreachable!("atomics are not read plainly")
    }
    fn write(&self, _scope: &Scope, _offset: NativeExpand<usize>, _value: Packet<T::Scalar>) {
        unreachable!("atomics are not written plainly")
    }
}
