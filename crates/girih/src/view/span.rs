//! Spans: strided memory that views lie over.

use crate::handle::comptime_handle;
use crate::tile::{Packet, Width};
use core::marker::PhantomData;
use cubecl::prelude::*;
use std::rc::Rc;

/// Memory that a kernel can view: a tensor, or a slice as a tensor of rank 1, as long as the slice's buffer.
///
/// Its elements may be vectors (`&Tensor<Vector<E, N>>`): accesses then move `N` elements at once. Extents and strides
/// count scalars; the last dimension must be contiguous, and its extent and every other stride a multiple of `N`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be viewed as elements of type `{E}`",
    note = "a view reads `&Tensor<{E}>`, `&Tensor<Vector<{E}, N>>`, `&[{E}]` or `&[Vector<{E}, N>]`"
)]
pub trait SpanSource<'a, E: Scalar> {}
impl<'a, E: Scalar> SpanSource<'a, E> for &'a Tensor<E> {}
impl<'a, E: Scalar, N: Size> SpanSource<'a, E> for &'a Tensor<Vector<E, N>> {}
impl<'a, E: Scalar> SpanSource<'a, E> for &'a [E] {}
impl<'a, E: Scalar, N: Size> SpanSource<'a, E> for &'a [Vector<E, N>] {}
impl<'a, E: Scalar> SpanSource<'a, E> for Span<'a, E> {}

/// Memory that a kernel can view and store to; [`SpanSource`] says of what kinds.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be stored to through a view of elements of type `{E}`",
    note = "a `Mut` view takes `&mut Tensor<{E}>`, `&mut Tensor<Vector<{E}, N>>`, `&mut [{E}]` or `&mut [Vector<{E}, N>]`"
)]
pub trait SpanSourceMut<'a, E: Scalar> {}
impl<'a, E: Scalar> SpanSourceMut<'a, E> for &'a mut Tensor<E> {}
impl<'a, E: Scalar, N: Size> SpanSourceMut<'a, E> for &'a mut Tensor<Vector<E, N>> {}
impl<'a, E: Scalar> SpanSourceMut<'a, E> for &'a mut [E] {}
impl<'a, E: Scalar, N: Size> SpanSourceMut<'a, E> for &'a mut [Vector<E, N>] {}
impl<'a, E: Scalar> SpanSourceMut<'a, E> for SpanMut<'a, E> {}

/// Strided memory that can be read.
pub struct Span<'a, E: Scalar>(PhantomData<&'a E>);
/// Strided memory that can be read and written.
pub struct SpanMut<'a, E: Scalar>(PhantomData<&'a mut E>);

/// What a [`Span`] is while the kernel is expanded.
pub struct SpanExpand<E: Scalar>(pub(super) Rc<dyn Memory<E>>);
/// What a [`SpanMut`] is while the kernel is expanded.
pub struct SpanMutExpand<E: Scalar>(pub(super) Rc<dyn Memory<E>>);

macro_rules! spans {
    ($($span:ident, $expand:ident, [$($mutability:tt)*];)*) => {$(
        impl<E: Scalar> Clone for $expand<E> {
            fn clone(&self) -> Self {
                Self(self.0.clone())
            }
        }
        impl<E: Scalar> CubeType for $span<'_, E> {
            type ExpandType = $expand<E>;
        }
        comptime_handle!([E: Scalar] $expand<E>);
        impl<E: Scalar, T: CubePrimitive<Scalar = E>> From<&$($mutability)* TensorExpand<T>> for $expand<E> {
            fn from(tensor: &$($mutability)* TensorExpand<T>) -> Self {
                // The expand type is a name for the tensor: the view's lifetime is what rustc checks.
                Self(Rc::new(TensorMemory { tensor: (*tensor).clone_unchecked() }))
            }
        }
        impl<E: Scalar, T: CubePrimitive<Scalar = E>> From<&$($mutability)* SliceExpand<T>> for $expand<E> {
            fn from(slice: &$($mutability)* SliceExpand<T>) -> Self {
                Self(Rc::new(SliceMemory { slice: (*slice).clone_unchecked() }))
            }
        }
    )*};
}
spans! {
    Span, SpanExpand, [];
    SpanMut, SpanMutExpand, [mut];
}

