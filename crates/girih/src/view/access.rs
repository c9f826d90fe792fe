//! From coordinates of a tile to elements of memory.

use super::bounds::{Bounds, Policy};
use super::list::List;
pub(super) use super::region::Region;
use super::start::{First, StartExpand, and, choose};
use crate::tile::Spread;
use cubecl::frontend::branch;
use cubecl::prelude::*;

/// How the coordinates of a tile map to one axis of memory.
#[derive(Clone)]
pub(super) struct Axis {
    /// The tile's dimension that runs along it.
    pub dim: usize,
    pub way: Way,
    pub policy: Policy,
}

/// What the coordinate along a dimension stands for.
#[derive(Clone)]
pub(super) enum Way {
    /// The element so many after `start` (which counts in `step`s where it is a tile number).
    Run { step: usize, start: StartExpand },
    /// An entry of a list of elements.
    List(List),
}

/// A position along an axis.
#[derive(Clone, Copy)]
pub(super) struct Position {
    pub element: NativeExpand<usize>,
    /// Whether the element is one of the axis (`None`: that is promised).
    pub valid: Option<NativeExpand<bool>>,
    /// Whether the list has the entry at all (`None`: it has).
    pub present: Option<NativeExpand<bool>>,
    /// Whether a run was left for the nearest element, which its neighbours have too (`None`: it was not).
    pub moved: Option<NativeExpand<bool>>,
}

/// One call's map from a tile to a region.
#[derive(Clone)]
pub(super) struct Access {
    /// One per axis of memory.
    pub axes: Vec<Axis>,
}

/// Where the coordinates of a tile lead.
pub(super) struct Place {
    /// The element along each axis.
    pub elements: Vec<NativeExpand<usize>>,
    /// Whether all are in range (`None`: that is promised).
    pub in_range: Option<NativeExpand<bool>>,
    /// As [`Position::moved`], along the last axis.
    pub moved: Option<NativeExpand<bool>>,
}

impl Axis {
    /// Where the coordinate leads along an axis of that extent.
    pub(super) fn position(
        &self,
        scope: &Scope,
        coordinate: NativeExpand<u32>,
        extent: NativeExpand<usize>,
    ) -> Position {
        let bounds = self.policy.bounds;
        match &self.way {
            Way::List(list) => list.position(scope, coordinate, extent, bounds),
            Way::Run { step, start } => start
                .first(scope, *step)
                .position(scope, coordinate, extent, bounds),
        }
    }

    /// Tells the reporter of the index at the coordinate.
    fn report(&self, scope: &Scope, axis: usize, coordinate: NativeExpand<u32>) {
        let Some(reporter) = &self.policy.reporter else {
            return;
        };
        match &self.way {
            Way::List(_) => reporter.offend_in_list(scope, axis, coordinate),
            Way::Run { step, start } => {
                let index = start.first(scope, *step).index(scope, coordinate);
                reporter.offend_in_run(scope, axis, index);
            }
        }
    }
}

impl First {
    /// The element `coordinate` steps further, along an axis of that extent.
    fn position(
        &self,
        scope: &Scope,
        coordinate: NativeExpand<u32>,
        extent: NativeExpand<usize>,
        bounds: Bounds,
    ) -> Position {
        let element = self.element(scope, coordinate);
        let found = |element, valid| Position {
            element,
            valid: Some(valid),
            present: None,
            moved: None,
        };
        if bounds == Bounds::Assume {
            return Position {
                valid: None,
                ..found(element, true.into())
            };
        }
        let below = self.is_below(scope, coordinate);
        let inside = self.is_inside(scope, element, extent);
        let not_below = below.map(|below| below.__expand_not_method(scope));
        let valid = match not_below {
            Some(not_below) => and(scope, not_below, inside),
            None => inside,
        };
        match bounds {
            Bounds::Clamp => {
                let last = extent.__expand_sub_method(scope, 1usize.into());
                let nearest = choose(scope, inside, element, |_| last);
                let nearest = match below {
                    Some(below) => choose(scope, below, 0usize.into(), |_| nearest),
                    None => nearest,
                };
                let any = extent.__expand_gt_method(scope, &0usize.into());
                Position {
                    moved: Some(valid.__expand_not_method(scope)),
                    ..found(nearest, any)
                }
            }
            Bounds::Wrap => {
                let Some(below) = below else {
                    return found(element, valid);
                };
                let distance = self.distance_below(scope, coordinate);
                let from_end = extent.__expand_sub_method(scope, distance);
                let reaches = distance.__expand_le_method(scope, &extent);
                let wrapped = and(scope, below, reaches);
                let element = choose(scope, below, from_end, |_| element);
                found(element, wrapped.__expand_or_method(scope, valid))
            }
            _ => found(element, valid),
        }
    }
}

