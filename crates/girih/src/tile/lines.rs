//! The lines of a tile along a dimension, and who of a group reads which.

use super::packet::lanes;
use super::spread::coordinates;
use super::{Packet, TileExpand, TileShape};
use crate::coop::{GroupExpand, group_by};
use crate::layout::Number;
use cubecl::frontend::branch;
use cubecl::prelude::*;
use std::rc::Rc;

/// Gives the packet at coordinates.
type Read<E> = dyn Fn(&Scope, &[NativeExpand<u32>], usize) -> Packet<E>;

/// Elements of some extents that any unit of a group can ask for, whatever type their shape has.
pub(super) struct Source<E: Scalar> {
    pub dims: Vec<usize>,
    width: usize,
    read: Rc<Read<E>>,
}

impl<E: Scalar> Source<E> {
    /// A tile.
    pub(super) fn of<S: TileShape>(scope: &Scope, tile: &TileExpand<E, S>) -> Self {
        let tile = tile.clone();
        Self {
            dims: S::__expand_dims(scope),
            width: tile.width(),
            read: Rc::new(move |scope, at, width| tile.packet_at(scope, at, width)),
        }
    }

    /// All elements of a tile in row-major order, in one dimension.
    pub(super) fn flat<S: TileShape>(scope: &Scope, tile: &TileExpand<E, S>) -> Self {
        let Self { dims, width, read } = Self::of(scope, tile);
        let len: usize = dims.iter().product();
        let is_whole = dims[dims.len() - 1].is_multiple_of(width);
        Self {
            width: if is_whole { width } else { 1 },
            read: Rc::new(move |scope, at, width| {
                let position = Number::below(at[0], len as u64);
                read(scope, &coordinates(scope, &dims, position), width)
            }),
            dims: vec![len],
        }
    }
}

/// A source as lines along a dimension, `width` of which are read at once where that is not the last one.
pub(super) struct Lines<E: Scalar> {
    source: Source<E>,
    axis: usize,
    pub width: usize,
    pub is_last: bool,
    /// The extents that a number of a row counts through: 1 along the lines.
    row_dims: Vec<usize>,
    /// How many rows of lines there are.
    pub rows: usize,
    /// How many packets a row has along the lines.
    pub steps: usize,
}

/// A row of lines: the coordinates of its first packet.
pub(super) struct Row(Vec<NativeExpand<u32>>);

impl<E: Scalar> Lines<E> {
    /// The lines along `axis`, in packets no wider than `most`.
    pub(super) fn new(source: Source<E>, axis: usize, most: usize) -> Self {
        let last = source.dims.len() - 1;
        let width = match source.width <= most && source.dims[last].is_multiple_of(source.width) {
            true => source.width,
            false => 1,
        };
        let is_last = axis == last;
        let mut row_dims = source.dims.clone();
        row_dims[last] /= width;
        let steps = row_dims[axis];
        row_dims[axis] = 1;
        Self {
            rows: row_dims.iter().product(),
            steps,
            width,
            is_last,
            axis,
            row_dims,
            source,
        }
    }

    pub(super) fn dims(&self) -> &[usize] {
        &self.source.dims
    }

    /// How many lines are read at once.
    pub(super) fn lanes(&self) -> usize {
        if self.is_last { 1 } else { self.width }
    }

    /// The row of a number.
    pub(super) fn row(&self, scope: &Scope, number: Number) -> Row {
        let mut at = coordinates(scope, &self.row_dims, number);
        if !self.is_last && self.width > 1 {
            let last = at.len() - 1;
            at[last] = at[last].__expand_mul_method(scope, (self.width as u32).into());
        }
        Row(at)
    }

    /// The coordinates of a packet of a row.
    pub(super) fn at(
        &self,
        scope: &Scope,
        row: &Row,
        step: NativeExpand<u32>,
    ) -> Vec<NativeExpand<u32>> {
        let mut at = row.0.clone();
        at[self.axis] = match self.is_last && self.width > 1 {
            true => step.__expand_mul_method(scope, (self.width as u32).into()),
            false => step,
        };
        at
    }

    /// The elements of a packet of a row: along the lines if these are along the last dimension, else one of each.
    pub(super) fn read(
        &self,
        scope: &Scope,
        row: &Row,
        step: NativeExpand<u32>,
    ) -> Vec<NativeExpand<E>> {
        let at = self.at(scope, row, step);
        lanes(scope, (self.source.read)(scope, &at, self.width))
    }

    /// The extents with 1 along the lines.
    pub(super) fn reduced_dims(&self) -> Vec<usize> {
        let mut dims = self.source.dims.clone();
        dims[self.axis] = 1;
        dims
    }
}

/// A group as teams of equal size, each of which has a row of lines at a time.
pub(super) struct Teams {
    /// Units of a team.
    pub size: u32,
    /// Teams of the group.
    count: u32,
    /// Units of the group.
    units: u32,
    /// The rank of this unit in its team.
    pub member: NativeExpand<u32>,
    /// The rank of this unit's team.
    rank: NativeExpand<u32>,
    /// The team, where it has several units.
    pub team: Option<GroupExpand>,
}

/// What a team does for each row, and so what it costs.
#[derive(Clone, Copy)]
pub(super) enum Work {
    /// Each unit reads its part of the row, then all combine once.
    Reduce,
    /// All combine at every step.
    Scan,
}

/// What waiting for shared memory costs, in elements read.
const WAIT: u64 = 24;

