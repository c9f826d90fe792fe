//! [`Tile`].

use super::spread::Turns;
use super::{Held, Packet, Place, TileShape};
use crate::handle::comptime_handle;
use core::cell::RefCell;
use core::marker::PhantomData;
use cubecl::prelude::*;
use pliron::basic_block::BasicBlock;
use pliron::context::Ptr;
use std::rc::Rc;

/// A value of `S`'s extents with elements of type `E`, spread over a group of units.
///
/// A tile is one of three things:
///
/// | a tile is | from | its elements | who may ask for them |
/// |---|---|---|---|
/// | deferred | a load, an operation on tiles, [`full`](Tile::full), [`iota`](Tile::iota) | are computed where the tile is used, each time that it is | any unit |
/// | held | [`hold`](Tile::hold), what an atomic access gives | are in the registers of the units of a group | the unit that holds the element |
/// | shared | [`share`](Tile::share), what a reduction or a scan gives | are in memory that the units of a group share | any unit of the group |
///
/// A deferred tile is a function from its coordinates to elements. Data that passes from a load to a store goes through
/// registers one packet at a time, whatever the tile's extents: no register array, no unrolling. The lifetime is that of
/// the memory read, so the borrow checker keeps a deferred read from moving past a write by the same unit. A tile that
/// is used in two calls is fetched twice; within one expression, as `x * x`, it is fetched once.
///
/// What an atomic access gives is read once, in the order that it names: such a tile is held by the group that asked,
/// and is stored by the same group.
///
/// Storing a tile ([`TileViewMut::store`](crate::view::TileViewMut::store)) spreads it over the units of a group: packet
/// `v`, in row-major order, belongs to unit `v % units`, so that neighbouring units touch neighbouring addresses.
///
/// The operations are those of the groups below; the book's chapter on tiles has them in one table.
///
/// ```
/// use cubecl::prelude::*;
/// use girih::prelude::*;
///
/// /// Each row's softmax.
/// #[cube(launch_unchecked)]
/// fn softmax(x: &Tensor<f32>, out: &mut Tensor<f32>) {
///     let cube = this_cube();
///     let x = TileView::<f32, shape![8, 256]>::of(x).load(&cube, (CUBE_POS, 0));
///     let x = x.share(&cube);
///     let e = (&x - x.max::<1>(&cube).broadcast_to()).exp().share(&cube);
///     let out_tile = &e / e.sum::<1>(&cube).broadcast_to();
///     TileViewMut::<f32, shape![8, 256]>::of(out).store(&cube, out_tile, (CUBE_POS, 0));
/// }
/// # fn main() {}
/// ```
pub struct Tile<'a, E: Scalar, S: TileShape> {
    _memory: PhantomData<&'a ()>,
    _value: PhantomData<fn() -> (E, S)>,
}

/// The packet of as many elements that starts at the place, along the last dimension.
type Function<E> = dyn Fn(&Scope, &Place<'_>, usize) -> Packet<E>;

/// How a tile gives packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grain {
    /// The width at which packets come most cheaply; of a tile in registers, the only one.
    width: usize,
    /// Of a tile of which some is in registers, in which turn units hold packets: these come in that order, unrolled.
    held: Option<Turns>,
}

impl Grain {
    /// That of a tile any unit can ask.
    pub(crate) fn free(width: usize) -> Self {
        Self { width, held: None }
    }

    /// That of a value computed of two tiles.
    pub(crate) fn with(self, other: Self) -> Self {
        match (self.held, other.held) {
            (Some(_), _) => self,
            (None, Some(_)) => other,
            (None, None) => Self::free(self.width.max(other.width)),
        }
    }

    /// The width at which packets come most cheaply, or the only one.
    pub(crate) fn width(self) -> usize {
        self.width
    }

    /// In which turn units take the packets.
    pub(crate) fn turns(self) -> Turns {
        self.held.unwrap_or(Turns::Striped)
    }
}

/// Where the elements of a tile come from.
struct Node<E: Scalar> {
    function: Box<Function<E>>,
    grain: Grain,
    /// The registers, of a tile that is nothing else.
    registers: Option<Rc<Held<E>>>,
    /// The packet asked for last.
    last: RefCell<Option<(Asked, Packet<E>)>>,
}

