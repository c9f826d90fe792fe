//! [`AtomicGatherScatterView`]: tiles stored to atomics, or combined with what they hold.

use super::access::{Region, Sink};
use super::bounds::{Bounds, Policy, Reporter, ReporterExpand};
use super::index::{ChunkIndexExpand, GatherDim, IndexPack};
use super::span::Memory;
use crate::coop::{Group, GroupExpand};
use crate::handle::comptime_handle;
use crate::memory::{
    CellExpand, Device, KnownOrder, KnownScope, Operation, StoreOrder, Strength, UpdateOrder,
};
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

/// As [`GatherScatterViewMut`](super::GatherScatterViewMut), over atomics: each element is stored, or combined with what
/// memory holds, in an order at a scope (the device's, unless [`at`](Self::at) says otherwise), so that elements which go
/// to one place all count. In which order they do is not fixed: a sum of floats may differ in its last bits from run to
/// run.
pub struct AtomicGatherScatterView<
    'a,
    E: Scalar,
    S: TileShape,
    const DIM: usize,
    M: KnownScope = Device,
> {
    _memory: PhantomData<&'a E>,
    _shape: PhantomData<(S, M)>,
}

/// What an [`AtomicGatherScatterView`] is while the kernel is expanded.
#[derive(Clone)]
pub struct AtomicGatherScatterViewExpand<
    E: Numeric,
    S: TileShape,
    const DIM: usize,
    M: KnownScope = Device,
> {
    memory: AtomicSpanExpand<E>,
    region: Region<E>,
    policy: Policy,
    dims: Vec<usize>,
    _shape: PhantomData<(S, M)>,
}
impl<E: Numeric, S: TileShape, const DIM: usize, M: KnownScope> CubeType
    for AtomicGatherScatterView<'_, E, S, DIM, M>
{
    type ExpandType = AtomicGatherScatterViewExpand<E, S, DIM, M>;
}
comptime_handle!([E: Numeric, S: TileShape, const DIM: usize, M: KnownScope] AtomicGatherScatterViewExpand<E, S, DIM, M>);

impl<'a, E: Numeric, S: TileShape, const DIM: usize> AtomicGatherScatterView<'a, E, S, DIM> {
    /// The view of a tensor of atomics.
    #[allow(unused_variables)]
    pub fn of(source: impl AtomicSource<'a, E>) -> Self
    where
        S: GatherDim<DIM>,
    {
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

impl<'a, E: Numeric, S: TileShape, const DIM: usize, M: KnownScope>
    AtomicGatherScatterView<'a, E, S, DIM, M>
{
    /// The same view with accesses at another scope; the default is that of the device.
    pub fn at<N: KnownScope>(self) -> AtomicGatherScatterView<'a, E, S, DIM, N> {
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
    /// Stores the tile at these indices and gives it back. All of it is promised to be in range; an element that is
    /// not is undefined behaviour. Of elements that go to one place, one is left.
    #[allow(unused_variables)]
    pub fn atomic_store<'t, O: StoreOrder>(
        &self,
        group: &Group,
        tile: Tile<'t, E, S>,
        index: impl IndexPack<S, DIM>,
    ) -> Tile<'t, E, S> {
        cubecl::unexpanded!()
    }
    /// Stores the elements of the tile that are in range, and gives the tile back. Of elements that go to one place, one
    /// is left.
    #[allow(unused_variables)]
    pub fn atomic_store_masked<'t, O: StoreOrder>(
        &self,
        group: &Group,
        tile: Tile<'t, E, S>,
        index: impl IndexPack<S, DIM>,
    ) -> Tile<'t, E, S> {
        cubecl::unexpanded!()
    }
}

