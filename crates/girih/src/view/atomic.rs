//! [`AtomicGatherScatterView`]: tiles stored to atomics, or combined with what they hold.

use super::access::{Access, Region};
use super::atomic_span::{AtomicSource, AtomicSpanExpand};
use super::index::{ChunkIndexExpand, GatherDim, IndexPack};
use super::options::{Options, view_options};
use super::padding::{PadValue, Padding};
use super::stored::{StoredTileExpand, Widens};
use super::transfer::{Sink, Source};
use crate::coop::{Group, GroupExpand};
use crate::handle::comptime_handle;
use crate::memory::{
    Device, KnownScope, LoadOrder, MemoryOrder, Operation, StoreOrder, Strength, UpdateOrder,
};
use crate::tile::{Tile, TileExpand, TileShape};
use core::marker::PhantomData;
use cubecl::prelude::*;

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
    options: Options,
    _shape: PhantomData<(S, M)>,
}
impl<E: Numeric, S: TileShape, const DIM: usize, M: KnownScope> CubeType
    for AtomicGatherScatterView<'_, E, S, DIM, M>
{
    type ExpandType = AtomicGatherScatterViewExpand<E, S, DIM, M>;
}
comptime_handle!([E: Numeric, S: TileShape, const DIM: usize, M: KnownScope] AtomicGatherScatterViewExpand<E, S, DIM, M>);
view_options! {
    [E: Numeric, S: TileShape, const DIM: usize, M: KnownScope] AtomicGatherScatterView<'a, E, S, DIM, M>,
        AtomicGatherScatterViewExpand<E, S, DIM, M>, S, 'a, "AtomicGatherScatterView";
}
impl<E: Scalar, S: TileShape, const DIM: usize, M: KnownScope> Clone
    for AtomicGatherScatterView<'_, E, S, DIM, M>
{
    fn clone(&self) -> Self {
        *self
    }
}
impl<E: Scalar, S: TileShape, const DIM: usize, M: KnownScope> Copy
    for AtomicGatherScatterView<'_, E, S, DIM, M>
{
}

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
        AtomicGatherScatterViewExpand {
            region: Region::new(scope, memory.memory.clone(), S::RANK),
            memory,
            options: Options::of_gather(),
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
    /// The tile at these indices, loaded once and in this order. All of it is promised to be in range; an element that
    /// is not is undefined behaviour.
    #[allow(unused_variables)]
    pub fn atomic_load<O: LoadOrder>(
        &self,
        group: &Group,
        index: impl IndexPack<S, DIM>,
    ) -> Tile<'a, E, S> {
        cubecl::unexpanded!()
    }
    /// The tile at these indices, loaded once and in this order; `padding` where an element is out of range.
    #[allow(unused_variables)]
    pub fn atomic_load_masked<O: LoadOrder>(
        &self,
        group: &Group,
        padding: impl Padding<E>,
        index: impl IndexPack<S, DIM>,
    ) -> Tile<'a, E, S> {
        cubecl::unexpanded!()
    }
    /// Stores the tile at these indices and gives it back. All of it is promised to be in range; an element that is
    /// not is undefined behaviour. Of elements that go to one place, one is left.
    #[allow(unused_variables)]
    pub fn atomic_store<'t, O: StoreOrder>(
        &self,
        group: &Group,
        tile: Tile<'t, impl Widens<E>, S>,
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
        tile: Tile<'t, impl Widens<E>, S>,
        index: impl IndexPack<S, DIM>,
    ) -> Tile<'t, E, S> {
        cubecl::unexpanded!()
    }
}

