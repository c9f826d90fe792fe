//! Reductions of tiles: along a dimension, and of all elements.

use super::arithmetic::{larger, smaller};
use super::kept::Kept;
use super::lines::{Lines, Source, Teams, Work};
use super::packet::{number, only};
use super::{HasAxis, Tile, TileExpand, TileShape};
use crate::coop::{And, Associative, Group, GroupExpand, Known, Or, Product, Sum};
use cubecl::frontend::branch;
use cubecl::prelude::*;
use std::cell::RefCell;

/// What a reduction gives.
pub(super) enum Outcome<E: Scalar> {
    /// One element, which every unit of the group has.
    One(NativeExpand<E>),
    Kept(Box<Kept<E>>),
}

impl<E: Scalar> Outcome<E> {
    pub(super) fn tile<S: TileShape>(&self, scope: &Scope) -> TileExpand<E, S> {
        match self {
            Self::One(element) => TileExpand::full(scope, *element),
            Self::Kept(kept) => kept.tile(),
        }
    }

    /// The first element.
    pub(super) fn first(&self, scope: &Scope) -> NativeExpand<E> {
        match self {
            Self::One(element) => *element,
            Self::Kept(kept) => kept.get(scope, 0u32.into()),
        }
    }
}

/// Computes each row of lines by a team, and keeps what `row` makes of it on the team's first unit.
pub(super) fn each_line<E: Scalar, F: Scalar>(
    scope: &Scope,
    call: &'static str,
    group: &GroupExpand,
    lines: &Lines<E>,
    row: impl Fn(&Scope, &Teams, super::lines::Row, bool) -> Vec<NativeExpand<F>>,
) -> Outcome<F> {
    let teams = Teams::new(scope, call, group, lines, Work::Reduce);
    if teams.is_one() && lines.rows * lines.lanes() == 1 {
        let first = lines.row(scope, crate::layout::Number::Known(0));
        return Outcome::One(row(scope, &teams, first, true)[0]);
    }
    let kept = Kept::new(scope, call, group, &lines.reduced_dims());
    kept.wait(scope);
    teams.each_row(scope, lines, |scope, index, is_there| {
        let found = row(scope, &teams, lines.row(scope, index), false);
        let speaks = super::lines::and(scope, teams.is_first(scope), is_there);
        branch::if_expand(scope, speaks, |scope| {
            let width = found.len() as u32;
            let index = index.narrow(scope);
            for (lane, element) in (0u32..).zip(&found) {
                let position = match width {
                    1 => index,
                    _ => {
                        let first = index.__expand_mul_method(scope, width.into());
                        first.__expand_add_method(scope, lane.into())
                    }
                };
                kept.put_at(scope, position, *element);
            }
        });
    });
    kept.wait(scope);
    Outcome::Kept(Box::new(kept))
}

/// Combines the elements of each line, in their order unless the operation commutes.
pub(super) fn reduced<E: Scalar, O: Associative<E>>(
    scope: &Scope,
    call: &'static str,
    group: &GroupExpand,
    lines: &Lines<E>,
) -> Outcome<E> {
    each_line(
        scope,
        call,
        group,
        lines,
        |scope, teams, row, everywhere| {
            let steps = teams.share(scope, lines.steps, O::KNOWN.is_none());
            let read = |scope: &Scope, step| {
                let elements = lines.read(scope, &row, step);
                match lines.is_last {
                    true => vec![combined::<E, O>(scope, &elements)],
                    false => elements,
                }
            };
            let totals = read(scope, steps.first()).into_iter();
            let totals: Vec<_> = totals.map(|total| total.into_mut(scope)).collect();
            let totals = RefCell::new(totals);
            steps.each_later(scope, |scope, step| {
                let elements = read(scope, step);
                for (total, element) in totals.borrow_mut().iter_mut().zip(elements) {
                    let so_far = total.read_value(scope).into();
                    let both = O::__expand_combine(scope, so_far, element);
                    total.__expand_assign_method(scope, both);
                }
            });
            let totals = totals.into_inner().into_iter();
            totals
                .map(|total| {
                    let total = total.read_value(scope).into();
                    match (&teams.team, everywhere) {
                        (None, _) => total,
                        (Some(team), true) => team.__expand_reduce_method::<E, O>(scope, total),
                        (Some(team), false) => {
                            team.__expand_reduce_to_first_method::<E, O>(scope, total)
                        }
                    }
                })
                .collect()
        },
    )
}

