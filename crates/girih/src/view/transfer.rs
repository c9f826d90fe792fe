//! Tiles from and to memory: the one place where views read and write.

use super::access::{Access, Region};
use super::duplicates::{Rivals, Site};
use super::options::Hints;
use crate::coop::GroupExpand;
use crate::tile::{
    Grain, Held, Packet, Place, Spread, TileExpand, TileShape, Turns, join, lane, splat, when,
};
use cubecl::frontend::branch;
use cubecl::prelude::*;
use std::cell::RefCell;

/// Writes the vector (or lone element) at an offset, in vectors.
type Write<'a, E> = dyn Fn(&Scope, NativeExpand<usize>, Packet<E>) + 'a;

/// Where a tile goes, and how.
pub(super) struct Sink<'a, E: Scalar> {
    /// The call, for what it refuses.
    pub call: &'static str,
    /// Whether elements out of range are left out, or promised not to be there.
    pub masked: bool,
    /// Which of several elements that go to one place is written (`None`: each of them, in no order).
    pub rivals: Option<Rivals<'a, E>>,
    pub hints: Hints,
    /// What is done with each vector.
    pub write: &'a Write<'a, E>,
}

/// Takes what a tile has for the vector (or lone element) at an offset, and gives what memory held.
type Exchange<'a, E> = dyn Fn(&Scope, NativeExpand<usize>, Option<Packet<E>>) -> Packet<E> + 'a;

/// Where a tile comes from that is read once, and how.
pub(super) struct Source<'a, E: Scalar> {
    /// The call, for what it refuses.
    pub call: &'static str,
    /// What is given for places out of range, or a promise that there are none.
    pub fill: Option<NativeExpand<E>>,
    pub hints: Hints,
    /// What is done with each vector.
    pub exchange: &'a Exchange<'a, E>,
}

/// Gives the packet of a place in a tile.
pub(super) type Packets<'a, E> = dyn Fn(&Scope, &Place<'_>, usize) -> Packet<E> + 'a;

/// What a store needs of the tile that it spreads.
pub(super) struct Given<'a, E: Scalar> {
    pub dims: Vec<usize>,
    pub grain: Grain,
    pub unroll: Option<u64>,
    /// Whether only the unit that holds an element can read it.
    pub is_held: bool,
    pub packets: &'a Packets<'a, E>,
}

impl Access {
    /// The packet at these coordinates; `fill` where it is out of range, or a promise that it never is.
    pub(super) fn fetch<E: Scalar>(
        &self,
        scope: &Scope,
        region: &Region<E>,
        at: &[NativeExpand<u32>],
        width: usize,
        fill: Option<NativeExpand<E>>,
    ) -> Packet<E> {
        if width == 1 {
            return self.read(scope, region, at, width, fill);
        }
        let lanes = |scope: &Scope| {
            let lanes: Vec<_> = (0..width)
                .map(|index| {
                    let one = self.fetch(scope, region, &shifted(scope, at, index), 1, fill);
                    NativeExpand::<E>::from(one.read_value(scope))
                })
                .collect();
            join(scope, &lanes)
        };
        let vector = |scope: &Scope| self.read(scope, region, at, width, fill);
        let packet = Spread::packet(at.len(), width);
        match (
            region.width() == width,
            self.whole_vectors(&packet, at.len()),
        ) {
            (true, Some(true)) => vector(scope),
            (false, _) | (true, Some(false)) => lanes(scope),
            (true, None) => {
                let misalignment = self.misalignment(scope, width);
                let aligned = misalignment.__expand_eq_method(scope, &0usize.into());
                when(scope, aligned, vector, lanes)
            }
        }
    }

    /// The element at these coordinates, or 0 where it is out of range, and whether it was in range.
    pub(super) fn fetch_present<E: Numeric>(
        &self,
        scope: &Scope,
        region: &Region<E>,
        at: &[NativeExpand<u32>],
    ) -> (Packet<E>, Option<NativeExpand<bool>>) {
        let place = self.locate(scope, region, at);
        let read = |scope: &Scope| region.read_one(scope, &place.elements);
        let value = match place.in_range {
            Some(in_range) => when(scope, in_range, read, |scope| {
                splat(scope, E::__expand_from_int(scope, 0i64.into()), 1)
            }),
            None => read(scope),
        };
        (value, place.in_range)
    }

