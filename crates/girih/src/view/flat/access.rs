//! From coordinates of a flat tile to memory.

use super::index::{AxisTile, FlatIndexExpand, MaskExpand, along};
use crate::coop::GroupExpand;
use crate::tile::{
    Grain, Held, Packet, Place, Spread, TileExpand, TileShape, join, lane, splat, when, width,
};
use crate::view::access::Region;
use crate::view::bounds::{Bounds, Policy};
use crate::view::span::Memory;
use crate::view::start::and;
use cubecl::frontend::branch;
use cubecl::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;

/// What a view does beside its indices.
pub(super) struct Options<S: TileShape> {
    pub policy: Policy,
    pub mask: Option<MaskExpand<S>>,
    /// Packets that a unit keeps in flight.
    pub latency: Option<u32>,
}

impl<S: TileShape> Default for Options<S> {
    fn default() -> Self {
        Self {
            policy: Policy::default(),
            mask: None,
            latency: None,
        }
    }
}

impl<S: TileShape> Clone for Options<S> {
    fn clone(&self) -> Self {
        Self {
            policy: self.policy.clone(),
            mask: self.mask.clone(),
            latency: self.latency,
        }
    }
}

/// What is given where no element of memory is.
pub(super) enum Fill<E: Scalar, S: TileShape> {
    Value(NativeExpand<E>),
    Tile(TileExpand<E, S>),
}

/// Which element of memory one element of the tile is.
struct Target {
    elements: Vec<NativeExpand<usize>>,
    /// Whether it takes part and all its indices are in range (`None`: that is promised).
    taken: Option<NativeExpand<bool>>,
}

/// Writes the element at an offset.
type Write<'a, E> = dyn Fn(&Scope, NativeExpand<usize>, Packet<E>) + 'a;
/// Takes what a tile has for the element at an offset, and gives what memory held.
type Exchange<'a, E> = dyn Fn(&Scope, NativeExpand<usize>, Option<Packet<E>>) -> Packet<E> + 'a;

/// One call's map from a tile to memory, element by element.
pub(super) struct FlatAccess<E: Scalar, S: TileShape> {
    call: &'static str,
    region: Region<E>,
    dims: Vec<usize>,
    axes: Vec<AxisTile>,
    options: Options<S>,
}

impl<E: Scalar, S: TileShape> FlatAccess<E, S> {
    pub(super) fn new(
        scope: &Scope,
        call: &'static str,
        memory: Rc<dyn Memory<E>>,
        index: FlatIndexExpand<S>,
        options: &Options<S>,
    ) -> Self {
        let dims = S::__expand_dims(scope);
        let check = |what: String, own: Vec<usize>| {
            let fits = own
                .iter()
                .zip(&dims)
                .all(|(own, dim)| own == dim || *own == 1);
            assert!(
                fits,
                "girih: {call}: {what} of extents {own:?} for a tile of extents {dims:?}; each extent is the tile's, or 1"
            );
        };
        for (axis, tile) in index.axes.iter().enumerate() {
            check(format!("indices of axis {axis}"), (tile.dims)(scope));
        }
        if let Some(mask) = &options.mask {
            check("a mask".into(), (mask.dims)(scope));
        }
        Self {
            call,
            region: Region::new(scope, memory, index.axes.len()),
            dims,
            axes: index.axes,
            options: options.clone(),
        }
    }

    /// Which elements of memory the lanes of the packet at these coordinates are.
    fn locate(&self, scope: &Scope, at: &[NativeExpand<u32>], width: usize) -> Vec<Target> {
        let Policy { bounds, reporter } = &self.options.policy;
        let axes = self.axes.iter().enumerate().map(|(axis, tile)| {
            let extent = self.region.extent(axis);
            tile.entries(scope, at, width, extent, *bounds)
        });
        let axes: Vec<_> = axes.collect();
        let target = |step: usize| {
            let at = along(scope, at, step);
            let entries: Vec<_> = axes.iter().map(|lanes| lanes[step]).collect();
            let mask = self.options.mask.as_ref();
            let mask = mask.map(|mask| mask.takes(scope, &at));
            let present = entries.iter().map(|entry| entry.present);
            let takes_part = all(scope, present.chain([mask]));
            let valid = match bounds {
                Bounds::Assume => None,
                _ => all(scope, entries.iter().map(|entry| Some(entry.valid))),
            };
            if let Some(reporter) = reporter {
                for (axis, entry) in entries.iter().enumerate() {
                    let bad = Some(entry.valid.__expand_not_method(scope));
                    if let Some(bad) = all(scope, [takes_part, bad]) {
                        let position = self.row_major(scope, &at);
                        branch::if_expand(scope, bad, |scope| {
                            reporter.offend_in_list(scope, axis, position);
                        });
                    }
                }
            }
            Target {
                elements: entries.iter().map(|entry| entry.element).collect(),
                taken: all(scope, [takes_part, valid]),
            }
        };
        (0..width).map(target).collect()
    }

