//! What happens to an index that is out of range.
// CubeCL's macro writes an undocumented twin of `resolve`.
#![allow(missing_docs)]

use super::reporter::ReporterExpand;
use crate::handle::comptime_handle;
use crate::tile::TileShape;
use core::marker::PhantomData;
use cubecl::prelude::*;

/// What a view does with an index out of `0..extent`, along any axis.
///
/// An index below 0 is out of range, whatever its type. On an extent of 0 every index is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bounds {
    /// Nothing: every index is promised to be in range. One that is not is undefined behaviour.
    Assume,
    /// Loads give the padding, stores drop the element.
    Mask,
    /// Each index is moved to the nearest of `0..extent`; on an extent of 0, as [`Mask`](Self::Mask).
    Clamp,
    /// `-extent..0` counts from the end; the rest as [`Mask`](Self::Mask).
    Wrap,
    /// As [`Mask`](Self::Mask), and the first offence is kept on the device until [`check`](super::Checked::check).
    Report,
}

/// Rules for the indices of a tile of shape `S`: one [`Bounds`], or an array with one for each dimension of the tile.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no rule for the indices of a tile of shape `{S}`",
    note = "a rule is one `Bounds`, or an array with one for each dimension of the tile: `[Bounds::Mask, Bounds::Clamp]`"
)]
pub trait BoundsPack<S: TileShape> {}
impl<S: TileShape> BoundsPack<S> for Bounds {}

/// Any [`BoundsPack`], as one type.
#[derive(Clone, Debug)]
pub struct AxisBounds<S: TileShape> {
    given: Given,
    _shape: PhantomData<S>,
}

#[derive(Clone, Debug)]
enum Given {
    One(Bounds),
    Each(Vec<Bounds>),
}

impl<S: TileShape> From<Bounds> for AxisBounds<S> {
    fn from(bounds: Bounds) -> Self {
        Self {
            given: Given::One(bounds),
            _shape: PhantomData,
        }
    }
}

macro_rules! bounds_pack {
    ($rank:literal: $($dim:ident),*) => {
        impl<$($dim: Size),*> BoundsPack<($($dim,)*)> for [Bounds; $rank] {}
        impl<$($dim: Size),*> From<[Bounds; $rank]> for AxisBounds<($($dim,)*)> {
            fn from(bounds: [Bounds; $rank]) -> Self {
                Self { given: Given::Each(bounds.into()), _shape: PhantomData }
            }
        }
    };
}
bounds_pack!(1: A);
bounds_pack!(2: A, B);
bounds_pack!(3: A, B, C);
bounds_pack!(4: A, B, C, D);
bounds_pack!(5: A, B, C, D, F);

/// Where in range an index points under a rule, and whether it does (`true` under [`Bounds::Assume`]): what views do with
/// each index, for kernels that have none. Where it does not, the place means nothing. A report is the caller's to make.
///
/// ```
/// use cubecl::prelude::*;
/// use girih::prelude::*;
/// use girih::view::resolve;
///
/// /// Marks the rows that are named.
/// #[cube(launch_unchecked)]
/// fn mark(index: &[i32], marks: &mut [u32]) {
///     if ABSOLUTE_POS < index.len() {
///         let (row, is_one) = resolve::<i32>(index[ABSOLUTE_POS], marks.len(), Bounds::Wrap);
///         if is_one {
///             marks[row] = 1u32;
///         }
///     }
/// }
/// # fn main() {}
/// ```
#[cube]
pub fn resolve<I: Int>(index: I, extent: usize, #[comptime] bounds: Bounds) -> (usize, bool) {
    let zero = I::from_int(0);
    match comptime!(bounds) {
        Bounds::Assume => (usize::cast_from(index), true.runtime()),
        Bounds::Mask | Bounds::Report => (
            usize::cast_from(index),
            index >= zero && below::<I>(index, extent),
        ),
        Bounds::Clamp => {
            let inside = select(
                below::<I>(index, extent),
                usize::cast_from(index),
                extent - 1,
            );
            (select(index < zero, 0usize, inside), extent > 0)
        }
        Bounds::Wrap => {
            // -1 - index, without the overflow that -index has at the type's minimum.
            let from_end = !index;
            let distance = select(index < zero, from_end, index);
            let inside = below::<I>(distance, extent);
            let forward = usize::cast_from(distance);
            (select(index < zero, extent - 1 - forward, forward), inside)
        }
    }
}