macro_rules! updates {
    ($($operation:ident, $bound:ident, $verb:literal: $plain:ident, $plain_expand:ident, $masked:ident, $masked_expand:ident;)*) => {$(
        impl<'a, E: Numeric, S: TileShape, const DIM: usize, M: KnownScope> AtomicGatherScatterView<'a, E, S, DIM, M> {
            #[doc = concat!($verb, " what memory holds at these indices, element by element, and gives the tile back. All of it is promised to be in range; an element that is not is undefined behaviour.")]
            #[allow(unused_variables)]
            pub fn $plain<'t, O: UpdateOrder>(
                &self,
                group: &Group,
                tile: Tile<'t, E, S>,
                index: impl IndexPack<S, DIM>,
            ) -> Tile<'t, E, S>
            where
                E: $bound,
            {
                cubecl::unexpanded!()
            }
            #[doc = concat!($verb, " what memory holds at these indices, where they are in range, and gives the tile back.")]
            #[allow(unused_variables)]
            pub fn $masked<'t, O: UpdateOrder>(
                &self,
                group: &Group,
                tile: Tile<'t, E, S>,
                index: impl IndexPack<S, DIM>,
            ) -> Tile<'t, E, S>
            where
                E: $bound,
            {
                cubecl::unexpanded!()
            }
        }
        impl<E: Numeric, S: TileShape, const DIM: usize, M: KnownScope> AtomicGatherScatterViewExpand<E, S, DIM, M> {
            #[doc = concat!("Expansion of [`AtomicGatherScatterView::", stringify!($plain), "`].")]
            pub fn $plain_expand<O: UpdateOrder>(
                &self,
                scope: &Scope,
                group: &GroupExpand,
                tile: TileExpand<E, S>,
                index: ChunkIndexExpand<S, DIM>,
            ) -> TileExpand<E, S>
            where
                E: $bound,
            {
                let call = concat!("AtomicGatherScatterView::", stringify!($plain));
                self.meet::<O>(scope, group, tile, index, Call { name: call, masked: false, operation: Operation::$operation })
            }
            #[doc = concat!("Expansion of [`AtomicGatherScatterView::", stringify!($masked), "`].")]
            pub fn $masked_expand<O: UpdateOrder>(
                &self,
                scope: &Scope,
                group: &GroupExpand,
                tile: TileExpand<E, S>,
                index: ChunkIndexExpand<S, DIM>,
            ) -> TileExpand<E, S>
            where
                E: $bound,
            {
                let call = concat!("AtomicGatherScatterView::", stringify!($masked));
                self.meet::<O>(scope, group, tile, index, Call { name: call, masked: true, operation: Operation::$operation })
            }
        }
    )*};
}
updates! {
    Add, Numeric, "Adds the tile to": atomic_add, __expand_atomic_add_method, atomic_add_masked, __expand_atomic_add_masked_method;
    Sub, Numeric, "Subtracts the tile from": atomic_sub, __expand_atomic_sub_method, atomic_sub_masked, __expand_atomic_sub_masked_method;
    Mul, Numeric, "Multiplies by the tile": atomic_mul, __expand_atomic_mul_method, atomic_mul_masked, __expand_atomic_mul_masked_method;
    Min, Numeric, "Keeps the smaller of the tile and": atomic_min, __expand_atomic_min_method, atomic_min_masked, __expand_atomic_min_masked_method;
    Max, Numeric, "Keeps the larger of the tile and": atomic_max, __expand_atomic_max_method, atomic_max_masked, __expand_atomic_max_masked_method;
    And, Int, "Keeps the bitwise and of the tile and": atomic_and, __expand_atomic_and_method, atomic_and_masked, __expand_atomic_and_masked_method;
    Or, Int, "Keeps the bitwise or of the tile and": atomic_or, __expand_atomic_or_method, atomic_or_masked, __expand_atomic_or_masked_method;
    Xor, Int, "Keeps the bitwise exclusive or of the tile and": atomic_xor, __expand_atomic_xor_method, atomic_xor_masked, __expand_atomic_xor_masked_method;
}

/// What a call does to each element, and what it calls itself where it refuses.
#[derive(Clone, Copy)]
struct Call {
    name: &'static str,
    masked: bool,
    operation: Operation,
}