impl Access {
    /// Where these coordinates lead in a region; what is out of range is reported where that is asked for.
    pub(super) fn locate<E: Scalar>(
        &self,
        scope: &Scope,
        region: &Region<E>,
        at: &[NativeExpand<u32>],
    ) -> Place {
        let axes = self.axes.iter().enumerate();
        let positions: Vec<_> = axes
            .map(|(index, axis)| axis.position(scope, at[axis.dim], region.extent(index)))
            .collect();
        let present = all(scope, positions.iter().map(|position| position.present));
        for (index, axis) in self.axes.iter().enumerate() {
            if let (Bounds::Report, Some(valid)) = (axis.policy.bounds, positions[index].valid) {
                let bad = Some(valid.__expand_not_method(scope));
                if let Some(bad) = all(scope, [present, bad]) {
                    let coordinate = at[axis.dim];
                    branch::if_expand(scope, bad, |scope| axis.report(scope, index, coordinate));
                }
            }
        }
        let valid = all(scope, positions.iter().map(|position| position.valid));
        Place {
            elements: positions.iter().map(|position| position.element).collect(),
            in_range: all(scope, [present, valid]),
            moved: positions.last().and_then(|position| position.moved),
        }
    }

    /// Whether every packet of the spread is a whole vector of memory that is made of vectors of the packets' width:
    /// `None` where only the kernel can say.
    pub(super) fn whole_vectors(&self, spread: &Spread, rank: usize) -> Option<bool> {
        let strides = self.strides(spread.width() as u64, rank);
        let whole = |start| spread.is_whole_vectors(&strides, start);
        match self.aligned(spread.width()) {
            Some(aligned) => Some(whole(u64::from(!aligned))),
            None if whole(0) => None,
            None => Some(false),
        }
    }

    /// How far one step along each tile dimension leads in memory of vectors of `width` elements, as far as it is known
    /// before the kernel runs: along the last axis one element, along any other some multiple of the width, for which
    /// the width stands. A list along the last axis leads anywhere, for which one more than the width stands: neither
    /// the next element nor an aligned one.
    fn strides(&self, width: u64, rank: usize) -> Vec<u64> {
        let mut strides = vec![0; rank];
        let last = self.axes.len() - 1;
        for (at, axis) in self.axes.iter().enumerate() {
            strides[axis.dim] = match &axis.way {
                Way::Run { .. } if at == last => 1,
                Way::List(_) if at == last => width + 1,
                Way::Run { .. } | Way::List(_) => width,
            };
        }
        strides
    }

    /// Whether the tile starts at a multiple of `width` elements along the last axis: `None` where only the kernel can
    /// say.
    fn aligned(&self, width: usize) -> Option<bool> {
        match self.last() {
            Way::Run { step, start } => start.aligned(*step, width),
            Way::List(_) => Some(true),
        }
    }

    /// Where the run of the last axis starts, modulo `width`: 0 for whole vectors alone.
    pub(super) fn misalignment(&self, scope: &Scope, width: usize) -> NativeExpand<usize> {
        match self.last() {
            Way::Run { step, start } => start.first(scope, *step).misalignment(scope, width),
            Way::List(_) => unreachable!("only a run has an alignment that the kernel must ask"),
        }
    }

    /// Whether elements of a run along the last axis may be moved to its ends.
    pub(super) fn is_clamped(&self) -> bool {
        let last = self.axes.last().expect("memory has an axis");
        matches!(last.way, Way::Run { .. }) && last.policy.bounds == Bounds::Clamp
    }

    fn last(&self) -> &Way {
        &self.axes.last().expect("memory has an axis").way
    }
}

/// Whether all of these hold (`None`: nothing is asked).
pub(super) fn all(
    scope: &Scope,
    conditions: impl IntoIterator<Item = Option<NativeExpand<bool>>>,
) -> Option<NativeExpand<bool>> {
    let conditions = conditions.into_iter().flatten();
    conditions.reduce(|a, b| and(scope, a, b))
}