macro_rules! updates {
    ($($operation:ident, $bound:ident, $verb:literal, [$(
        ($method:ident, $expand:ident, $masked:literal, $fetch:literal, $doc:literal)
    ),*];)*) => {$($(
        impl<'a, E: Numeric, S: TileShape, const DIM: usize, M: KnownScope> AtomicGatherScatterView<'a, E, S, DIM, M> {
            #[doc = concat!($verb, $doc)]
            #[allow(unused_variables)]
            pub fn $method<'t, O: UpdateOrder>(
                &self,
                group: &Group,
                tile: Tile<'t, impl Widens<E>, S>,
                index: impl IndexPack<S, DIM>,
            ) -> Tile<'t, E, S>
            where
                E: $bound,
            {
                cubecl::unexpanded!()
            }
        }
        impl<E: Numeric, S: TileShape, const DIM: usize, M: KnownScope> AtomicGatherScatterViewExpand<E, S, DIM, M> {
            #[doc = concat!("Expansion of [`AtomicGatherScatterView::", stringify!($method), "`].")]
            pub fn $expand<O: UpdateOrder>(
                &self,
                scope: &Scope,
                group: &GroupExpand,
                tile: StoredTileExpand<E, S>,
                index: ChunkIndexExpand<S, DIM>,
            ) -> TileExpand<E, S>
            where
                E: $bound,
            {
                let call = Call {
                    name: concat!("AtomicGatherScatterView::", stringify!($method)),
                    masked: $masked,
                    operation: Operation::$operation,
                    order: O::ORDER,
                };
                if $fetch {
                    self.exchange(scope, group, tile, index, call)
                } else {
                    self.meet(scope, group, tile, index, call)
                }
            }
        }
    )*)*};
}
macro_rules! every_update {
    ($($operation:ident, $bound:ident, $verb:literal: $atomic:ident $atomic_expand:ident, $atomic_masked:ident $atomic_masked_expand:ident, $fetch:ident $fetch_expand:ident, $fetch_masked:ident $fetch_masked_expand:ident;)*) => {
        updates! {$(
            $operation, $bound, $verb, [
                ($atomic, $atomic_expand, false, false, " what memory holds at these indices, element by element, and gives the tile back. All of it is promised to be in range; an element that is not is undefined behaviour."),
                ($atomic_masked, $atomic_masked_expand, true, false, " what memory holds at these indices, where they are in range, and gives the tile back."),
                ($fetch, $fetch_expand, false, true, " what memory holds at these indices, element by element, and gives what it held. All of it is promised to be in range; an element that is not is undefined behaviour."),
                ($fetch_masked, $fetch_masked_expand, true, true, " what memory holds at these indices, where they are in range, and gives what it held, or 0 elsewhere.")
            ];
        )*}
    };
}
every_update! {
    Add, Numeric, "Adds the tile to": atomic_add __expand_atomic_add_method, atomic_add_masked __expand_atomic_add_masked_method, fetch_add __expand_fetch_add_method, fetch_add_masked __expand_fetch_add_masked_method;
    Sub, Numeric, "Subtracts the tile from": atomic_sub __expand_atomic_sub_method, atomic_sub_masked __expand_atomic_sub_masked_method, fetch_sub __expand_fetch_sub_method, fetch_sub_masked __expand_fetch_sub_masked_method;
    Mul, Numeric, "Multiplies by the tile": atomic_mul __expand_atomic_mul_method, atomic_mul_masked __expand_atomic_mul_masked_method, fetch_mul __expand_fetch_mul_method, fetch_mul_masked __expand_fetch_mul_masked_method;
    Min, Numeric, "Keeps the smaller of the tile and": atomic_min __expand_atomic_min_method, atomic_min_masked __expand_atomic_min_masked_method, fetch_min __expand_fetch_min_method, fetch_min_masked __expand_fetch_min_masked_method;
    Max, Numeric, "Keeps the larger of the tile and": atomic_max __expand_atomic_max_method, atomic_max_masked __expand_atomic_max_masked_method, fetch_max __expand_fetch_max_method, fetch_max_masked __expand_fetch_max_masked_method;
    And, Int, "Keeps the bitwise and of the tile and": atomic_and __expand_atomic_and_method, atomic_and_masked __expand_atomic_and_masked_method, fetch_and __expand_fetch_and_method, fetch_and_masked __expand_fetch_and_masked_method;
    Or, Int, "Keeps the bitwise or of the tile and": atomic_or __expand_atomic_or_method, atomic_or_masked __expand_atomic_or_masked_method, fetch_or __expand_fetch_or_method, fetch_or_masked __expand_fetch_or_masked_method;
    Xor, Int, "Keeps the bitwise exclusive or of the tile and": atomic_xor __expand_atomic_xor_method, atomic_xor_masked __expand_atomic_xor_masked_method, fetch_xor __expand_fetch_xor_method, fetch_xor_masked __expand_fetch_xor_masked_method;
}
updates! {
    Exchange, Numeric, "Stores the tile to", [
        (exchange, __expand_exchange_method, false, true, " memory at these indices, and gives what it held. All of it is promised to be in range; an element that is not is undefined behaviour."),
        (exchange_masked, __expand_exchange_masked_method, true, true, " memory at these indices, where they are in range, and gives what it held, or 0 elsewhere.")
    ];
}

