//! Where the extremes of a tile are.

use super::arithmetic::{both, either, equal, is_float, less, unequal};
use super::lines::{Lines, Source};
use super::packet::only;
use super::reduce::{Maximum, Minimum, Outcome, assert_some, each_line};
use super::{HasAxis, Packet, Tile, TileExpand, TileShape};
use crate::coop::{Associative, Group, GroupExpand, Min};
use cubecl::prelude::*;
use std::cell::RefCell;

/// One of the extremes.
trait Extreme<E: Numeric>: Associative<E> {
    /// Whether the second is further out than the first.
    fn is_further(scope: &Scope, first: Packet<E>, second: Packet<E>) -> Packet<bool>;
}
impl<E: Numeric> Extreme<E> for Minimum {
    fn is_further(scope: &Scope, first: Packet<E>, second: Packet<E>) -> Packet<bool> {
        less(scope, second, first)
    }
}
impl<E: Numeric> Extreme<E> for Maximum {
    fn is_further(scope: &Scope, first: Packet<E>, second: Packet<E>) -> Packet<bool> {
        less(scope, first, second)
    }
}

/// Whether an element that comes later takes the place of the best so far: NaN is further out than any number.
fn replaces<E: Numeric, X: Extreme<E>>(
    scope: &Scope,
    best: NativeExpand<E>,
    element: NativeExpand<E>,
) -> NativeExpand<bool> {
    let (best, element): (Packet<E>, Packet<E>) = (best.expand.into(), element.expand.into());
    let is_further = X::is_further(scope, best, element);
    if !is_float::<E>(scope) {
        return only(scope, is_further);
    }
    let is_nan = unequal(scope, element, element);
    let was_number = equal(scope, best, best);
    let is_first_nan = both(scope, is_nan, was_number);
    only(scope, either(scope, is_further, is_first_nan))
}

/// Whether an element is the extreme, as which NaN counts where it is one.
fn is_extreme<E: Numeric>(
    scope: &Scope,
    element: NativeExpand<E>,
    extreme: NativeExpand<E>,
) -> NativeExpand<bool> {
    let (element, extreme): (Packet<E>, Packet<E>) = (element.expand.into(), extreme.expand.into());
    let is_equal = equal(scope, element, extreme);
    if !is_float::<E>(scope) {
        return only(scope, is_equal);
    }
    let (a, b) = (
        unequal(scope, element, element),
        unequal(scope, extreme, extreme),
    );
    let are_nan = both(scope, a, b);
    only(scope, either(scope, is_equal, are_nan))
}

/// The best element of a line that a unit has seen, and where it is.
struct Best<E: Numeric> {
    element: NativeExpand<E>,
    position: NativeExpand<u32>,
}

impl<E: Numeric> Best<E> {
    fn new(scope: &Scope, element: NativeExpand<E>, position: NativeExpand<u32>) -> Self {
        Self {
            element: element.into_mut(scope),
            position: super::packet::now(scope, position).into_mut(scope),
        }
    }

    fn see<X: Extreme<E>>(
        &mut self,
        scope: &Scope,
        element: NativeExpand<E>,
        position: NativeExpand<u32>,
    ) {
        let best = self.element.read_value(scope).into();
        let at = self.position.read_value(scope).into();
        let replaces = replaces::<E, X>(scope, best, element);
        let best = select::expand::<E>(scope, replaces, element, best);
        let at = select::expand::<u32>(scope, replaces, position, at);
        self.element.__expand_assign_method(scope, best);
        self.position.__expand_assign_method(scope, at);
    }
}

