//! Scans of tiles along a dimension.

use super::kept::Kept;
use super::lines::{Lines, Source, Teams, Work, and};
use super::packet::now;
use super::{HasAxis, Tile, TileExpand, TileShape, join};
use crate::coop::{Associative, Group, GroupExpand};
use cubecl::frontend::branch;
use cubecl::prelude::*;
use std::cell::RefCell;

/// Scans: what a line has up to each of its elements, combined in their order.
///
/// What they give is shared, as [`share`](Tile::share) says, and takes as much memory as the tile. All units of the group
/// call them. With [`Sum`](crate::coop::Sum), [`Product`](crate::coop::Product), [`Minimum`](super::Minimum) and
/// [`Maximum`](super::Maximum) they are the cumulative sum, product, minimum and maximum; an operation of one's own is an
/// [`Associative`] type. The order in which a sum of floats is added is the same in every run for a group and shape on one
/// device.
///
/// ```
/// use cubecl::prelude::*;
/// use girih::coop::Sum;
/// use girih::prelude::*;
///
/// /// Where each row's bins start, one after the other.
/// #[cube(launch_unchecked)]
/// fn starts(counts: &Tensor<u32>, out: &mut Tensor<u32>) {
///     let cube = this_cube();
///     let counts = TileView::<u32, shape![4, 32]>::of(counts).load(&cube, (CUBE_POS, 0));
///     let starts = counts.exclusive_scan::<1, Sum>(&cube, 0u32);
///     TileViewMut::<u32, shape![4, 32]>::of(out).store(&cube, starts, (CUBE_POS, 0));
/// }
/// # fn main() {}
/// ```
impl<E: Scalar, S: TileShape> Tile<'_, E, S> {
    /// Each element combined with all before it along a dimension.
    #[allow(unused_variables)]
    pub fn inclusive_scan<const AXIS: usize, O: Associative<E>>(
        &self,
        group: &Group,
    ) -> Tile<'static, E, S>
    where
        S: HasAxis<AXIS>,
    {
        cubecl::unexpanded!()
    }

    /// `first`, and all elements before each one along a dimension, combined.
    #[allow(unused_variables)]
    pub fn exclusive_scan<const AXIS: usize, O: Associative<E>>(
        &self,
        group: &Group,
        first: E,
    ) -> Tile<'static, E, S>
    where
        S: HasAxis<AXIS>,
    {
        cubecl::unexpanded!()
    }
}

impl<E: Scalar, S: TileShape> TileExpand<E, S> {
    /// Expansion of [`Tile::inclusive_scan`].
    pub fn __expand_inclusive_scan_method<const AXIS: usize, O: Associative<E>>(
        &self,
        scope: &Scope,
        group: &GroupExpand,
    ) -> Self
    where
        S: HasAxis<AXIS>,
    {
        self.scanned::<AXIS, O>(scope, "Tile::inclusive_scan", group, None)
    }

    /// Expansion of [`Tile::exclusive_scan`].
    pub fn __expand_exclusive_scan_method<const AXIS: usize, O: Associative<E>>(
        &self,
        scope: &Scope,
        group: &GroupExpand,
        first: NativeExpand<E>,
    ) -> Self
    where
        S: HasAxis<AXIS>,
    {
        let first = now(scope, first);
        self.scanned::<AXIS, O>(scope, "Tile::exclusive_scan", group, Some(first))
    }

    /// The scan that starts with `first` and leaves each element out, or the one that has no first.
    fn scanned<const AXIS: usize, O: Associative<E>>(
        &self,
        scope: &Scope,
        call: &'static str,
        group: &GroupExpand,
        first: Option<NativeExpand<E>>,
    ) -> Self
    where
        S: HasAxis<AXIS>,
    {
        let dims = S::__expand_dims(scope);
        if dims.contains(&0) {
            return self.clone();
        }
        let source = Source::of(scope, &self.askable(scope, call, group));
        // Along the last dimension one element follows another: there are no packets.
        let most = if AXIS + 1 == dims.len() {
            1
        } else {
            usize::MAX
        };
        let lines = Lines::new(source, AXIS, most);
        let teams = Teams::new(scope, call, group, &lines, Work::Scan);
        let kept = Kept::new(scope, call, group, &dims);
        kept.wait(scope);
        teams.each_row(scope, &lines, |scope, index, is_there| {
            let row = lines.row(scope, index);
            let carried = RefCell::new(Carried::<E>::new(scope, lines.lanes(), first));
            each_chunk(
                scope,
                &teams,
                lines.steps,
                |scope, chunk, step, has_step| {
                    let elements = lines.read(scope, &row, step);
                    let found = carried
                        .borrow_mut()
                        .step::<O>(scope, &teams, chunk, elements);
                    branch::if_expand(scope, and(scope, is_there, has_step), |scope| {
                        let at = lines.at(scope, &row, step);
                        kept.put(scope, &at, join(scope, &found));
                    });
                },
            );
        });
        kept.wait(scope);
        kept.tile()
    }
}

