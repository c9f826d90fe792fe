//! [`AtomicFlatView`]: elements stored to atomics at indices of their own, or combined with what they hold.

use super::access::{FlatAccess, Options};
use super::index::{FlatIndexExpand, FlatIndexPack, MaskExpand, MaskOf};
use super::options;
use crate::coop::{Group, GroupExpand};
use crate::handle::comptime_handle;
use crate::memory::{
    Device, KnownScope, LoadOrder, MemoryOrder, Operation, StoreOrder, UpdateOrder,
};
use crate::tile::{Tile, TileExpand, TileShape};
use crate::view::atomic::strength;
use crate::view::atomic_span::{AtomicSource, AtomicSpanExpand};
use crate::view::bounds::{Bounds, Policy};
use crate::view::padding::{PadValue, Padding};
use crate::view::reporter::{Reporter, ReporterExpand};
use core::marker::PhantomData;
use cubecl::prelude::*;

/// As [`FlatViewMut`](super::FlatViewMut), over atomics: each element that takes part and is in range is loaded, stored,
/// or combined with what memory holds, in an order at a scope (the device's, unless [`at`](Self::at) says otherwise), so
/// that elements which go to one place all count. In which order they do is not fixed.
///
/// What a call gives of memory is read once, where it stands, and stays in the registers of the units of its group, which
/// stores it.
///
/// ```
/// use cubecl::prelude::*;
/// use girih::prelude::*;
///
/// /// The joint histogram of two lists of bins: counts[a[n], b[n]] += 1.
/// #[cube(launch_unchecked)]
/// fn joint(a: &[i32], b: &[i32], counts: &Tensor<Atomic<u32>>) {
///     let cube = this_cube();
///     let a = TileView::<i32, shape![256]>::of(a).indices(CUBE_POS);
///     let b = TileView::<i32, shape![256]>::of(b).indices(CUBE_POS);
///     let ones = Tile::<u32, shape![256]>::full(1u32);
///     AtomicFlatView::<u32, shape![256]>::of(counts).atomic_add::<Relaxed>(&cube, ones, (&a, &b));
/// }
/// # fn main() {}
/// ```
pub struct AtomicFlatView<'a, E: Scalar, S: TileShape, M: KnownScope = Device> {
    _memory: PhantomData<&'a E>,
    _shape: PhantomData<(S, M)>,
}

impl<E: Scalar, S: TileShape, M: KnownScope> Clone for AtomicFlatView<'_, E, S, M> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<E: Scalar, S: TileShape, M: KnownScope> Copy for AtomicFlatView<'_, E, S, M> {}

/// What an [`AtomicFlatView`] is while the kernel is expanded.
pub struct AtomicFlatViewExpand<E: Numeric, S: TileShape, M: KnownScope = Device> {
    memory: AtomicSpanExpand<E>,
    options: Options<S>,
    _scope: PhantomData<M>,
}
impl<E: Numeric, S: TileShape, M: KnownScope> Clone for AtomicFlatViewExpand<E, S, M> {
    fn clone(&self) -> Self {
        Self {
            memory: self.memory.clone(),
            options: self.options.clone(),
            _scope: PhantomData,
        }
    }
}
impl<E: Numeric, S: TileShape, M: KnownScope> CubeType for AtomicFlatView<'_, E, S, M> {
    type ExpandType = AtomicFlatViewExpand<E, S, M>;
}
comptime_handle!([E: Numeric, S: TileShape, M: KnownScope] AtomicFlatViewExpand<E, S, M>);
options!(AtomicFlatView, AtomicFlatViewExpand, Numeric; [M: KnownScope]);

impl<'a, E: Numeric, S: TileShape> AtomicFlatView<'a, E, S> {
    /// The view of a tensor of atomics, each a scalar.
    #[allow(unused_variables)]
    pub fn of(source: impl AtomicSource<'a, E>) -> Self {
        cubecl::unexpanded!()
    }
    /// Expansion of [`of`](Self::of).
    pub fn __expand_of(_scope: &Scope, memory: AtomicSpanExpand<E>) -> AtomicFlatViewExpand<E, S> {
        AtomicFlatViewExpand {
            memory,
            options: Options::default(),
            _scope: PhantomData,
        }
    }
}