/// What makes two requests for a packet the same: the place, the width, and the block of instructions, since a packet
/// computed in a branch is there in that branch alone.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Asked {
    place: u64,
    width: usize,
    block: Option<Ptr<BasicBlock>>,
}

/// What a [`Tile`] is while the kernel is expanded.
pub struct TileExpand<E: Scalar, S: TileShape> {
    node: Rc<Node<E>>,
    _shape: PhantomData<fn() -> S>,
}

impl<E: Scalar, S: TileShape> Clone for Tile<'_, E, S> {
    fn clone(&self) -> Self {
        cubecl::unexpanded!()
    }
}
impl<E: Scalar, S: TileShape> Clone for TileExpand<E, S> {
    fn clone(&self) -> Self {
        Self {
            node: self.node.clone(),
            _shape: PhantomData,
        }
    }
}
impl<E: Scalar, S: TileShape> CubeType for Tile<'_, E, S> {
    type ExpandType = TileExpand<E, S>;
}
comptime_handle!([E: Scalar, S: TileShape] TileExpand<E, S>);

impl<E: Scalar, S: TileShape> TileExpand<E, S> {
    /// The tile of these elements, which any unit can ask for, and which come most cheaply at this width.
    pub(crate) fn new(
        width: usize,
        source: impl Fn(&Scope, &[NativeExpand<u32>], usize) -> Packet<E> + 'static,
    ) -> Self {
        Self::of(Grain::free(width), move |scope, place, width| {
            source(scope, place.at, width)
        })
    }

    /// The tile of these packets.
    pub(crate) fn of(
        grain: Grain,
        function: impl Fn(&Scope, &Place<'_>, usize) -> Packet<E> + 'static,
    ) -> Self {
        let node = Node {
            function: Box::new(function),
            grain,
            registers: None,
            last: RefCell::new(None),
        };
        Self {
            node: Rc::new(node),
            _shape: PhantomData,
        }
    }

    /// The tile that these registers hold.
    pub(crate) fn held(held: Held<E>) -> Self {
        let grain = Grain {
            width: held.width(),
            held: Some(held.holders().turns),
        };
        let held = Rc::new(held);
        let registers = Some(held.clone());
        let function = move |scope: &Scope, place: &Place<'_>, width| held.get(scope, place, width);
        let node = Node {
            function: Box::new(function),
            grain,
            registers,
            last: RefCell::new(None),
        };
        Self {
            node: Rc::new(node),
            _shape: PhantomData,
        }
    }

    /// The registers of a tile that is nothing else.
    pub(crate) fn registers(&self) -> Option<Rc<Held<E>>> {
        self.node.registers.clone()
    }

    /// The packet of `width` elements at a place: what kernels compute of a tile goes through here.
    pub(crate) fn packet(&self, scope: &Scope, place: &Place<'_>, width: usize) -> Packet<E> {
        let block = scope.inserter().get_insertion_block(scope.ctx());
        let asked = Asked {
            place: place.id,
            width,
            block,
        };
        if let Some((last, packet)) = *self.node.last.borrow()
            && last == asked
        {
            return packet;
        }
        let packet = (self.node.function)(scope, place, width);
        *self.node.last.borrow_mut() = Some((asked, packet));
        packet
    }

    /// The packet at these coordinates, for any unit that asks.
    pub(crate) fn packet_at(
        &self,
        scope: &Scope,
        at: &[NativeExpand<u32>],
        width: usize,
    ) -> Packet<E> {
        self.packet(scope, &Place::anywhere(at), width)
    }

    pub(crate) fn grain(&self) -> Grain {
        self.node.grain
    }

    /// The width at which packets come most cheaply, or the only one.
    pub(crate) fn width(&self) -> usize {
        self.node.grain.width
    }

    /// Whether some of it is in registers, where only the unit that holds an element can read it.
    pub(crate) fn is_held(&self) -> bool {
        self.node.grain.held.is_some()
    }

    /// How a walk over the tile is to be unrolled: registers have no index.
    pub(crate) fn unroll(&self, scope: &Scope) -> Option<u64> {
        match self.is_held() {
            false => None,
            true => Held::<E>::unroll(scope),
        }
    }

    /// Fails where units ask for elements that others hold.
    pub(crate) fn assert_anywhere(&self, call: &str) {
        assert!(
            !self.is_held(),
            "girih: {call}: a tile in the registers of the units that hold it, of extents that are walked in another \
             order; `share` it first, or load it where it is used"
        );
    }
}