/// The position along each line of its extreme.
fn positions<E: Numeric, X: Extreme<E>>(
    scope: &Scope,
    call: &'static str,
    group: &GroupExpand,
    lines: &Lines<E>,
) -> Outcome<u32> {
    each_line(
        scope,
        call,
        group,
        lines,
        |scope, teams, row, everywhere| {
            let steps = teams.share(scope, lines.steps, false);
            // Along the lines every element of a packet is another position, across them it is another line.
            let position = |scope: &Scope, step: NativeExpand<u32>, lane: usize| match lines.is_last
            {
                true => {
                    let first = step.__expand_mul_method(scope, (lines.width as u32).into());
                    first.__expand_add_method(scope, (lane as u32).into())
                }
                false => step,
            };
            let see =
                |scope: &Scope, bests: &mut [Best<E>], step, elements: Vec<NativeExpand<E>>| {
                    for (lane, element) in elements.into_iter().enumerate() {
                        let at = position(scope, step, lane);
                        let line = if lines.is_last { 0 } else { lane };
                        bests[line].see::<X>(scope, element, at);
                    }
                };
            let first = steps.first();
            let elements = lines.read(scope, &row, first);
            let lanes = lines.lanes();
            let mut bests: Vec<_> = (0..lanes)
                .map(|lane| Best::new(scope, elements[lane], position(scope, first, 0)))
                .collect();
            for (lane, element) in elements.into_iter().enumerate().skip(lanes) {
                bests[0].see::<X>(scope, element, position(scope, first, lane));
            }
            let bests = RefCell::new(bests);
            steps.each_later(scope, |scope, step| {
                let elements = lines.read(scope, &row, step);
                see(scope, &mut bests.borrow_mut(), step, elements);
            });
            let bests = bests.into_inner().into_iter();
            bests
                .map(|best| {
                    let element = best.element.read_value(scope).into();
                    let at = best.position.read_value(scope).into();
                    let Some(team) = &teams.team else {
                        return at;
                    };
                    let extreme = team.__expand_reduce_method::<E, X>(scope, element);
                    let is_it = is_extreme::<E>(scope, element, extreme);
                    let at = select::expand::<u32>(scope, is_it, at, u32::MAX.into());
                    match everywhere {
                        true => team.__expand_reduce_method::<u32, Min>(scope, at),
                        false => team.__expand_reduce_to_first_method::<u32, Min>(scope, at),
                    }
                })
                .collect()
        },
    )
}

macro_rules! positions {
    ($($(#[$doc:meta])* $name:ident $of_all:ident by $extreme:ident, $expand:ident $expand_of_all:ident;)*) => {
        impl<E: Numeric, S: TileShape> Tile<'_, E, S> {
            $(
                $(#[$doc])*
                #[allow(unused_variables)]
                pub fn $name<const AXIS: usize>(&self, group: &Group) -> Tile<'static, u32, S::Reduced>
                where
                    S: HasAxis<AXIS>,
                {
                    cubecl::unexpanded!()
                }
                #[doc = concat!("As [`", stringify!($name), "`](Self::", stringify!($name), "), in row-major order of all elements.")]
                #[allow(unused_variables)]
                pub fn $of_all(&self, group: &Group) -> u32 {
                    cubecl::unexpanded!()
                }
            )*
        }
        impl<E: Numeric, S: TileShape> TileExpand<E, S> {
            $(
                #[doc = concat!("Expansion of [`Tile::", stringify!($name), "`].")]
                pub fn $expand<const AXIS: usize>(&self, scope: &Scope, group: &GroupExpand) -> TileExpand<u32, S::Reduced>
                where
                    S: HasAxis<AXIS>,
                {
                    let call = concat!("Tile::", stringify!($name));
                    let lines = Lines::new(Source::of(scope, &self.askable(scope, call, group)), AXIS, usize::MAX);
                    assert_some(call, lines.dims(), lines.steps);
                    if lines.rows == 0 {
                        return TileExpand::full(scope, 0u32.into());
                    }
                    positions::<E, $extreme>(scope, call, group, &lines).tile(scope)
                }
                #[doc = concat!("Expansion of [`Tile::", stringify!($of_all), "`].")]
                pub fn $expand_of_all(&self, scope: &Scope, group: &GroupExpand) -> NativeExpand<u32> {
                    let call = concat!("Tile::", stringify!($of_all));
                    let lines = Lines::new(Source::flat(scope, &self.askable(scope, call, group)), 0, usize::MAX);
                    assert_some(call, lines.dims(), lines.steps);
                    positions::<E, $extreme>(scope, call, group, &lines).first(scope)
                }
            )*
        }
    };
}
positions! {
    /// The coordinate of the smallest element along a dimension, which has at least one: of equal ones the first, of a line
    /// with NaN the first NaN.
    arg_min arg_min_of_all by Minimum, __expand_arg_min_method __expand_arg_min_of_all_method;
    /// The coordinate of the largest element along a dimension, which has at least one: of equal ones the first, of a line
    /// with NaN the first NaN.
    arg_max arg_max_of_all by Maximum, __expand_arg_max_method __expand_arg_max_of_all_method;
}
