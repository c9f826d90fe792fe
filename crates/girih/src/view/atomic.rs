//! [`AtomicGatherScatterView`]: a tile combined with what memory holds.

use super::access::{Region, Sink};
use super::bounds::{Bounds, Policy, Reporter, ReporterExpand};
use super::index::{ChunkIndexExpand, GatherDim, IndexPack};
use super::span::Memory;
use crate::coop::{Group, GroupExpand};
use crate::handle::comptime_handle;
use crate::tile::{Packet, Tile, TileExpand, TileShape};
use core::marker::PhantomData;
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

/// As [`GatherScatterViewMut`](super::GatherScatterViewMut), but each element is combined with what memory holds, so
/// that elements which go to one place all count. Relaxed, at device scope; the order of combination is not fixed.
pub struct AtomicGatherScatterView<'a, E: Scalar, S: TileShape, const DIM: usize> {
    _memory: PhantomData<&'a E>,
    _shape: PhantomData<S>,
}

/// What an [`AtomicGatherScatterView`] is while the kernel is expanded.
#[derive(Clone)]
pub struct AtomicGatherScatterViewExpand<E: Numeric, S: TileShape, const DIM: usize> {
    memory: AtomicSpanExpand<E>,
    region: Region<E>,
    policy: Policy,
    dims: Vec<usize>,
    _shape: PhantomData<S>,
}
impl<E: Numeric, S: TileShape, const DIM: usize> CubeType
    for AtomicGatherScatterView<'_, E, S, DIM>
{
    type ExpandType = AtomicGatherScatterViewExpand<E, S, DIM>;
}
comptime_handle!([E: Numeric, S: TileShape, const DIM: usize] AtomicGatherScatterViewExpand<E, S, DIM>);

impl<'a, E: Numeric, S: TileShape, const DIM: usize> AtomicGatherScatterView<'a, E, S, DIM> {
    /// The view of a tensor of atomics.
    #[allow(unused_variables)]
    pub fn of(source: impl AtomicSource<'a, E>) -> Self
    where
        S: GatherDim<DIM>,
    {
        cubecl::unexpanded!()
    }
    /// The same view with another rule for indices out of range, a comptime value; the default is [`Bounds::Mask`].
    #[allow(unused_variables)]
    pub fn bounds(self, bounds: Bounds) -> Self {
        cubecl::unexpanded!()
    }
    /// The same view under [`Bounds::Report`]: masked, and the first offence kept by the reporter.
    #[allow(unused_variables)]
    pub fn report(self, reporter: Reporter<'a>) -> Self {
        cubecl::unexpanded!()
    }
    /// Adds the elements of the tile that are in range to memory, and gives the tile back.
    #[allow(unused_variables)]
    pub fn add_masked<'t>(
        &self,
        group: &Group,
        tile: Tile<'t, E, S>,
        index: impl IndexPack<S, DIM>,
    ) -> Tile<'t, E, S> {
        cubecl::unexpanded!()
    }

    /// Expansion of [`of`](Self::of).
    pub fn __expand_of(
        scope: &Scope,
        memory: AtomicSpanExpand<E>,
    ) -> AtomicGatherScatterViewExpand<E, S, DIM> {
        let region = Region::new(scope, memory.memory.clone(), S::RANK);
        let dims = S::__expand_dims(scope);
        AtomicGatherScatterViewExpand {
            memory,
            region,
            policy: Policy::default(),
            dims,
            _shape: PhantomData,
        }
    }
}

impl<E: Numeric, S: TileShape, const DIM: usize> AtomicGatherScatterViewExpand<E, S, DIM> {
    /// Expansion of `bounds`.
    pub fn __expand_bounds_method(mut self, _scope: &Scope, bounds: Bounds) -> Self {
        assert!(
            bounds != Bounds::Report,
            "girih: AtomicGatherScatterView::bounds: Bounds::Report; call `report(reporter)`, which says where to keep \
             the offence"
        );
        self.policy = Policy {
            bounds,
            reporter: None,
        };
        self
    }
    /// Expansion of `report`.
    pub fn __expand_report_method(mut self, _scope: &Scope, reporter: ReporterExpand) -> Self {
        self.policy = Policy {
            bounds: Bounds::Report,
            reporter: Some(reporter),
        };
        self
    }
    /// Expansion of [`AtomicGatherScatterView::add_masked`].
    pub fn __expand_add_masked_method(
        &self,
        scope: &Scope,
        group: &GroupExpand,
        tile: TileExpand<E, S>,
        index: ChunkIndexExpand<S, DIM>,
    ) -> TileExpand<E, S> {
        let access = index.access(&self.dims, &self.policy);
        let sink = Sink {
            call: "AtomicGatherScatterView::add",
            masked: true,
            write: &|scope, offset, value| (self.memory.add)(scope, offset, value),
        };
        access.store(scope, group, &self.region, &tile, sink);
        tile
    }
}

type Add<E> = Rc<dyn Fn(&Scope, NativeExpand<usize>, Packet<E>)>;

/// Memory of atomics while the kernel is expanded.
#[derive(Clone)]
pub struct AtomicSpanExpand<E: Numeric> {
    memory: Rc<dyn Memory<E>>,
    add: Add<E>,
}

impl<E: Numeric, T: CubePrimitive<Scalar = E>> From<&TensorExpand<Atomic<T>>>
    for AtomicSpanExpand<E>
{
    fn from(tensor: &TensorExpand<Atomic<T>>) -> Self {
        let tensor = tensor.clone_unchecked();
        let extents = Extents {
            tensor: tensor.clone_unchecked(),
        };
        let add: Add<E> = Rc::new(move |scope, offset, value| {
            let slice: &SliceExpand<Atomic<T>> = &tensor;
            let cell = slice.__expand_index_method(scope, offset);
            let value: NativeExpand<T> = value.read_value(scope).into();
            cell.__expand_fetch_add_method(scope, value);
        });
        Self {
            memory: Rc::new(extents),
            add,
        }
    }
}

/// The extents of a tensor of atomics, which is never read or written plainly.
struct Extents<T: CubePrimitive> {
    tensor: TensorExpand<Atomic<T>>,
}

impl<T: CubePrimitive> Memory<T::Scalar> for Extents<T> {
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