/// Elements combined in their order, by halves.
fn combined<E: Scalar, O: Associative<E>>(
    scope: &Scope,
    elements: &[NativeExpand<E>],
) -> NativeExpand<E> {
    match elements {
        [only] => *only,
        _ => {
            let (first, second) = elements.split_at(elements.len() / 2);
            let first = combined::<E, O>(scope, first);
            let second = combined::<E, O>(scope, second);
            O::__expand_combine(scope, first, second)
        }
    }
}

macro_rules! extremes {
    ($($(#[$doc:meta])* $name:ident by $function:ident as $known:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name;

        impl<E: Numeric> Associative<E> for $name {
            const KNOWN: Option<Known> = Some(Known::$known);

            fn combine(_first: E, _second: E) -> E {
                cubecl::unexpanded!()
            }

            fn __expand_combine(
                scope: &Scope,
                first: NativeExpand<E>,
                second: NativeExpand<E>,
            ) -> NativeExpand<E> {
                let both = $function(scope, first.expand.into(), second.expand.into());
                only(scope, both)
            }
        }
    )*};
}
extremes! {
    /// The smaller number; NaN where either is.
    Minimum by smaller as Min;
    /// The larger number; NaN where either is.
    Maximum by larger as Max;
}

/// Fails where there is nothing to choose from.
pub(super) fn assert_some(call: &str, dims: &[usize], steps: usize) {
    assert!(
        steps > 0,
        "girih: {call}: a tile of extents {dims:?}, with no elements there; at least one is needed"
    );
}

/// Reductions.
///
/// Along a dimension `AXIS` they give a tile with extent 1 there, which `broadcast_to` repeats and `reshape` drops; those
/// named `.._of_all` give one element. What a reduction gives is shared: every unit of the group may ask for it.
///
/// All units of the group call them, and wait for each other as in [`share`](Tile::share). Teams of its units each take a
/// line at a time; within a plane they combine what they have from lane to lane. A tile that is held is shared first. On a
/// CPU, and with [`this_unit`](crate::coop::this_unit()), each unit computes alone.
///
/// Elements are combined in their own type: sums of integers wrap, and `tile.cast::<f32>().sum::<1>(&cube)` adds halves in 32
/// bits. The order in which a sum of floats is added is not that of the elements, but the same in every run for a group and
/// shape on one device.
///
/// A NaN in a line makes its `min` and `max` NaN, and is what `arg_min` and `arg_max` find first. Of equal elements these
/// find the first.
///
/// ```
/// use cubecl::prelude::*;
/// use girih::prelude::*;
///
/// /// Each row less its mean, and the position of its largest element.
/// #[cube(launch_unchecked)]
/// fn centre(x: &Tensor<f32>, out: &mut Tensor<f32>, largest: &mut [u32]) {
///     let cube = this_cube();
///     let x = TileView::<f32, shape![16, 64]>::of(x).load(&cube, (CUBE_POS, 0)).share(&cube);
///     let mean = x.sum::<1>(&cube) / 64.0;
///     let position = x.arg_max::<1>(&cube).reshape::<shape![16]>();
///     TileViewMut::<u32, shape![16]>::of(largest).store(&cube, position, CUBE_POS);
///     TileViewMut::<f32, shape![16, 64]>::of(out).store(&cube, &x - mean.broadcast_to(), (CUBE_POS, 0));
/// }
/// # fn main() {}
/// ```
impl<E: Scalar, S: TileShape> Tile<'_, E, S> {
    /// The elements along a dimension combined by an operation, in their order unless it commutes.
    #[allow(unused_variables)]
    pub fn reduce<const AXIS: usize, O: Associative<E>>(
        &self,
        group: &Group,
    ) -> Tile<'static, E, S::Reduced>
    where
        S: HasAxis<AXIS>,
    {
        cubecl::unexpanded!()
    }

    /// All elements combined by an operation, in row-major order unless it commutes.
    #[allow(unused_variables)]
    pub fn reduce_of_all<O: Associative<E>>(&self, group: &Group) -> E {
        cubecl::unexpanded!()
    }
}