    /// The lone element at these coordinates, or the whole vector of memory.
    fn read<E: Scalar>(
        &self,
        scope: &Scope,
        region: &Region<E>,
        at: &[NativeExpand<u32>],
        width: usize,
        fill: Option<NativeExpand<E>>,
    ) -> Packet<E> {
        let place = self.locate(scope, region, at);
        let one = |scope: &Scope| region.read_one(scope, &place.elements);
        let read = |scope: &Scope| match (width, place.moved) {
            (1, _) => one(scope),
            (_, None) => region.read(scope, &place.elements),
            // All of the vector was moved to one element.
            (_, Some(moved)) => {
                let all_alike =
                    |scope: &Scope| splat(scope, one(scope).read_value(scope).into(), width);
                when(scope, moved, all_alike, |scope| {
                    region.read(scope, &place.elements)
                })
            }
        };
        match (fill, place.in_range) {
            (Some(fill), Some(in_range)) => {
                when(scope, in_range, read, |scope| splat(scope, fill, width))
            }
            _ => read(scope),
        }
    }

    /// Spreads the tile over the units of the group, and hands the sink what each of them holds.
    pub(super) fn store<E: Scalar>(
        &self,
        scope: &Scope,
        group: &GroupExpand,
        region: &Region<E>,
        tile: &Given<'_, E>,
        sink: Sink<'_, E>,
    ) {
        if tile.dims.contains(&0) {
            return;
        }
        self.refuse_moved_vectors(sink.call, region);
        let spread = self.spread(sink.call, region, &tile.dims, group, tile.grain);
        let spread = spread.in_flight(sink.hints.latency);
        spread.walk(
            scope,
            group,
            tile.unroll,
            &|scope, place| (tile.packets)(scope, place, spread.width()),
            &|scope, place, value| self.commit(scope, region, place.at, value, &tile.dims, &sink),
        );
    }

    /// Spreads the tile over the units of the group, gives each place of memory what the tile has for it (if there is a
    /// tile), and keeps what comes back in registers: `fill` where the place is out of range.
    pub(super) fn hold<E: Numeric, S: TileShape>(
        &self,
        scope: &Scope,
        group: &GroupExpand,
        region: &Region<E>,
        tile: Option<&Given<'_, E>>,
        source: Source<'_, E>,
    ) -> TileExpand<E, S> {
        let dims = S::__expand_dims(scope);
        self.refuse_moved_vectors(source.call, region);
        let grain = Grain::free(region.width());
        let spread = self.spread(source.call, region, &dims, group, grain);
        let spread = spread.in_flight(source.hints.latency);
        let held = RefCell::new(Held::new(scope, source.call, &spread, group));
        if !dims.contains(&0) {
            spread.walk(
                scope,
                group,
                Held::<E>::unroll(scope),
                &|scope, place| {
                    let given = tile.map(|tile| (tile.packets)(scope, place, region.width()));
                    let to = self.locate(scope, region, place.at);
                    let read = |scope: &Scope| {
                        (source.exchange)(scope, region.offset(scope, &to.elements), given)
                    };
                    match (source.fill, to.in_range) {
                        (Some(fill), Some(in_range)) => when(scope, in_range, read, |scope| {
                            splat(scope, fill, region.width())
                        }),
                        _ => read(scope),
                    }
                },
                &|scope, place, value| held.borrow_mut().set(scope, place, value),
            );
        }
        TileExpand::held(held.into_inner())
    }