impl<E: Numeric, S: TileShape, const DIM: usize, M: KnownScope>
    AtomicGatherScatterViewExpand<E, S, DIM, M>
{
    /// Expansion of [`AtomicGatherScatterView::at`].
    pub fn __expand_at_method<N: KnownScope>(
        self,
        _scope: &Scope,
    ) -> AtomicGatherScatterViewExpand<E, S, DIM, N> {
        AtomicGatherScatterViewExpand {
            memory: self.memory,
            region: self.region,
            policy: self.policy,
            dims: self.dims,
            _shape: PhantomData,
        }
    }
    /// Expansion of [`AtomicGatherScatterView::bounds`].
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
    /// Expansion of [`AtomicGatherScatterView::report`].
    pub fn __expand_report_method(mut self, _scope: &Scope, reporter: ReporterExpand) -> Self {
        self.policy = Policy {
            bounds: Bounds::Report,
            reporter: Some(reporter),
        };
        self
    }
    /// Expansion of [`AtomicGatherScatterView::atomic_store`].
    pub fn __expand_atomic_store_method<O: StoreOrder>(
        &self,
        scope: &Scope,
        group: &GroupExpand,
        tile: TileExpand<E, S>,
        index: ChunkIndexExpand<S, DIM>,
    ) -> TileExpand<E, S> {
        let call = Call {
            name: "AtomicGatherScatterView::atomic_store",
            masked: false,
            operation: Operation::Store,
        };
        self.meet::<O>(scope, group, tile, index, call)
    }
    /// Expansion of [`AtomicGatherScatterView::atomic_store_masked`].
    pub fn __expand_atomic_store_masked_method<O: StoreOrder>(
        &self,
        scope: &Scope,
        group: &GroupExpand,
        tile: TileExpand<E, S>,
        index: ChunkIndexExpand<S, DIM>,
    ) -> TileExpand<E, S> {
        let call = Call {
            name: "AtomicGatherScatterView::atomic_store_masked",
            masked: true,
            operation: Operation::Store,
        };
        self.meet::<O>(scope, group, tile, index, call)
    }

    fn meet<O: KnownOrder>(
        &self,
        scope: &Scope,
        group: &GroupExpand,
        tile: TileExpand<E, S>,
        index: ChunkIndexExpand<S, DIM>,
        call: Call,
    ) -> TileExpand<E, S> {
        let promise = Policy {
            bounds: Bounds::Assume,
            reporter: None,
        };
        let policy = if call.masked { &self.policy } else { &promise };
        let access = index.access(&self.dims, policy);
        let with = Strength {
            order: O::ORDER,
            scope: M::SCOPE,
        };
        let sink = Sink {
            call: call.name,
            masked: call.masked,
            write: &|scope, offset, value| {
                (self.memory.meet)(scope, offset, value, call.operation, with);
            },
        };
        access.store(scope, group, &self.region, &tile, sink);
        tile
    }
}

/// Does an operation to the atomic at an offset.
type Meet<E> = Rc<dyn Fn(&Scope, NativeExpand<usize>, Packet<E>, Operation, Strength)>;

/// Memory of atomics while the kernel is expanded.
#[derive(Clone)]
pub struct AtomicSpanExpand<E: Numeric> {
    memory: Rc<dyn Memory<E>>,
    meet: Meet<E>,
}

impl<E: Numeric, T: CubePrimitive<Scalar = E>> From<&TensorExpand<Atomic<T>>>
    for AtomicSpanExpand<E>
{
    fn from(tensor: &TensorExpand<Atomic<T>>) -> Self {
        let tensor = tensor.clone_unchecked();
        let extents = Extents {
            tensor: tensor.clone_unchecked(),
        };
        let meet: Meet<E> = Rc::new(move |scope, offset, value, operation, with| {
            let slice: &SliceExpand<Atomic<T>> = &tensor;
            let cell = CellExpand::of(scope, slice.__expand_index_method(scope, offset));
            let value: NativeExpand<T> = value.read_value(scope).into();
            match operation {
                Operation::Store => cell.store(scope, value, with),
                _ => {
                    cell.update(scope, value, operation, with);
                }
            }
        });
        Self {
            memory: Rc::new(extents),
            meet,
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
