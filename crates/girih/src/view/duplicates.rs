//! Several elements of one tile that go to one place: which of them is stored, or how they are combined.

use super::access::{Access, Axis, Position, Region, Way, all};
use super::bounds::Bounds;
use super::start::and;
use super::transfer::Packets;
use crate::tile::{Packet, Place};
use cubecl::frontend::branch;
use cubecl::prelude::*;

/// Which element of a tile stays where several go to one place.
///
/// [`First`](Self::First) and [`Last`](Self::Last) hold within one tile: each unit compares the index of an element that
/// it stores with the other entries of the list. Between tiles nothing is said of the order, so that a kernel whose tiles
/// share places decides it by other means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Winner {
    /// Either, element by element; nothing is compared.
    #[default]
    Any,
    /// The first in row-major order of the tile.
    First,
    /// The last in row-major order of the tile.
    Last,
}

/// Combines two packets lane by lane, the first of an earlier place.
type Combine<E> = dyn Fn(&Scope, Packet<E>, Packet<E>) -> Packet<E>;

/// How elements that go to one place are told apart.
pub(super) enum Rivals<'a, E: Scalar> {
    /// One is written.
    Winner { last: bool },
    /// The first is written, with those after it, and before it what memory holds.
    Combined {
        packets: &'a Packets<'a, E>,
        combine: &'a Combine<E>,
    },
}

impl Winner {
    pub(super) fn rivals<'a, E: Scalar>(self) -> Option<Rivals<'a, E>> {
        match self {
            Self::Any => None,
            Self::First => Some(Rivals::Winner { last: false }),
            Self::Last => Some(Rivals::Winner { last: true }),
        }
    }
}

/// One element (or vector) of a tile on its way to memory.
pub(super) struct Site<'a, E: Scalar> {
    pub access: &'a Access,
    pub region: &'a Region<E>,
    /// Its coordinates in the tile.
    pub at: &'a [NativeExpand<u32>],
    /// The tile's extents.
    pub dims: &'a [usize],
    /// Where it goes.
    pub elements: &'a [NativeExpand<usize>],
}

impl<E: Scalar> Rivals<'_, E> {
    /// Hands `write` what is to be stored for the element of the site, if anything is.
    pub(super) fn settle(
        &self,
        scope: &Scope,
        site: &Site<'_, E>,
        value: Packet<E>,
        write: &dyn Fn(&Scope, Packet<E>),
    ) {
        match self {
            Self::Winner { last } => {
                let beaten = site.is_beaten(scope, *last);
                let wins = beaten.__expand_not_method(scope);
                branch::if_expand(scope, wins, |scope| write(scope, value));
            }
            Self::Combined { packets, combine } => {
                let beaten = site.is_beaten(scope, false);
                let wins = beaten.__expand_not_method(scope);
                branch::if_expand(scope, wins, |scope| {
                    let held = site.region.read(scope, site.elements);
                    let combined = combine(scope, held, value);
                    let mut combined = combined.into_mut(scope);
                    let width = crate::tile::width(scope, &value);
                    site.each_rival(scope, &mut |scope, at| {
                        let next = packets(scope, &Place::anywhere(at), width);
                        let sum = combine(scope, combined.read_value(scope).into(), next);
                        combined.__expand_assign_method(scope, sum);
                    });
                    write(scope, combined.read_value(scope).into());
                });
            }
        }
    }
}

/// What to do with the coordinates of another element of the tile.
type Each<'a> = dyn FnMut(&Scope, &[NativeExpand<u32>]) + 'a;

impl<E: Scalar> Site<'_, E> {
    /// The tile's dimensions along which two elements may go to one place, outermost first.
    fn shared(&self) -> impl Iterator<Item = usize> {
        let may_share = |axis: &Axis| match axis.way {
            Way::List(_) => true,
            Way::Run { .. } => matches!(axis.policy.bounds, Bounds::Clamp | Bounds::Wrap),
        };
        (0..self.dims.len()).filter(move |&dim| {
            let mut axes = self.access.axes.iter();
            axes.any(|axis| axis.dim == dim && may_share(axis))
        })
    }

    /// Whether the tile's coordinate along `dim` leads where the site's does.
    fn leads_here(
        &self,
        scope: &Scope,
        dim: usize,
        coordinate: NativeExpand<u32>,
    ) -> NativeExpand<bool> {
        let axes = self.access.axes.iter().enumerate();
        let conditions = axes
            .filter(|(_, axis)| axis.dim == dim)
            .flat_map(|(index, axis)| {
                let Position {
                    element,
                    valid,
                    present,
                    ..
                } = axis.position(scope, coordinate, self.region.extent(index));
                let same = element.__expand_eq_method(scope, &self.elements[index]);
                [valid, present, Some(same)]
            });
        all(scope, conditions.collect::<Vec<_>>()).expect("elements are compared")
    }

    /// Whether an element before it, or after it, goes to the same place. The elements that do are all those of some
    /// coordinates along each dimension, so that the first and the last of them are so along each dimension.
    fn is_beaten(&self, scope: &Scope, last: bool) -> NativeExpand<bool> {
        let mut beaten = NativeExpand::<bool>::from(false).into_mut(scope);
        for dim in self.shared() {
            let own = self.at[dim];
            let range = match last {
                false => RangeExpand::new(0u32.into(), own),
                true => {
                    let next = own.__expand_add_method(scope, 1u32.into());
                    RangeExpand::new(next, (self.dims[dim] as u32).into())
                }
            };
            branch::for_expand(scope, range, false, |scope, coordinate| {
                let same = self.leads_here(scope, dim, coordinate);
                let either = beaten.__expand_or_method(scope, same);
                beaten.__expand_assign_method(scope, either);
            });
        }
        beaten.read_value(scope).into()
    }

    /// Calls `each` for every element after this one that goes to the same place, in row-major order. This one is the
    /// first of them.
    fn each_rival(&self, scope: &Scope, each: &mut Each<'_>) {
        let dims: Vec<_> = self.shared().collect();
        self.each_along(scope, &dims, self.at.to_vec(), true.into(), each);
    }

    /// As [`each_rival`](Self::each_rival), along these dimensions; `is_self` says whether `at` is this element's so far.
    fn each_along(
        &self,
        scope: &Scope,
        dims: &[usize],
        at: Vec<NativeExpand<u32>>,
        is_self: NativeExpand<bool>,
        each: &mut Each<'_>,
    ) {
        let Some((&dim, rest)) = dims.split_first() else {
            let other = is_self.__expand_not_method(scope);
            branch::if_expand(scope, other, |scope| each(scope, &at));
            return;
        };
        let own = self.at[dim];
        let range = RangeExpand::new(own, (self.dims[dim] as u32).into());
        branch::for_expand(scope, range, false, |scope, coordinate| {
            let same = self.leads_here(scope, dim, coordinate);
            branch::if_expand(scope, same, |scope| {
                let mut at = at.clone();
                at[dim] = coordinate;
                let here = coordinate.__expand_eq_method(scope, &own);
                let is_self = and(scope, is_self, here);
                self.each_along(scope, rest, at, is_self, each);
            });
        });
    }
}