impl<'a, E: Numeric, S: TileShape, M: KnownScope> AtomicFlatView<'a, E, S, M> {
    /// The same view with accesses at another scope; the default is that of the device.
    pub fn at<N: KnownScope>(self) -> AtomicFlatView<'a, E, S, N> {
        cubecl::unexpanded!()
    }
    /// The elements at these indices, loaded once and in this order; `padding` where an element does not take part or is
    /// out of range.
    #[allow(unused_variables)]
    pub fn atomic_load<O: LoadOrder>(
        &self,
        group: &Group,
        padding: impl Padding<E>,
        index: impl FlatIndexPack<S>,
    ) -> Tile<'a, E, S> {
        cubecl::unexpanded!()
    }
    /// Stores the elements of the tile that take part and are in range, in this order, and gives the tile back. Of
    /// elements that go to one place, one is left.
    #[allow(unused_variables)]
    pub fn atomic_store<'t, O: StoreOrder>(
        &self,
        group: &Group,
        tile: Tile<'t, E, S>,
        index: impl FlatIndexPack<S>,
    ) -> Tile<'t, E, S> {
        cubecl::unexpanded!()
    }
}

/// What a call does to each element, and what it calls itself where it refuses.
#[derive(Clone, Copy)]
struct Call {
    name: &'static str,
    operation: Operation,
    order: MemoryOrder,
}

impl<E: Numeric, S: TileShape, M: KnownScope> AtomicFlatViewExpand<E, S, M> {
    /// Expansion of [`AtomicFlatView::at`].
    pub fn __expand_at_method<N: KnownScope>(
        self,
        _scope: &Scope,
    ) -> AtomicFlatViewExpand<E, S, N> {
        AtomicFlatViewExpand {
            memory: self.memory,
            options: self.options,
            _scope: PhantomData,
        }
    }
    /// Expansion of [`AtomicFlatView::atomic_load`].
    pub fn __expand_atomic_load_method<O: LoadOrder>(
        &self,
        scope: &Scope,
        group: &GroupExpand,
        padding: PadValue<E>,
        index: FlatIndexExpand<S>,
    ) -> TileExpand<E, S> {
        let access = self.access(scope, "AtomicFlatView::atomic_load", index);
        let with = strength::<M>(O::ORDER);
        let fill = padding.value(scope);
        access.hold(scope, group, None, fill, &|scope, offset, _| {
            self.memory.atomics.load(scope, offset, with)
        })
    }
    /// Expansion of [`AtomicFlatView::atomic_store`].
    pub fn __expand_atomic_store_method<O: StoreOrder>(
        &self,
        scope: &Scope,
        group: &GroupExpand,
        tile: TileExpand<E, S>,
        index: FlatIndexExpand<S>,
    ) -> TileExpand<E, S> {
        let call = Call {
            name: "AtomicFlatView::atomic_store",
            operation: Operation::Store,
            order: O::ORDER,
        };
        self.meet(scope, group, tile, index, call)
    }

    /// Gives each element to memory, and asks for nothing back.
    fn meet(
        &self,
        scope: &Scope,
        group: &GroupExpand,
        tile: TileExpand<E, S>,
        index: FlatIndexExpand<S>,
        call: Call,
    ) -> TileExpand<E, S> {
        let access = self.access(scope, call.name, index);
        let with = strength::<M>(call.order);
        let atomics = &self.memory.atomics;
        access.store(
            scope,
            group,
            &tile,
            &|scope, offset, value| match call.operation {
                Operation::Store => atomics.store(scope, offset, value, with),
                operation => {
                    atomics.update(scope, offset, value, operation, with);
                }
            },
        );
        tile
    }

    /// Gives each element to memory, and keeps what it held: 0 where memory has no place.
    fn exchange(
        &self,
        scope: &Scope,
        group: &GroupExpand,
        tile: &TileExpand<E, S>,
        index: FlatIndexExpand<S>,
        call: Call,
    ) -> TileExpand<E, S> {
        let access = self.access(scope, call.name, index);
        let with = strength::<M>(call.order);
        let zero = E::__expand_from_int(scope, 0i64.into());
        access.hold(scope, group, Some(tile), zero, &|scope, offset, value| {
            let value = value.expect("an exchange has a tile to give");
            let atomics = &self.memory.atomics;
            atomics.update(scope, offset, value, call.operation, with)
        })
    }