    /// Reads the tile at once, into the registers of the units of the group: `fill` where a place is out of range.
    pub(super) fn read_now<E: Numeric, S: TileShape>(
        &self,
        scope: &Scope,
        call: &'static str,
        group: &GroupExpand,
        region: &Region<E>,
        fill: Option<NativeExpand<E>>,
        hints: Hints,
    ) -> TileExpand<E, S> {
        let dims = S::__expand_dims(scope);
        let units = group.holders(call) as usize;
        let vectors = Spread::new(&dims, units, region.width());
        let spread = match self.whole_vectors(&vectors, dims.len()) {
            Some(true) => vectors,
            _ => Spread::new(&dims, units, 1),
        };
        let spread = spread.in_flight(hints.latency);
        let held = RefCell::new(Held::new(scope, call, &spread, group));
        if !dims.contains(&0) {
            spread.walk(
                scope,
                group,
                Held::<E>::unroll(scope),
                &|scope, place| self.fetch(scope, region, place.at, spread.width(), fill),
                &|scope, place, value| held.borrow_mut().set(scope, place, value),
            );
        }
        TileExpand::held(held.into_inner())
    }

    /// Hands the sink's `write` the offset of each vector (or lone element) that the packet covers and its value, where
    /// it is in range (if that is asked) or as promised.
    fn commit<E: Scalar>(
        &self,
        scope: &Scope,
        region: &Region<E>,
        at: &[NativeExpand<u32>],
        value: Packet<E>,
        dims: &[usize],
        sink: &Sink<'_, E>,
    ) {
        let width = crate::tile::width(scope, &value);
        if region.width() == 1 && width > 1 {
            for index in 0..width {
                let one = join(scope, &[lane(scope, value, index)]);
                let at = shifted(scope, at, index);
                self.commit(scope, region, &at, one, dims, sink);
            }
            return;
        }
        let place = self.locate(scope, region, at);
        let write = |scope: &Scope| {
            let write = |scope: &Scope, value| {
                (sink.write)(scope, region.offset(scope, &place.elements), value);
            };
            match &sink.rivals {
                None => write(scope, value),
                Some(rivals) => {
                    let site = Site {
                        access: self,
                        region,
                        at,
                        dims,
                        elements: &place.elements,
                    };
                    rivals.settle(scope, &site, value, &write);
                }
            }
        };
        match place.in_range {
            Some(in_range) if sink.masked => branch::if_expand(scope, in_range, write),
            _ => write(scope),
        }
    }

    /// How to spread a tile that is stored and gives packets of this grain.
    ///
    /// Vectors are written whole, since two units may not write lanes of one: a tile that cannot is refused.
    fn spread<E: Scalar>(
        &self,
        call: &str,
        region: &Region<E>,
        dims: &[usize],
        group: &GroupExpand,
        grain: Grain,
    ) -> Spread {
        let units = group.holders(call) as usize;
        if region.width() == 1 {
            return Spread::of_lone(dims, units, grain);
        }
        let is_of_products = grain.turns() != Turns::Striped;
        assert!(
            !is_of_products || region.width() == grain.width(),
            "girih: {call}: a tile of extents {dims:?} that is held for products, in packets of {} elements, stored to vectors \
             of {}; memory of scalars or of the same vectors is needed, or `share` it first",
            grain.width(),
            region.width()
        );
        let vectors = Spread::of(dims, units, region.width(), grain.turns());
        assert!(
            self.whole_vectors(&vectors, dims.len()) == Some(true),
            "girih: {call}: a tile of extents {dims:?} stored to vectors of {} elements; the last axis must be a run \
             of the tile's last dimension, of whole vectors from a start that is known to be a multiple of them \
             (a constant, or `chunk(i)`), or the tensor one of scalars",
            region.width()
        );
        vectors
    }

    /// A vector of which all elements go to one place cannot be accessed as one.
    fn refuse_moved_vectors<E: Scalar>(&self, call: &str, region: &Region<E>) {
        assert!(
            region.width() == 1 || !self.is_clamped(),
            "girih: {call}: Bounds::Clamp along the last axis of vectors of {} elements, of which it would move all to \
             one place; another rule there is needed, as `bounds([..])` gives, or a tensor of scalars",
            region.width()
        );
    }
}

/// These coordinates, `lanes` further along the last dimension.
fn shifted(scope: &Scope, at: &[NativeExpand<u32>], lanes: usize) -> Vec<NativeExpand<u32>> {
    let mut at = at.to_vec();
    if let Some(last) = at.last_mut() {
        *last = last.__expand_add_method(scope, (lanes as u32).into());
    }
    at
}