impl Teams {
    pub(super) fn new<E: Scalar>(
        scope: &Scope,
        call: &str,
        group: &GroupExpand,
        lines: &Lines<E>,
        work: Work,
    ) -> Self {
        let units = group.holders(call);
        let size = team_size(lines, units, group.largest_team(scope), work);
        let (team, member, rank) = match size {
            1 => (None, 0u32.into(), group.rank()),
            _ if size == units => (Some(group.clone()), group.rank(), 0u32.into()),
            _ => {
                let mapping = group_by::expand(scope, size.into());
                let team = group.__expand_partition_method(scope, mapping);
                let (member, rank) = (team.rank(), team.__expand_group_rank_method(scope));
                (Some(team), member, rank)
            }
        };
        Self {
            size,
            count: units / size,
            units,
            member,
            rank,
            team,
        }
    }

    /// Whether all units of the group are one team.
    pub(super) fn is_one(&self) -> bool {
        self.size == self.units
    }

    /// Gives `body` each row that this unit's team has, and whether it has one: a team that has none goes along with the
    /// others on the last row.
    pub(super) fn each_row<E: Scalar>(
        &self,
        scope: &Scope,
        lines: &Lines<E>,
        body: impl Fn(&Scope, Number, NativeExpand<bool>),
    ) {
        let (rows, count) = (lines.rows as u32, self.count);
        let rounds = rows.div_ceil(count);
        let range = RangeExpand::new(0u32.into(), rounds.into());
        branch::for_expand(scope, range, false, |scope, round| {
            let row = match round.constant() {
                Some(_) => self.rank,
                None if count == 1 => round,
                None => {
                    let first = round.__expand_mul_method(scope, count.into());
                    first.__expand_add_method(scope, self.rank)
                }
            };
            if rows.is_multiple_of(count) {
                return body(scope, Number::below(row, rows.into()), true.into());
            }
            let is_there = row.__expand_lt_method(scope, &rows.into());
            let row = row.__expand_min_method(scope, (rows - 1).into());
            body(scope, Number::below(row, rows.into()), is_there);
        });
    }

    /// The steps of a row that this unit reads: the first, how far apart they are, and how many; at least one.
    pub(super) fn share(&self, scope: &Scope, steps: usize, in_order: bool) -> Steps {
        let (steps, size, member) = (steps as u32, self.size, self.member);
        let (each, rest) = (steps / size, steps % size);
        let (count, first) = match rest {
            0 => (each.into(), member.__expand_mul_method(scope, each.into())),
            _ => {
                let has_more = member.__expand_lt_method(scope, &rest.into());
                let count = select::expand::<u32>(scope, has_more, (each + 1).into(), each.into());
                let before = member.__expand_mul_method(scope, each.into());
                let more = member.__expand_min_method(scope, rest.into());
                (count, before.__expand_add_method(scope, more))
            }
        };
        match in_order {
            _ if size == 1 => Steps {
                first: 0u32.into(),
                stride: 1,
                count,
            },
            true => Steps {
                first,
                stride: 1,
                count,
            },
            false => Steps {
                first: member,
                stride: size,
                count,
            },
        }
    }

    /// Whether this unit speaks for its team.
    pub(super) fn is_first(&self, scope: &Scope) -> NativeExpand<bool> {
        match self.size {
            1 => true.into(),
            _ => self.member.__expand_eq_method(scope, &0u32.into()),
        }
    }
}

/// The steps of a row that a unit reads.
pub(super) struct Steps {
    first: NativeExpand<u32>,
    stride: u32,
    count: NativeExpand<u32>,
}

/// A loop over at most this many steps is unrolled, so that its loads are all in flight together.
const UNROLL: u64 = 4;

impl Steps {
    pub(super) fn first(&self) -> NativeExpand<u32> {
        self.first
    }

    /// Gives `body` each step but the first.
    pub(super) fn each_later(&self, scope: &Scope, body: impl Fn(&Scope, NativeExpand<u32>)) {
        let known = self.count.constant().map(|count| count.as_u64());
        if known == Some(1) {
            return;
        }
        let unroll = known.is_some_and(|count| count <= UNROLL);
        let range = RangeExpand::new(1u32.into(), self.count);
        branch::for_expand(scope, range, unroll, |scope, turn| {
            let distance = match self.stride {
                1 => turn,
                stride => turn.__expand_mul_method(scope, stride.into()),
            };
            body(scope, self.first.__expand_add_method(scope, distance));
        });
    }
}

/// The size of teams that takes the fewest steps: a power of two of neighbours in a plane, or all units.
fn team_size<E: Scalar>(lines: &Lines<E>, units: u32, largest: u32, work: Work) -> u32 {
    let (rows, steps) = (lines.rows as u64, lines.steps as u64);
    let cost = |size: u32| {
        let size_of = u64::from(size);
        let rounds = rows.div_ceil(u64::from(units / size));
        let turns = steps.div_ceil(size_of);
        // Neighbours read neighbours where the team is wide, or the lines are not along the last dimension.
        let read = match lines.is_last && largest > 1 {
            true => (8 / size_of).max(1),
            false => 1,
        };
        let wait = if size > largest { WAIT } else { 0 };
        let combine = u64::from(size.next_power_of_two().ilog2()) * 2 + wait;
        match work {
            Work::Reduce => rounds * (turns * read + combine),
            Work::Scan => rounds * turns * (read + combine),
        }
    };
    (0..=largest.ilog2())
        .map(|power| 1 << power)
        .chain([units])
        .filter(|&size| size == 1 || u64::from(size) <= steps)
        .min_by_key(|&size| cost(size))
        .unwrap_or(1)
}

/// Whether both are true.
pub(super) fn and(
    scope: &Scope,
    a: NativeExpand<bool>,
    b: NativeExpand<bool>,
) -> NativeExpand<bool> {
    match (a.constant(), b.constant()) {
        (Some(known), _) if known.as_bool() => b,
        (_, Some(known)) if known.as_bool() => a,
        _ => a.__expand_and_method(scope, b),
    }
}