/// `index < extent` for an index that is not negative, in whichever of the two types holds both.
#[cube]
fn below<I: Int>(index: I, extent: usize) -> bool {
    let elem = elem_type_of::<I>();
    if comptime!(elem.size() == 8) {
        index < I::cast_from(extent)
    } else {
        usize::cast_from(index) < extent
    }
}

/// How a view treats its indices, while the kernel is expanded.
#[derive(Clone)]
pub(super) struct Policy {
    pub bounds: Bounds,
    pub reporter: Option<ReporterExpand>,
}
comptime_handle!([] Policy);

impl Policy {
    /// Every index is promised to be in range.
    pub(super) fn promise() -> Self {
        Self {
            bounds: Bounds::Assume,
            reporter: None,
        }
    }

    /// These bounds, asked for by `view`. A report needs to be told where to keep the offence.
    pub(super) fn of(view: &str, bounds: Bounds) -> Self {
        assert!(
            bounds != Bounds::Report,
            "girih: {view}::bounds: Bounds::Report; call `report(reporter)`, which says where to keep the offence"
        );
        Self {
            bounds,
            reporter: None,
        }
    }

    /// Masked, and the first offence kept.
    pub(super) fn report(reporter: ReporterExpand) -> Self {
        Self {
            bounds: Bounds::Report,
            reporter: Some(reporter),
        }
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            bounds: Bounds::Mask,
            reporter: None,
        }
    }
}

/// How a view treats the indices along each dimension of its tile, while the kernel is expanded.
#[derive(Clone)]
pub(super) struct Rules {
    /// Where a dimension lists its indices.
    listed: Policy,
    /// Where it does not.
    run: Policy,
    /// Whether one rule for the view is a rule for dimensions without a list as well.
    whole: bool,
    /// One for each dimension, which go before the two above.
    each: Vec<Policy>,
    reporter: Option<ReporterExpand>,
}

impl Rules {
    /// Everything is masked, and one rule for the view is one for the dimensions that list their indices.
    pub(super) fn of_lists() -> Self {
        Self {
            listed: Policy::default(),
            run: Policy::default(),
            whole: false,
            each: vec![],
            reporter: None,
        }
    }

    /// Everything is masked, and one rule for the view is one for every dimension.
    pub(super) fn of_every_dimension() -> Self {
        Self {
            whole: true,
            ..Self::of_lists()
        }
    }

    /// Every index is promised to be in range.
    pub(super) fn promise() -> Self {
        Self {
            listed: Policy::promise(),
            run: Policy::promise(),
            ..Self::of_every_dimension()
        }
    }

    /// The rules that `view` is asked for.
    pub(super) fn with<S: TileShape>(mut self, view: &str, bounds: AxisBounds<S>) -> Self {
        match bounds.given {
            Given::One(bounds) => {
                let policy = self.policy_of(view, bounds);
                self.set(policy);
            }
            Given::Each(each) => {
                let each = each.into_iter();
                self.each = each.map(|bounds| self.policy_of(view, bounds)).collect();
            }
        }
        self
    }

    /// [`Bounds::Report`], to this reporter.
    pub(super) fn report(mut self, reporter: ReporterExpand) -> Self {
        self.reporter = Some(reporter.clone());
        self.set(Policy::report(reporter));
        self
    }

    /// How indices along dimension `dim` of the tile are treated, which lists them or not.
    pub(super) fn policy(&self, dim: usize, is_listed: bool) -> Policy {
        let one = if is_listed { &self.listed } else { &self.run };
        self.each.get(dim).unwrap_or(one).clone()
    }

    fn policy_of(&self, view: &str, bounds: Bounds) -> Policy {
        match (bounds, &self.reporter) {
            (Bounds::Report, Some(reporter)) => Policy::report(reporter.clone()),
            _ => Policy::of(view, bounds),
        }
    }

    fn set(&mut self, policy: Policy) {
        if self.whole {
            self.run = policy.clone();
        }
        self.listed = policy;
        self.each.clear();
    }
}