/// What a call does to each element, and what it calls itself where it refuses.
#[derive(Clone, Copy)]
struct Call {
    name: &'static str,
    masked: bool,
    operation: Operation,
    order: MemoryOrder,
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
            options: self.options,
            _shape: PhantomData,
        }
    }
    /// Expansion of [`AtomicGatherScatterView::atomic_store`].
    pub fn __expand_atomic_store_method<O: StoreOrder>(
        &self,
        scope: &Scope,
        group: &GroupExpand,
        tile: StoredTileExpand<E, S>,
        index: ChunkIndexExpand<S, DIM>,
    ) -> TileExpand<E, S> {
        let call = Call {
            name: "AtomicGatherScatterView::atomic_store",
            masked: false,
            operation: Operation::Store,
            order: O::ORDER,
        };
        self.meet(scope, group, tile, index, call)
    }
    /// Expansion of [`AtomicGatherScatterView::atomic_store_masked`].
    pub fn __expand_atomic_store_masked_method<O: StoreOrder>(
        &self,
        scope: &Scope,
        group: &GroupExpand,
        tile: StoredTileExpand<E, S>,
        index: ChunkIndexExpand<S, DIM>,
    ) -> TileExpand<E, S> {
        let call = Call {
            name: "AtomicGatherScatterView::atomic_store_masked",
            masked: true,
            operation: Operation::Store,
            order: O::ORDER,
        };
        self.meet(scope, group, tile, index, call)
    }

    /// Expansion of [`AtomicGatherScatterView::atomic_load`].
    pub fn __expand_atomic_load_method<O: LoadOrder>(
        &self,
        scope: &Scope,
        group: &GroupExpand,
        index: ChunkIndexExpand<S, DIM>,
    ) -> TileExpand<E, S> {
        let call = "AtomicGatherScatterView::atomic_load";
        self.load::<O>(scope, group, index, call, None)
    }
    /// Expansion of [`AtomicGatherScatterView::atomic_load_masked`].
    pub fn __expand_atomic_load_masked_method<O: LoadOrder>(
        &self,
        scope: &Scope,
        group: &GroupExpand,
        padding: PadValue<E>,
        index: ChunkIndexExpand<S, DIM>,
    ) -> TileExpand<E, S> {
        let call = "AtomicGatherScatterView::atomic_load_masked";
        let fill = padding.value(scope);
        self.load::<O>(scope, group, index, call, Some(fill))
    }

    fn load<O: LoadOrder>(
        &self,
        scope: &Scope,
        group: &GroupExpand,
        index: ChunkIndexExpand<S, DIM>,
        call: &'static str,
        fill: Option<NativeExpand<E>>,
    ) -> TileExpand<E, S> {
        let access = self.access(scope, index, fill.is_some());
        let region = self.region.of_rank(scope, access.axes.len());
        let with = strength::<M>(O::ORDER);
        let source = Source {
            call,
            fill,
            hints: self.options.hints,
            exchange: &|scope, offset, _| self.memory.atomics.load(scope, offset, with),
        };
        access.hold(scope, group, &region, None, source)
    }

    /// Gives each element to memory, and keeps what it held.
    fn exchange(
        &self,
        scope: &Scope,
        group: &GroupExpand,
        tile: StoredTileExpand<E, S>,
        index: ChunkIndexExpand<S, DIM>,
        call: Call,
    ) -> TileExpand<E, S> {
        let access = self.access(scope, index, call.masked);
        let region = self.region.of_rank(scope, access.axes.len());
        let with = strength::<M>(call.order);
        let zero = || E::__expand_from_int(scope, 0i64.into());
        let source = Source {
            call: call.name,
            fill: call.masked.then(zero),
            hints: self.options.hints,
            exchange: &|scope, offset, value| {
                let value = value.expect("an exchange has a tile to give");
                let atomics = &self.memory.atomics;
                atomics.update(scope, offset, value, call.operation, with)
            },
        };
        let mut held = None;
        tile.given(scope, |given| {
            held = Some(access.hold(scope, group, &region, Some(given), source));
        });
        held.expect("the tile was given")
    }

    /// Gives each element to memory, and asks for nothing back.
    fn meet(
        &self,
        scope: &Scope,
        group: &GroupExpand,
        tile: StoredTileExpand<E, S>,
        index: ChunkIndexExpand<S, DIM>,
        call: Call,
    ) -> TileExpand<E, S> {
        let access = self.access(scope, index, call.masked);
        let region = self.region.of_rank(scope, access.axes.len());
        let with = strength::<M>(call.order);
        let atomics = &self.memory.atomics;
        let sink = Sink {
            call: call.name,
            masked: call.masked,
            rivals: None,
            hints: self.options.hints,
            write: &|scope, offset, value| match call.operation {
                Operation::Store => atomics.store(scope, offset, value, with),
                operation => {
                    atomics.update(scope, offset, value, operation, with);
                }
            },
        };
        tile.given(scope, |given| {
            access.store(scope, group, &region, given, sink);
        })
    }

    fn access(&self, scope: &Scope, index: ChunkIndexExpand<S, DIM>, masked: bool) -> Access {
        index.access(scope, &self.options.rules(masked))
    }
}

pub(super) fn strength<M: KnownScope>(order: MemoryOrder) -> Strength {
    Strength {
        order,
        scope: M::SCOPE,
    }
}