/// One buffer with its extents and strides, the width of its vectors forgotten by the type.
pub(super) trait Memory<E: Scalar> {
    /// Scalars per vector.
    fn width(&self, scope: &Scope) -> usize;
    /// Scalars along an axis.
    fn extent(&self, scope: &Scope, axis: usize) -> NativeExpand<usize>;
    /// Scalars from one element to the next along an axis.
    fn stride(&self, scope: &Scope, axis: usize) -> NativeExpand<usize>;
    /// The vector at this offset, in vectors.
    fn read(&self, scope: &Scope, offset: NativeExpand<usize>) -> Packet<E>;
    /// Writes the vector at this offset, in vectors.
    fn write(&self, scope: &Scope, offset: NativeExpand<usize>, value: Packet<E>);
}

struct TensorMemory<T: CubePrimitive> {
    tensor: TensorExpand<T>,
}

impl<T: CubePrimitive> Memory<T::Scalar> for TensorMemory<T> {
    fn width(&self, scope: &Scope) -> usize {
        T::__expand_vector_size(scope)
    }
    fn extent(&self, scope: &Scope, axis: usize) -> NativeExpand<usize> {
        self.tensor.__expand_shape_method(scope, axis.into())
    }
    fn stride(&self, scope: &Scope, axis: usize) -> NativeExpand<usize> {
        self.tensor.__expand_stride_method(scope, axis.into())
    }
    fn read(&self, scope: &Scope, offset: NativeExpand<usize>) -> Packet<T::Scalar> {
        read_slice::<T>(scope, &self.tensor, offset)
    }
    fn write(&self, scope: &Scope, offset: NativeExpand<usize>, value: Packet<T::Scalar>) {
        write_slice::<T>(scope, &self.tensor, offset, value)
    }
}

struct SliceMemory<T: CubePrimitive> {
    slice: SliceExpand<T>,
}

impl<T: CubePrimitive> Memory<T::Scalar> for SliceMemory<T> {
    fn width(&self, scope: &Scope) -> usize {
        T::__expand_vector_size(scope)
    }
    fn extent(&self, scope: &Scope, axis: usize) -> NativeExpand<usize> {
        assert!(
            axis == 0,
            "girih: a view of axis {axis} of a slice, which has one axis; a tensor is needed"
        );
        let vectors = self.slice.__expand_len_method(scope);
        vectors.__expand_mul_method(scope, self.width(scope).into())
    }
    fn stride(&self, _scope: &Scope, _axis: usize) -> NativeExpand<usize> {
        1usize.into()
    }
    fn read(&self, scope: &Scope, offset: NativeExpand<usize>) -> Packet<T::Scalar> {
        read_slice::<T>(scope, &self.slice, offset)
    }
    fn write(&self, scope: &Scope, offset: NativeExpand<usize>, value: Packet<T::Scalar>) {
        write_slice::<T>(scope, &self.slice, offset, value)
    }
}

fn read_slice<T: CubePrimitive>(
    scope: &Scope,
    slice: &SliceExpand<T>,
    offset: NativeExpand<usize>,
) -> NativeExpand<Vector<T::Scalar, Width>> {
    let value = slice
        .__expand_index_method(scope, offset)
        .__expand_deref_method(scope);
    value.read_value(scope).into()
}

fn write_slice<T: CubePrimitive>(
    scope: &Scope,
    slice: &SliceExpand<T>,
    offset: NativeExpand<usize>,
    value: NativeExpand<Vector<T::Scalar, Width>>,
) {
    let mut slice = slice.clone_unchecked();
    let value: NativeExpand<T> = value.read_value(scope).into();
    slice
        .__expand_index_mut_method(scope, offset)
        .__expand_assign_method(scope, value);
}