/// Gives `body` the steps of a row, as many at a time as a team has units: the number of the chunk, this unit's step, and
/// whether there is one; where there is none, the last.
fn each_chunk(
    scope: &Scope,
    teams: &Teams,
    steps: usize,
    body: impl Fn(&Scope, NativeExpand<u32>, NativeExpand<u32>, NativeExpand<bool>),
) {
    let (steps, size) = (steps as u32, teams.size);
    let chunks = steps.div_ceil(size);
    let range = RangeExpand::new(0u32.into(), chunks.into());
    branch::for_expand(scope, range, false, |scope, chunk| {
        let step = match size {
            1 => chunk,
            _ => {
                let first = chunk.__expand_mul_method(scope, size.into());
                first.__expand_add_method(scope, teams.member)
            }
        };
        if steps.is_multiple_of(size) {
            return body(scope, chunk, step, true.into());
        }
        let has_step = step.__expand_lt_method(scope, &steps.into());
        let step = step.__expand_min_method(scope, (steps - 1).into());
        body(scope, chunk, step, has_step);
    });
}

/// What the chunks before have, for each line that is scanned at once.
struct Carried<E: Scalar> {
    totals: Vec<NativeExpand<E>>,
    /// Whether the elements themselves are left out, so that there is a total from the start.
    is_exclusive: bool,
}

impl<E: Scalar> Carried<E> {
    fn new(scope: &Scope, lanes: usize, first: Option<NativeExpand<E>>) -> Self {
        let start = first.unwrap_or_else(|| super::packet::number::<E>(scope, 0));
        Self {
            totals: (0..lanes).map(|_| start.into_mut(scope)).collect(),
            is_exclusive: first.is_some(),
        }
    }

    /// Scans one element of each line per unit of the team, after what is carried.
    fn step<O: Associative<E>>(
        &mut self,
        scope: &Scope,
        teams: &Teams,
        chunk: NativeExpand<u32>,
        elements: Vec<NativeExpand<E>>,
    ) -> Vec<NativeExpand<E>> {
        let lines = self.totals.iter_mut().zip(elements);
        lines
            .map(|(total, element)| {
                let before: NativeExpand<E> = total.read_value(scope).into();
                let within = match &teams.team {
                    None => element,
                    Some(team) => team.__expand_inclusive_scan_method::<E, O>(scope, element),
                };
                let after = O::__expand_combine(scope, before, within);
                let until = match self.is_exclusive {
                    true => after,
                    false => {
                        let is_first = chunk.__expand_eq_method(scope, &0u32.into());
                        select::expand::<E>(scope, is_first, within, after)
                    }
                };
                let all = last_of(scope, teams, until);
                total.__expand_assign_method(scope, all);
                match self.is_exclusive {
                    true => shifted(scope, teams, until, before),
                    false => until,
                }
            })
            .collect()
    }
}

/// What the last unit of the team has.
fn last_of<E: Scalar>(scope: &Scope, teams: &Teams, value: NativeExpand<E>) -> NativeExpand<E> {
    match &teams.team {
        None => value,
        Some(team) => team.__expand_broadcast_method::<E>(scope, value, (teams.size - 1).into()),
    }
}

/// What the unit before this one has; `first` on the first.
fn shifted<E: Scalar>(
    scope: &Scope,
    teams: &Teams,
    value: NativeExpand<E>,
    first: NativeExpand<E>,
) -> NativeExpand<E> {
    match &teams.team {
        None => first,
        Some(team) => {
            let (before, has_one) = team.__expand_shuffle_up_method::<E>(scope, value, 1u32.into());
            select::expand::<E>(scope, has_one, before, first)
        }
    }
}