impl<E: Scalar, S: TileShape> TileExpand<E, S> {
    /// Expansion of [`Tile::reduce`].
    pub fn __expand_reduce_method<const AXIS: usize, O: Associative<E>>(
        &self,
        scope: &Scope,
        group: &GroupExpand,
    ) -> TileExpand<E, S::Reduced>
    where
        S: HasAxis<AXIS>,
    {
        self.reduced_along::<AXIS, O>(scope, "Tile::reduce", group, None)
    }
    /// Expansion of [`Tile::reduce_of_all`].
    pub fn __expand_reduce_of_all_method<O: Associative<E>>(
        &self,
        scope: &Scope,
        group: &GroupExpand,
    ) -> NativeExpand<E> {
        self.reduced_whole::<O>(scope, "Tile::reduce_of_all", group, None)
    }

    /// Whose elements any unit of the group can ask for.
    pub(super) fn askable(&self, scope: &Scope, call: &'static str, group: &GroupExpand) -> Self {
        match self.is_held() {
            true => self.shared(scope, call, group),
            false => self.clone(),
        }
    }

    /// Of no elements, `of_none`.
    pub(super) fn reduced_along<const AXIS: usize, O: Associative<E>>(
        &self,
        scope: &Scope,
        call: &'static str,
        group: &GroupExpand,
        of_none: Option<i64>,
    ) -> TileExpand<E, S::Reduced>
    where
        S: HasAxis<AXIS>,
    {
        let source = Source::of(scope, &self.askable(scope, call, group));
        let lines = Lines::new(source, AXIS, usize::MAX);
        match of_none {
            Some(value) if lines.steps == 0 => {
                return TileExpand::full(scope, number::<E>(scope, value));
            }
            _ => assert_some(call, lines.dims(), lines.steps),
        }
        if lines.rows == 0 {
            return TileExpand::full(scope, number::<E>(scope, 0));
        }
        reduced::<E, O>(scope, call, group, &lines).tile(scope)
    }

    /// Of no elements, `of_none`.
    pub(super) fn reduced_whole<O: Associative<E>>(
        &self,
        scope: &Scope,
        call: &'static str,
        group: &GroupExpand,
        of_none: Option<i64>,
    ) -> NativeExpand<E> {
        let source = Source::flat(scope, &self.askable(scope, call, group));
        let lines = Lines::new(source, 0, usize::MAX);
        match of_none {
            Some(value) if lines.steps == 0 => return number::<E>(scope, value),
            _ => assert_some(call, lines.dims(), lines.steps),
        }
        reduced::<E, O>(scope, call, group, &lines).first(scope)
    }
}

