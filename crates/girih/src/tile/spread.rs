//! How a tile is spread over the units of a group.

use super::fragments::Blocks;
use super::{Grain, Packet};
use crate::coop::{GroupExpand, Members};
use crate::layout::{
    ComposedLayout, IntTuple, Integer, KernelLayoutExpand, Layout, Number, Swizzle,
    ThreadValueLayout, digits,
};
use core::sync::atomic::{AtomicU64, Ordering};
use cubecl::frontend::branch;
use cubecl::prelude::*;

/// A loop over at most this many packets per unit is unrolled, so that its loads are all in flight together.
const UNROLL: u64 = 4;

/// Gives the packet of a place.
pub(crate) type Fetch<'a, E> = dyn Fn(&Scope, &Place<'_>) -> Packet<E> + 'a;
/// Takes the packet of a place.
pub(crate) type Store<'a, E> = dyn Fn(&Scope, &Place<'_>, Packet<E>) + 'a;

/// Where a packet is in its tile: along the last dimension at a multiple of the packet's width.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    /// Tile coordinates of its first element, outermost first.
    pub at: &'a [NativeExpand<u32>],
    /// The walk that comes by; `None` where any unit may ask for any element.
    pub walk: Option<Walk>,
    /// Tells this place from all others: tiles that are asked twice for one place compute once.
    pub id: u64,
}

/// A unit's walk over the packets that it holds.
#[derive(Clone, Copy)]
pub(crate) struct Walk {
    step: Number,
    pub holders: Holders,
}

/// Who holds which elements of a tile: tiles of one shape and one width of packets are held alike where this is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Holders {
    /// How many units share the tile.
    pub units: u32,
    /// Which units they are.
    pub members: Members,
    pub turns: Turns,
}

/// In which turn units take the packets of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turns {
    /// Packet `v`, in row-major order, belongs to unit `v % units`.
    Striped,
    /// The same of a tile that is held for products, where planes do not hold blocks as fragments of matrix instructions. What
    /// units hold so is not combined with what they hold striped on any device, since it cannot be on those that have these.
    Products(Option<Blocks>),
}

impl<'a> Place<'a> {
    /// The place of these coordinates, which any unit may ask for.
    pub(crate) fn anywhere(at: &'a [NativeExpand<u32>]) -> Self {
        Self::new(at, None)
    }

