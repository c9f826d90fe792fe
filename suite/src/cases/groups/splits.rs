//! Ways to tell a cube apart, in kernels and as lists of positions, and values to combine.

use cubecl::prelude::*;
use girih::coop::Associative;
use girih::prelude::*;
use girih_testkit::Rt;

use super::parents::Reverse;

/// How a cube is told apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Split {
    /// Each plane by a count.
    Neighbours { count: u32 },
    /// Each plane by a vote that as many lanes answer with yes.
    Scattered { count: u32 },
    /// Each plane by a count, ranked from its end.
    Reversed { count: u32 },
    /// The cube by a count.
    Cube { count: u32 },
    /// The cube by several counts.
    Parts { counts: Vec<u32> },
    /// The planes of the cube by a count.
    Planes { count: u32 },
}

impl Split {
    /// Whether it is one that other elements than the usual are asked for.
    pub(super) fn is_telling(&self, plane: u32) -> bool {
        match self {
            Self::Neighbours { count } | Self::Scattered { count } => is_telling(*count, plane),
            _ => true,
        }
    }

    /// Whether it is one of the few that every element and operation is asked for.
    pub(super) fn is_selected(&self, plane: u32) -> bool {
        match self {
            Self::Neighbours { count } => [3, plane / 2, plane].contains(count),
            Self::Scattered { count } => *count == plane.div_ceil(2),
            Self::Reversed { count } => *count == plane.min(5),
            _ => true,
        }
    }

    /// Whether each group is a part of a plane: its units alone then call collectives.
    pub(super) fn is_within_planes(&self) -> bool {
        matches!(
            self,
            Self::Neighbours { .. } | Self::Scattered { .. } | Self::Reversed { .. }
        )
    }
}

#[cube]
pub(super) fn group_of(#[comptime] split: Split) -> Group {
    match split {
        Split::Neighbours { count } => this_plane().partition_non_exhaustive(group_by(count)),
        Split::Scattered { count } => {
            let says_yes = (UNIT_POS_PLANE * 5 + 2) % PLANE_DIM < count;
            this_plane().partition(binary_partition(says_yes))
        }
        Split::Reversed { count } => {
            this_plane().partition_non_exhaustive(own::<Reverse>(Reverse {}) | group_by(count))
        }
        Split::Cube { count } => this_cube().partition_non_exhaustive(group_by(count)),
        Split::Parts { counts } => this_cube().partition(group_as(counts)),
        Split::Planes { count } => this_cube()
            .planes()
            .partition_non_exhaustive(group_by(count)),
    }
}

/// The groups as lists of positions, and how many units count as one.
pub(super) fn groups(split: &Split, units: u32, plane: u32) -> (Vec<Vec<u32>>, u32) {
    let planes: Vec<Vec<u32>> = (0..units / plane)
        .map(|index| (index * plane..(index + 1) * plane).collect())
        .collect();
    let all: Vec<u32> = (0..units).collect();
    let by = |units: &[u32], count: u32| -> Vec<Vec<u32>> {
        units
            .chunks_exact(count as usize)
            .map(<[u32]>::to_vec)
            .collect()
    };
    match split {
        Split::Neighbours { count } => (
            planes.iter().flat_map(|units| by(units, *count)).collect(),
            1,
        ),
        Split::Scattered { count } => {
            let sides = planes.iter().flat_map(|units| {
                let says_yes = |unit: &u32| (unit % plane * 5 + 2) % plane < *count;
                let (yes, no): (Vec<u32>, Vec<u32>) = units.iter().partition(|unit| says_yes(unit));
                [yes, no]
            });
            (sides.collect(), 1)
        }
        Split::Reversed { count } => {
            let reversed = planes.iter().flat_map(|units| {
                let units: Vec<u32> = units.iter().rev().copied().collect();
                by(&units, *count)
            });
            (reversed.collect(), 1)
        }
        Split::Cube { count } => (by(&all, *count), 1),
        Split::Parts { counts } => {
            let mut rest = all.as_slice();
            let parts = counts.iter().map(|count| {
                let (part, after) = rest.split_at(*count as usize);
                rest = after;
                part.to_vec()
            });
            (parts.collect(), 1)
        }
        Split::Planes { count } => {
            let heads: Vec<u32> = (0..units / plane).map(|index| index * plane).collect();
            (by(&heads, *count), plane)
        }
    }
}

/// Whether a count is one of those at which groups change their ways.
fn is_telling(count: u32, plane: u32) -> bool {
    plane <= 8 || [1, 2, 3, 5, 8, 16, 31, 32].contains(&count) || count == plane
}

/// Every split that a test asks: all sizes within a plane, many above.
pub(super) fn splits(rt: &Rt) -> (u32, u32, Vec<Split>) {
    let plane = rt.client.properties().hardware.plane_size_max;
    let planes = (rt.units / plane).min(5);
    let units = plane * planes;
    let mut splits = vec![];
    for count in 1..=plane {
        splits.push(Split::Neighbours { count });
        splits.push(Split::Scattered { count });
        if is_telling(count, plane) {
            splits.push(Split::Reversed { count });
        }
    }
    for count in 1..=planes {
        splits.push(Split::Cube {
            count: count * plane,
        });
        splits.push(Split::Planes { count });
    }
    for count in [plane + 1, 2 * plane - 1, units - 1]
        .into_iter()
        .filter(|count| *count > 0)
    {
        splits.push(Split::Cube {
            count: count.min(units),
        });
    }
    if units > 1 {
        splits.push(Split::Parts {
            counts: vec![1, units - 1],
        });
    }
    if units > 3 * plane && plane > 1 {
        splits.push(Split::Parts {
            counts: vec![plane - 1, plane, units - 2 * plane + 1],
        });
    }
    (units, plane, splits)
}

/// Bits without an order.
pub(super) fn mixed(unit: u32) -> u32 {
    unit.wrapping_mul(0x9e37_79b9) ^ 0x5bd1_e995
}

/// Composes affine functions modulo 2^16: the factor is in the lower half, the summand in the upper.
pub(super) struct Compose;

#[cube]
impl Associative<u32> for Compose {
    fn combine(first: u32, second: u32) -> u32 {
        let (a, b) = (first & 0xffff, first >> 16);
        let (c, d) = (second & 0xffff, second >> 16);
        ((a * c) & 0xffff) | (((b * c + d) & 0xffff) << 16)
    }
}

pub(super) fn compose(first: u32, second: u32) -> u32 {
    let (a, b) = (first & 0xffff, first >> 16);
    let (c, d) = (second & 0xffff, second >> 16);
    (a.wrapping_mul(c) & 0xffff) | (b.wrapping_mul(c).wrapping_add(d) << 16)
}