macro_rules! reductions {
    ($($(#[$doc:meta])* $name:ident $of_all:ident by $operation:ident, $expand:ident $expand_of_all:ident, $of_none:expr;)*) => {
        impl<E: Numeric, S: TileShape> Tile<'_, E, S> {
            $(
                $(#[$doc])*
                #[allow(unused_variables)]
                pub fn $name<const AXIS: usize>(&self, group: &Group) -> Tile<'static, E, S::Reduced>
                where
                    S: HasAxis<AXIS>,
                {
                    cubecl::unexpanded!()
                }
                #[doc = concat!("As [`", stringify!($name), "`](Self::", stringify!($name), "), of all elements.")]
                #[allow(unused_variables)]
                pub fn $of_all(&self, group: &Group) -> E {
                    cubecl::unexpanded!()
                }
            )*
        }
        impl<E: Numeric, S: TileShape> TileExpand<E, S> {
            $(
                #[doc = concat!("Expansion of [`Tile::", stringify!($name), "`].")]
                pub fn $expand<const AXIS: usize>(&self, scope: &Scope, group: &GroupExpand) -> TileExpand<E, S::Reduced>
                where
                    S: HasAxis<AXIS>,
                {
                    let call = concat!("Tile::", stringify!($name));
                    self.reduced_along::<AXIS, $operation>(scope, call, group, $of_none)
                }
                #[doc = concat!("Expansion of [`Tile::", stringify!($of_all), "`].")]
                pub fn $expand_of_all(&self, scope: &Scope, group: &GroupExpand) -> NativeExpand<E> {
                    let call = concat!("Tile::", stringify!($of_all));
                    self.reduced_whole::<$operation>(scope, call, group, $of_none)
                }
            )*
        }
    };
}
reductions! {
    /// The sum along a dimension; 0 of no elements.
    sum sum_of_all by Sum, __expand_sum_method __expand_sum_of_all_method, Some(0);
    /// The product along a dimension; 1 of no elements.
    product product_of_all by Product, __expand_product_method __expand_product_of_all_method, Some(1);
    /// The smallest element along a dimension, which has at least one; NaN where one is.
    min min_of_all by Minimum, __expand_min_method __expand_min_of_all_method, None;
    /// The largest element along a dimension, which has at least one; NaN where one is.
    max max_of_all by Maximum, __expand_max_method __expand_max_of_all_method, None;
}

macro_rules! votes {
    ($($(#[$doc:meta])* $name:ident $of_all:ident by $operation:ident, $expand:ident $expand_of_all:ident, $of_none:expr;)*) => {
        impl<S: TileShape> Tile<'_, bool, S> {
            $(
                $(#[$doc])*
                #[allow(unused_variables)]
                pub fn $name<const AXIS: usize>(&self, group: &Group) -> Tile<'static, bool, S::Reduced>
                where
                    S: HasAxis<AXIS>,
                {
                    cubecl::unexpanded!()
                }
                #[doc = concat!("As [`", stringify!($name), "`](Self::", stringify!($name), "), of all elements.")]
                #[allow(unused_variables)]
                pub fn $of_all(&self, group: &Group) -> bool {
                    cubecl::unexpanded!()
                }
            )*
        }
        impl<S: TileShape> TileExpand<bool, S> {
            $(
                #[doc = concat!("Expansion of [`Tile::", stringify!($name), "`].")]
                pub fn $expand<const AXIS: usize>(&self, scope: &Scope, group: &GroupExpand) -> TileExpand<bool, S::Reduced>
                where
                    S: HasAxis<AXIS>,
                {
                    let call = concat!("Tile::", stringify!($name));
                    let words = self.converted::<u32>();
                    words.reduced_along::<AXIS, $operation>(scope, call, group, $of_none).converted()
                }
                #[doc = concat!("Expansion of [`Tile::", stringify!($of_all), "`].")]
                pub fn $expand_of_all(&self, scope: &Scope, group: &GroupExpand) -> NativeExpand<bool> {
                    let call = concat!("Tile::", stringify!($of_all));
                    let words = self.converted::<u32>();
                    let word = words.reduced_whole::<$operation>(scope, call, group, $of_none);
                    word.__expand_ne_method(scope, &0u32.into())
                }
            )*
        }
    };
}
votes! {
    /// Whether any element along a dimension is true; not of no elements.
    any any_of_all by Or, __expand_any_method __expand_any_of_all_method, Some(0);
    /// Whether all elements along a dimension are true; so of no elements.
    all all_of_all by And, __expand_all_method __expand_all_of_all_method, Some(1);
}
