//! [`GatherScatterViewMut`]: stores, combinations, and loads that are done at once.

use super::super::duplicates::{Rivals, Winner};
use super::super::index::{ChunkIndexExpand, GatherDim, IndexPack};
use super::super::padding::{PadValue, Padding};
use super::super::span::{SpanMut, SpanMutExpand, SpanSourceMut};
use super::super::stored::{StoredTileExpand, Widens};
use super::super::transfer::Sink;
use super::{GatherScatterViewMut, GatherScatterViewMutExpand};
use crate::coop::{Associative, Group, GroupExpand};
use crate::tile::{Packet, Tile, TileExpand, TileShape, join, lane, width};
use cubecl::prelude::*;

impl<'a, E: Scalar, S: TileShape, const DIM: usize> GatherScatterViewMut<'a, E, S, DIM> {
    /// The view of a tensor, or of a slice as a tensor of rank 1.
    #[allow(unused_variables)]
    pub fn of(source: impl SpanSourceMut<'a, E>) -> Self
    where
        S: GatherDim<DIM>,
    {
        cubecl::unexpanded!()
    }
    /// The memory viewed.
    pub fn span(&self) -> SpanMut<'a, E> {
        cubecl::unexpanded!()
    }
    /// The same view with a rule for elements of one tile that go to one place, a comptime value; the default is
    /// [`Winner::Any`].
    #[allow(unused_variables)]
    pub fn keep(self, winner: Winner) -> Self {
        cubecl::unexpanded!()
    }
    /// The tile at these indices, read now and kept in registers. All of it is promised to be in range; an element that
    /// is not is undefined behaviour.
    #[allow(unused_variables)]
    pub fn load(&self, group: &Group, index: impl IndexPack<S, DIM>) -> Tile<'static, E, S>
    where
        E: Numeric,
    {
        cubecl::unexpanded!()
    }
    /// The tile at these indices, `padding` where an element is out of range, read now and kept in registers.
    #[allow(unused_variables)]
    pub fn load_masked(
        &self,
        group: &Group,
        padding: impl Padding<E>,
        index: impl IndexPack<S, DIM>,
    ) -> Tile<'static, E, S>
    where
        E: Numeric,
    {
        cubecl::unexpanded!()
    }
    /// Stores the tile at these indices and gives it back. All of it is promised to be in range; an element that is
    /// not is undefined behaviour.
    ///
    /// Elements of another type are converted where that loses nothing ([`Widens`]); the tile given back is the one
    /// stored.
    #[allow(unused_variables)]
    pub fn store<'t>(
        &mut self,
        group: &Group,
        tile: Tile<'t, impl Widens<E>, S>,
        index: impl IndexPack<S, DIM>,
    ) -> Tile<'t, E, S> {
        cubecl::unexpanded!()
    }
    /// Stores the elements of the tile that are in range, and gives it back; converts them as [`store`](Self::store) does.
    #[allow(unused_variables)]
    pub fn store_masked<'t>(
        &mut self,
        group: &Group,
        tile: Tile<'t, impl Widens<E>, S>,
        index: impl IndexPack<S, DIM>,
    ) -> Tile<'t, E, S> {
        cubecl::unexpanded!()
    }
    /// Combines what memory holds at these indices with the tile, element by element in the tile's row-major order, so
    /// that all elements that go to one place count and the result is the same in every run. All of it is promised to be
    /// in range; an element that is not is undefined behaviour.
    ///
    /// Each unit reads for a place the elements of the whole tile that go there, so that the tile must be one that any
    /// unit can read: not one held in registers. No other tile may go to the same places at the same time: between tiles
    /// nothing is atomic.
    ///
    /// ```
    /// use cubecl::prelude::*;
    /// use girih::coop::Sum;
    /// use girih::prelude::*;
    ///
    /// /// One cube adds 64 values to the sums of their bins, in order.
    /// #[cube(launch_unchecked)]
    /// fn add(bins: &[u32], values: &[f32], sums: &mut [f32]) {
    ///     let cube = this_cube();
    ///     let values = TileView::<f32, shape![64]>::of(values).load_masked(&cube, Zero, 0);
    ///     let bins = TileView::<u32, shape![64]>::of(bins).indices(0);
    ///     GatherScatterViewMut::<f32, shape![64], 0>::of(sums).combine_masked::<Sum>(&cube, values, &bins);
    /// }
    /// # fn main() {}
    /// ```
    #[allow(unused_variables)]
    pub fn combine<'t, O: Associative<E>>(
        &mut self,
        group: &Group,
        tile: Tile<'t, impl Widens<E>, S>,
        index: impl IndexPack<S, DIM>,
    ) -> Tile<'t, E, S> {
        cubecl::unexpanded!()
    }
    /// As [`combine`](Self::combine), of the elements that are in range.
    #[allow(unused_variables)]
    pub fn combine_masked<'t, O: Associative<E>>(
        &mut self,
        group: &Group,
        tile: Tile<'t, impl Widens<E>, S>,
        index: impl IndexPack<S, DIM>,
    ) -> Tile<'t, E, S> {
        cubecl::unexpanded!()
    }

    /// Expansion of [`of`](Self::of).
    pub fn __expand_of(
        scope: &Scope,
        source: SpanMutExpand<E>,
    ) -> GatherScatterViewMutExpand<E, S, DIM> {
        GatherScatterViewMutExpand::new(scope, source.0)
    }
}