    fn new(at: &'a [NativeExpand<u32>], walk: Option<Walk>) -> Self {
        static PLACES: AtomicU64 = AtomicU64::new(0);
        Self {
            at,
            walk,
            id: PLACES.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// The step at which the walk is.
    pub(crate) fn step_of_walk(&self, scope: &Scope) -> NativeExpand<usize> {
        let walk = self
            .walk
            .expect("a packet in registers is reached by a walk alone");
        walk.step.wide(scope)
    }
}

/// Which elements of a tile each unit of a group holds.
///
/// A tile is cut into packets, in row-major order; a thread-value layout says which element is which lane of which
/// packet, and so how wide an access moves a packet. Unless a tile is held as fragments, packet `v` is step `v / units` of unit
/// `v % units`, so that neighbouring units touch neighbouring addresses.
pub(crate) struct Spread {
    /// The tile's extents, outermost first.
    dims: Vec<usize>,
    width: usize,
    units: u32,
    turns: Turns,
    /// From (packet, lane) to the linear coordinate in the tile with its dimensions in reverse: its first mode moves
    /// fastest, so that this is the row-major position.
    packets: ThreadValueLayout,
    /// From (unit, step) to the packet.
    packet_of: Layout,
    /// Packets that a unit is asked to have in flight at a time.
    in_flight: Option<u64>,
}

impl Spread {
    /// The spread of a tile over `units` units in packets of `width` elements.
    pub(crate) fn new(dims: &[usize], units: usize, width: usize) -> Self {
        Self::of(dims, units, width, Turns::Striped)
    }

    /// The same, where units take their packets in these turns. Fragments are in packets of [`Blocks::WIDTH`].
    pub(crate) fn of(dims: &[usize], units: usize, width: usize, turns: Turns) -> Self {
        let packets = dims.iter().product::<usize>() / width;
        let tile = IntTuple::tuple(dims.iter().rev().map(|&extent| integer(extent)));
        let pair = |a, b| IntTuple::tuple([integer(a), integer(b)]);
        let lanes = Layout::new(pair(packets, width), pair(width, 1));
        let of_packets = lanes.and_then(|lanes| ThreadValueLayout::new(tile, lanes));
        let packet_of = match turns {
            Turns::Striped | Turns::Products(None) => {
                Layout::new(pair(units, packets.div_ceil(units)), pair(1, units))
                    .expect("a tile has fewer than 2^64 elements")
            }
            Turns::Products(Some(blocks)) => blocks.packet_of(dims),
        };
        Self {
            dims: dims.to_vec(),
            width,
            units: units as u32,
            turns,
            packets: of_packets.expect("whole packets stay within the tile"),
            packet_of,
            in_flight: None,
        }
    }

    /// The spread of a tile of this grain whose elements are used one by one, of any packet that is a part of a row.
    pub(crate) fn of_lone(dims: &[usize], units: usize, grain: Grain) -> Self {
        let mut rows = vec![grain.width() as u64; dims.len()];
        rows[dims.len() - 1] = 1;
        let packets = Self::of(dims, units, grain.width(), grain.turns());
        match packets.is_whole_vectors(&rows, 0) {
            true => packets,
            false => Self::new(dims, units, 1),
        }
    }

    /// The same spread, walked with so many packets of a unit in flight at a time, where units share the tile evenly.
    pub(crate) fn in_flight(self, packets: Option<u32>) -> Self {
        Self {
            in_flight: packets.map(u64::from),
            ..self
        }
    }

    /// One packet of `width` elements along the last of `rank` dimensions, held by one unit.
    pub(crate) fn packet(rank: usize, width: usize) -> Self {
        let mut dims = vec![1; rank];
        dims[rank - 1] = width;
        Self::new(&dims, 1, width)
    }

    /// Elements of a packet.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Whether every packet is one aligned vector of a memory in which the tile's first element is at `start`, and one
    /// step along each dimension leads `strides` elements on, outermost first.
    pub(crate) fn is_whole_vectors(&self, strides: &[u64], start: u64) -> bool {
        let strides = strides
            .iter()
            .rev()
            .map(|&stride| Integer::Static(stride).into());
        let memory = Layout::new(self.packets.tile_shape(), IntTuple::tuple(strides))
            .and_then(|layout| ComposedLayout::new(Swizzle::IDENTITY, start, layout));
        let common = memory.and_then(|memory| self.packets.vector_width(memory));
        // Packets that go on from row to row may be no layout of memory: then they are no vectors either.
        self.is_whole() && common.is_ok_and(|common| common.is_multiple_of(self.width as u64))
    }

    /// Whether the packets hold all of the tile.
    fn is_whole(&self) -> bool {
        let tile: usize = self.dims.iter().product();
        self.packets.layout().size().value() == tile as u64
    }

    /// The tile's extents, outermost first.
    pub(crate) fn dims(&self) -> &[usize] {
        &self.dims
    }

    /// Who holds a tile that is spread so over the units of a group.
    pub(crate) fn holders(&self, group: &GroupExpand) -> Holders {
        Holders {
            units: self.units,
            members: group.members(),
            turns: self.turns,
        }
    }

    /// Packets that a unit holds at most.
    pub(crate) fn steps(&self) -> u64 {
        let steps = self.packet_of.modes().nth(1);
        steps.map_or(0, |steps| steps.size().value())
    }

    /// Walks the packets of this unit: fetches each, then hands it to `store`. Up to `unroll` steps are unrolled, or as
    /// many as hide the latency of memory.
    pub(crate) fn walk<E: Scalar>(
        &self,
        scope: &Scope,
        group: &GroupExpand,
        unroll: Option<u64>,
        fetch: &Fetch<'_, E>,
        store: &Store<'_, E>,
    ) {
        let unroll = unroll.unwrap_or(UNROLL);
        let steps = self.steps();
        let exact = self.is_exact();
        let holders = self.holders(group);
        let walk = |step: Number| Walk { step, holders };
        let together = |scope: &Scope, steps: &mut dyn Iterator<Item = Number>| {
            let at: Vec<_> = steps
                .map(|step| {
                    let at = self.coordinates(scope, self.held(scope, group, step));
                    (at, Some(walk(step)))
                })
                .collect();
            let places = at.iter().map(|(at, walk)| Place::new(at, *walk));
            let values: Vec<_> = places.map(|place| (place, fetch(scope, &place))).collect();
            for (place, value) in values {
                store(scope, &place, value);
            }
        };
        if exact && steps <= self.in_flight.unwrap_or(UNROLL) {
            together(scope, &mut (0..steps).map(Number::Known));
            return;
        }
        if let (true, Some(depth)) = (exact, self.in_flight) {
            let rounds = steps / depth;
            let range = RangeExpand::new(0u32.into(), (rounds as u32).into());
            branch::for_expand(scope, range, steps <= unroll, |scope, round| {
                let round = Number::below(round, rounds);
                let first = round.mul(scope, Number::Known(depth));
                let step = |index| first.add(scope, Number::Known(index));
                together(scope, &mut (0..depth).map(step));
            });
            together(scope, &mut (rounds * depth..steps).map(Number::Known));
            return;
        }
        let range = RangeExpand::new(0u32.into(), (steps as u32).into());
        branch::for_expand(scope, range, steps <= unroll, |scope, step| {
            let step = Number::below(step, steps);
            let packet = self.held(scope, group, step);
            let body = |scope: &Scope| {
                let at = self.coordinates(scope, packet);
                let place = Place::new(&at, Some(walk(step)));
                let value = fetch(scope, &place);
                store(scope, &place, value);
            };
            if exact {
                body(scope);
            } else {
                let held = self.is_there(scope, group, packet);
                branch::if_expand(scope, held, body);
            }
        });
    }

    /// Whether every unit holds a packet at every step.
    fn is_exact(&self) -> bool {
        let packets = self.packets.threads().size().value();
        packets == u64::from(self.units) * self.steps()
    }

    /// Whether this unit holds a packet at a step at which this is its number.
    fn is_there(&self, scope: &Scope, group: &GroupExpand, packet: Number) -> NativeExpand<bool> {
        match self.turns {
            Turns::Striped | Turns::Products(None) => {
                let packets = self.packets.threads().size().value();
                packet.is_below(scope, Number::Known(packets))
            }
            Turns::Products(Some(blocks)) => Number::below(group.rank(), self.units.into())
                .is_below(scope, Number::Known(blocks.units())),
        }
    }

    /// The packet that this unit holds at a step.
    fn held(&self, scope: &Scope, group: &GroupExpand, step: Number) -> Number {
        let unit = Number::below(group.rank(), self.units.into());
        KernelLayoutExpand::known(&self.packet_of).number(scope, [unit, step])
    }

    /// Tile coordinates of the first element of a packet, outermost first.
    fn coordinates(&self, scope: &Scope, packet: Number) -> Vec<NativeExpand<u32>> {
        let lanes = KernelLayoutExpand::known(self.packets.layout());
        let position = lanes.number(scope, [packet, Number::Known(0)]);
        coordinates(scope, &self.dims, position)
    }
}

/// The coordinates of a row-major position, outermost first.
pub(super) fn coordinates(
    scope: &Scope,
    dims: &[usize],
    position: Number,
) -> Vec<NativeExpand<u32>> {
    let extents = dims.iter().rev();
    let extents: Vec<_> = extents
        .map(|&extent| Number::Known(extent as u64))
        .collect();
    let digits = digits(scope, position, &extents);
    digits
        .into_iter()
        .rev()
        .map(|digit| digit.narrow(scope))
        .collect()
}

pub(super) fn integer(value: usize) -> IntTuple {
    Integer::Static(value as u64).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_units_hold_neighbouring_packets() {
        let spread = Spread::new(&[4, 16], 8, 4);
        // Unit 5's second packet: elements 52 to 55 in row-major order, of which a row has 16.
        let packet = spread.packet_of.index((5, 1)).unwrap().value();
        for lane in 0..4 {
            assert_eq!(
                spread.packets.coord(packet, lane).unwrap(),
                (4 + lane, 3).into()
            );
        }
    }

    #[test]
    fn the_last_step_may_have_packets_for_some_units_only() {
        let spread = Spread::new(&[3, 5], 4, 1);
        assert_eq!(spread.packets.threads().size().value(), 15);
        assert_eq!(spread.packet_of.to_string(), "(_4,_4):(_1,_4)");
    }

    #[test]
    fn a_packet_is_a_vector_where_rows_are_long_and_aligned() {
        let spread = Spread::new(&[4, 16], 8, 4);
        assert!(spread.is_whole_vectors(&[20, 1], 0));
        assert!(spread.is_whole_vectors(&[4, 1], 8));
        // However many units share a row.
        assert!(Spread::new(&[5, 12], 256, 4).is_whole_vectors(&[4, 1], 0));
        assert!(Spread::packet(2, 4).is_whole_vectors(&[4, 1], 0));
        // Rows, starts or lanes that are not aligned, packets that go on in the next row, a row shorter than a packet.
        assert!(!spread.is_whole_vectors(&[18, 1], 0));
        assert!(!spread.is_whole_vectors(&[20, 1], 2));
        assert!(!spread.is_whole_vectors(&[1, 20], 0));
        assert!(!Spread::new(&[4, 6], 6, 4).is_whole_vectors(&[4, 1], 0));
        assert!(!Spread::new(&[1, 2], 6, 4).is_whole_vectors(&[4, 1], 0));
        assert!(!Spread::new(&[6], 6, 4).is_whole_vectors(&[1], 0));
    }
}