    fn access(
        &self,
        scope: &Scope,
        call: &'static str,
        index: FlatIndexExpand<S>,
    ) -> FlatAccess<E, S> {
        FlatAccess::new(
            scope,
            call,
            self.memory.memory.clone(),
            index,
            &self.options,
        )
    }
}

macro_rules! updates {
    ($($operation:ident, $bound:ident, $method:ident, $expand:ident, $fetch:literal, $doc:expr;)*) => {$(
        impl<'a, E: Numeric, S: TileShape, M: KnownScope> AtomicFlatView<'a, E, S, M> {
            #[doc = $doc]
            #[allow(unused_variables)]
            pub fn $method<'t, O: UpdateOrder>(
                &self,
                group: &Group,
                tile: Tile<'t, E, S>,
                index: impl FlatIndexPack<S>,
            ) -> Tile<'t, E, S>
            where
                E: $bound,
            {
                cubecl::unexpanded!()
            }
        }
        impl<E: Numeric, S: TileShape, M: KnownScope> AtomicFlatViewExpand<E, S, M> {
            #[doc = concat!("Expansion of [`AtomicFlatView::", stringify!($method), "`].")]
            pub fn $expand<O: UpdateOrder>(
                &self,
                scope: &Scope,
                group: &GroupExpand,
                tile: TileExpand<E, S>,
                index: FlatIndexExpand<S>,
            ) -> TileExpand<E, S>
            where
                E: $bound,
            {
                let call = Call {
                    name: concat!("AtomicFlatView::", stringify!($method)),
                    operation: Operation::$operation,
                    order: O::ORDER,
                };
                if $fetch {
                    self.exchange(scope, group, &tile, index, call)
                } else {
                    self.meet(scope, group, tile, index, call)
                }
            }
        }
    )*};
}
macro_rules! every_update {
    ($($operation:ident, $bound:ident, $verb:literal: $atomic:ident $atomic_expand:ident, $fetch:ident $fetch_expand:ident;)*) => {
        updates! {$(
            $operation, $bound, $atomic, $atomic_expand, false,
            concat!($verb, " what memory holds at these indices, where an element takes part and is in range, and gives the tile back.");
            $operation, $bound, $fetch, $fetch_expand, true,
            concat!($verb, " what memory holds at these indices, where an element takes part and is in range, and gives what it held, or 0 elsewhere.");
        )*}
    };
}
every_update! {
    Add, Numeric, "Adds the tile to": atomic_add __expand_atomic_add_method, fetch_add __expand_fetch_add_method;
    Sub, Numeric, "Subtracts the tile from": atomic_sub __expand_atomic_sub_method, fetch_sub __expand_fetch_sub_method;
    Mul, Numeric, "Multiplies by the tile": atomic_mul __expand_atomic_mul_method, fetch_mul __expand_fetch_mul_method;
    Min, Numeric, "Keeps the smaller of the tile and": atomic_min __expand_atomic_min_method, fetch_min __expand_fetch_min_method;
    Max, Numeric, "Keeps the larger of the tile and": atomic_max __expand_atomic_max_method, fetch_max __expand_fetch_max_method;
    And, Int, "Keeps the bitwise and of the tile and": atomic_and __expand_atomic_and_method, fetch_and __expand_fetch_and_method;
    Or, Int, "Keeps the bitwise or of the tile and": atomic_or __expand_atomic_or_method, fetch_or __expand_fetch_or_method;
    Xor, Int, "Keeps the bitwise exclusive or of the tile and": atomic_xor __expand_atomic_xor_method, fetch_xor __expand_fetch_xor_method;
}
updates! {
    Exchange, Numeric, exchange, __expand_exchange_method, true,
    "Stores the tile to memory at these indices, where an element takes part and is in range, and gives what it held, or 0 elsewhere.";
}