    /// Row-major position in the tile of the element at these coordinates.
    fn row_major(&self, scope: &Scope, at: &[NativeExpand<u32>]) -> NativeExpand<u32> {
        let position: Option<NativeExpand<u32>> = None;
        let steps = at.iter().zip(&self.dims);
        let position = steps.fold(position, |position, (&at, &extent)| {
            Some(match position {
                Some(position) => position
                    .__expand_mul_method(scope, (extent as u32).into())
                    .__expand_add_method(scope, at),
                None => at,
            })
        });
        position.expect("a tile has at least one dimension")
    }

    /// The packet at these coordinates, with `fill` where no element of memory is.
    pub(super) fn fetch(
        &self,
        scope: &Scope,
        at: &[NativeExpand<u32>],
        width: usize,
        fill: &Fill<E, S>,
    ) -> Packet<E> {
        let targets = self.locate(scope, at, width);
        let lanes = targets.iter().enumerate().map(|(step, target)| {
            let read = |scope: &Scope| self.region.read_one(scope, &target.elements);
            let one = match target.taken {
                Some(taken) => when(scope, taken, read, |scope| match fill {
                    Fill::Value(value) => splat(scope, *value, 1),
                    Fill::Tile(tile) => {
                        let at = along(scope, at, step);
                        tile.packet(scope, &Place::anywhere(&at), 1)
                    }
                }),
                None => read(scope),
            };
            one.read_value(scope).into()
        });
        let lanes: Vec<NativeExpand<E>> = lanes.collect();
        join(scope, &lanes)
    }

    /// Spreads the tile over the units of the group, and hands `write` each element that memory has a place for.
    pub(super) fn store(
        &self,
        scope: &Scope,
        group: &GroupExpand,
        tile: &TileExpand<E, S>,
        write: &Write<'_, E>,
    ) {
        self.refuse_vectors();
        if self.dims.contains(&0) {
            return;
        }
        let spread = self
            .spread(group, tile.grain())
            .in_flight(self.options.latency);
        spread.walk(
            scope,
            group,
            tile.unroll(scope),
            &|scope, place| tile.packet(scope, place, spread.width()),
            &|scope, place, value| {
                let width = width(scope, &value);
                for (index, target) in self.locate(scope, place.at, width).iter().enumerate() {
                    let one = match width {
                        1 => value,
                        _ => join(scope, &[lane(scope, value, index)]),
                    };
                    let store = |scope: &Scope| {
                        write(scope, self.region.offset(scope, &target.elements), one);
                    };
                    match target.taken {
                        Some(taken) => branch::if_expand(scope, taken, store),
                        None => store(scope),
                    }
                }
            },
        );
    }

    fn spread(&self, group: &GroupExpand, grain: Grain) -> Spread {
        Spread::of_lone(&self.dims, group.holders(self.call) as usize, grain)
    }

    /// Each element goes to a place of its own, and two units may not write lanes of one vector.
    fn refuse_vectors(&self) {
        assert!(
            self.region.width() == 1,
            "girih: {}: memory of vectors of {} elements; memory of scalars is needed, since each element goes to a \
             place of its own",
            self.call,
            self.region.width()
        );
    }
}

impl<E: Numeric, S: TileShape> FlatAccess<E, S> {
    /// Spreads the tile over the units of the group, gives each place of memory what the tile has for it (if there is a
    /// tile), and keeps what comes back in registers: `fill` where memory has no place.
    pub(super) fn hold(
        &self,
        scope: &Scope,
        group: &GroupExpand,
        tile: Option<&TileExpand<E, S>>,
        fill: NativeExpand<E>,
        exchange: &Exchange<'_, E>,
    ) -> TileExpand<E, S> {
        self.refuse_vectors();
        let spread = self.spread(group, Grain::free(1));
        let held = RefCell::new(Held::new(scope, self.call, &spread, group));
        if !self.dims.contains(&0) {
            spread.walk(
                scope,
                group,
                Held::<E>::unroll(scope),
                &|scope, place| {
                    let given = tile.map(|tile| tile.packet(scope, place, 1));
                    let target = &self.locate(scope, place.at, 1)[0];
                    let read = |scope: &Scope| {
                        exchange(scope, self.region.offset(scope, &target.elements), given)
                    };
                    match target.taken {
                        Some(taken) => when(scope, taken, read, |scope| splat(scope, fill, 1)),
                        None => read(scope),
                    }
                },
                &|scope, place, value| held.borrow_mut().set(scope, place, value),
            );
        }
        TileExpand::held(held.into_inner())
    }
}

/// Whether all of these hold, `None` where nothing is asked.
fn all(
    scope: &Scope,
    conditions: impl IntoIterator<Item = Option<NativeExpand<bool>>>,
) -> Option<NativeExpand<bool>> {
    let conditions = conditions.into_iter().flatten();
    conditions.reduce(|a, b| and(scope, a, b))
}