impl<E: Scalar, S: TileShape, const DIM: usize> GatherScatterViewMutExpand<E, S, DIM> {
    /// Expansion of [`GatherScatterViewMut::span`].
    pub fn __expand_span_method(&self, _scope: &Scope) -> SpanMutExpand<E> {
        SpanMutExpand(self.region.memory())
    }
    /// Expansion of [`GatherScatterViewMut::keep`].
    pub fn __expand_keep_method(mut self, _scope: &Scope, winner: Winner) -> Self {
        self.options.winner = winner;
        self
    }
    /// Expansion of [`GatherScatterViewMut::load`].
    pub fn __expand_load_method(
        &self,
        scope: &Scope,
        group: &GroupExpand,
        index: ChunkIndexExpand<S, DIM>,
    ) -> TileExpand<E, S>
    where
        E: Numeric,
    {
        self.read(scope, group, index, None)
    }
    /// Expansion of [`GatherScatterViewMut::load_masked`].
    pub fn __expand_load_masked_method(
        &self,
        scope: &Scope,
        group: &GroupExpand,
        padding: PadValue<E>,
        index: ChunkIndexExpand<S, DIM>,
    ) -> TileExpand<E, S>
    where
        E: Numeric,
    {
        self.read(scope, group, index, Some(padding.value(scope)))
    }
    /// Expansion of [`GatherScatterViewMut::store`].
    pub fn __expand_store_method(
        &mut self,
        scope: &Scope,
        group: &GroupExpand,
        tile: StoredTileExpand<E, S>,
        index: ChunkIndexExpand<S, DIM>,
    ) -> TileExpand<E, S> {
        self.scatter(scope, group, tile, index, false)
    }
    /// Expansion of [`GatherScatterViewMut::store_masked`].
    pub fn __expand_store_masked_method(
        &mut self,
        scope: &Scope,
        group: &GroupExpand,
        tile: StoredTileExpand<E, S>,
        index: ChunkIndexExpand<S, DIM>,
    ) -> TileExpand<E, S> {
        self.scatter(scope, group, tile, index, true)
    }
    /// Expansion of [`GatherScatterViewMut::combine`].
    pub fn __expand_combine_method<O: Associative<E>>(
        &mut self,
        scope: &Scope,
        group: &GroupExpand,
        tile: StoredTileExpand<E, S>,
        index: ChunkIndexExpand<S, DIM>,
    ) -> TileExpand<E, S> {
        self.join::<O>(scope, group, tile, index, false)
    }
    /// Expansion of [`GatherScatterViewMut::combine_masked`].
    pub fn __expand_combine_masked_method<O: Associative<E>>(
        &mut self,
        scope: &Scope,
        group: &GroupExpand,
        tile: StoredTileExpand<E, S>,
        index: ChunkIndexExpand<S, DIM>,
    ) -> TileExpand<E, S> {
        self.join::<O>(scope, group, tile, index, true)
    }

    fn read(
        &self,
        scope: &Scope,
        group: &GroupExpand,
        index: ChunkIndexExpand<S, DIM>,
        fill: Option<NativeExpand<E>>,
    ) -> TileExpand<E, S>
    where
        E: Numeric,
    {
        const CALL: &str = "GatherScatterViewMut::load";
        let access = index.access(scope, &self.options.rules(fill.is_some()));
        let region = self.region.of_rank(scope, access.axes.len());
        access.read_now(scope, CALL, group, &region, fill, self.options.hints)
    }

    fn scatter(
        &self,
        scope: &Scope,
        group: &GroupExpand,
        tile: StoredTileExpand<E, S>,
        index: ChunkIndexExpand<S, DIM>,
        masked: bool,
    ) -> TileExpand<E, S> {
        let access = index.access(scope, &self.options.rules(masked));
        let region = self.region.of_rank(scope, access.axes.len());
        let memory = self.region.memory();
        let sink = Sink {
            call: "GatherScatterViewMut::store",
            masked,
            rivals: self.options.winner.rivals(),
            hints: self.options.hints,
            write: &|scope, offset, value| memory.write(scope, offset, value),
        };
        tile.given(scope, |given| {
            access.store(scope, group, &region, given, sink);
        })
    }

    fn join<O: Associative<E>>(
        &self,
        scope: &Scope,
        group: &GroupExpand,
        tile: StoredTileExpand<E, S>,
        index: ChunkIndexExpand<S, DIM>,
        masked: bool,
    ) -> TileExpand<E, S> {
        let access = index.access(scope, &self.options.rules(masked));
        let region = self.region.of_rank(scope, access.axes.len());
        let memory = self.region.memory();
        tile.given(scope, |given| {
            assert!(
                !given.is_held,
                "girih: GatherScatterViewMut::combine: a tile that units hold in registers; one that any unit can read \
                 is needed: store it, and load it from there"
            );
            let sink = Sink {
                call: "GatherScatterViewMut::combine",
                masked,
                rivals: Some(Rivals::Combined {
                    packets: given.packets,
                    combine: &|scope, a, b| combined::<E, O>(scope, a, b),
                }),
                hints: self.options.hints,
                write: &|scope, offset, value| memory.write(scope, offset, value),
            };
            access.store(scope, group, &region, given, sink);
        })
    }
}

/// The elements of two packets, combined lane by lane.
fn combined<E: Scalar, O: Associative<E>>(
    scope: &Scope,
    first: Packet<E>,
    second: Packet<E>,
) -> Packet<E> {
    let only = |packet: Packet<E>| NativeExpand::<E>::from(packet.read_value(scope));
    let lanes: Vec<_> = match width(scope, &first) {
        1 => vec![O::__expand_combine(scope, only(first), only(second))],
        width => (0..width)
            .map(|index| {
                let (first, second) = (lane(scope, first, index), lane(scope, second, index));
                O::__expand_combine(scope, first, second)
            })
            .collect(),
    };
    join(scope, &lanes)
}
