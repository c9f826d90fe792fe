//! [`Segment`]: the units of a group in one plane, and what they do by passing values from lane to lane.

mod reduce;
mod scan;

use super::super::group::GroupExpand;
use super::super::lanes;
use super::super::lower::{self, WordType, Words};
use super::super::machine::{Kernel, Machine};
use super::super::result::Placement;
use super::super::words;
use cubecl::ir::{ElemType, FloatKind, IntKind, UIntKind};
use cubecl::prelude::*;
pub(super) use reduce::has_instruction;
pub(super) use scan::has_differences;

/// A set of lanes of this plane, this one among them, in an order.
pub(super) struct Segment<'a> {
    kernel: &'a Kernel<'a>,
    /// What refusals name.
    call: &'a str,
    lanes: Words,
    /// This unit's rank in the segment.
    pub rank: NativeExpand<u32>,
    /// How many units the segment has.
    pub count: NativeExpand<u32>,
    order: Order,
}

/// How a lane is found by its rank.
#[derive(Clone, Copy)]
enum Order {
    /// Neighbours, from this lane on, which is a multiple of the number.
    Neighbours(NativeExpand<u32>, u32),
    /// In the order of lanes.
    Ascending,
    /// In any order: the unit that is number `i` of the lanes has the lane of rank `i`.
    Any(NativeExpand<u32>),
}

/// Each lane of the group tells its rank, and the unit that is number `i` of the lanes keeps the lane of rank `i`.
fn order_of_ranks(kernel: &Kernel<'_>, place: &Placement<Kernel<'_>>) -> NativeExpand<u32> {
    let scope = kernel.scope();
    let before = lanes::below(kernel, kernel.lane());
    let lower_lanes = lanes::each_word(kernel, |index| {
        let index = index as usize;
        kernel.bitand(place.lanes[index], before[index])
    });
    let number = lanes::count(kernel, lower_lanes);
    (0..kernel.widest_plane()).fold(kernel.lane(), |owner, lane| {
        let word = place.lanes[(lane / 32) as usize];
        let bit = kernel.bitand(word, (1u32 << (lane % 32)).into());
        let is_member = kernel.is_below(0u32.into(), bit);
        let from = kernel.select(is_member, lane.into(), kernel.lane());
        let told = lower::shuffle(kernel, place.unit_rank, from, place.lanes);
        let is_it = kernel.both(is_member, told.__expand_eq_method(scope, &number));
        kernel.select(is_it, lane.into(), owner)
    })
}

/// A scalar of 32 bits that sums take whole, by its type.
pub(super) fn word_type<E: CubePrimitive>(scope: &Scope) -> Option<WordType> {
    let of_scalar = match E::Scalar::elem_type(scope) {
        ElemType::Int(IntKind::I32) => WordType::Signed,
        ElemType::UInt(UIntKind::U32) => WordType::Unsigned,
        ElemType::Float(FloatKind::F32) => WordType::Float,
        _ => return None,
    };
    (E::__expand_vector_size(scope) == 1).then_some(of_scalar)
}

impl<'a> Segment<'a> {
    /// The first `count` lanes of this plane, all of which are here. Where the plane is a multiple of it, and `count` a power
    /// of two, the next lanes are a segment like it, and so on.
    pub(super) fn of_first_lanes(kernel: &'a Kernel<'a>, call: &'a str, count: u32) -> Self {
        let (lane, plane) = (kernel.lane(), kernel.widest_plane());
        let rank = match count.is_power_of_two() && count < plane {
            true => kernel.rem(lane, count.into()),
            false => lane,
        };
        let first = match count.is_power_of_two() && count < plane {
            true => kernel.sub(lane, rank),
            false => 0u32.into(),
        };
        Self {
            kernel,
            call,
            lanes: lanes::run(kernel, 0u32.into(), plane.into()),
            rank,
            count: count.into(),
            order: Order::Neighbours(first, count),
        }
    }

    /// A group within one plane.
    pub(super) fn of_group(kernel: &'a Kernel<'a>, call: &'a str, group: &GroupExpand) -> Self {
        let place = Placement::<Kernel<'_>>::from(group.result.clone());
        let properties = place.properties;
        let order = if properties.is_always_contiguous {
            let first = kernel.sub(kernel.lane(), place.unit_rank);
            Order::Neighbours(first, properties.alignment)
        } else if properties.is_always_ascending {
            Order::Ascending
        } else {
            Order::Any(order_of_ranks(kernel, &place))
        };
        Self {
            kernel,
            call,
            lanes: place.lanes,
            rank: place.unit_rank,
            count: place.unit_count,
            order,
        }
    }

    /// What this plane has of a group of neighbours that may go on in other planes.
    pub(super) fn of_part(kernel: &'a Kernel<'a>, call: &'a str, group: &GroupExpand) -> Self {
        let place = Placement::<Kernel<'_>>::from(group.result.clone());
        let lane = kernel.lane();
        let whole = kernel.plane().filter(|_| group.is_whole_planes(kernel));
        let (first, rank, count) = match whole {
            Some(plane) => (0u32.into(), lane, plane.into()),
            None => {
                let first = kernel.saturating_sub(lane, place.unit_rank);
                let count = lanes::count(kernel, place.lanes);
                (first, kernel.sub(lane, first), count)
            }
        };
        Self {
            kernel,
            call,
            lanes: place.lanes,
            rank,
            count,
            order: Order::Neighbours(first, if whole.is_some() { 0 } else { 1 }),
        }
    }

    fn scope(&self) -> &'a Scope {
        self.kernel.scope()
    }

    /// The strides of a walk over all ranks by powers of two.
    fn strides(&self) -> impl Iterator<Item = u32> + use<> {
        let most = self.kernel.constant(self.count);
        let most = most.unwrap_or(self.kernel.widest_plane());
        (0..32)
            .map(|power| 1 << power)
            .take_while(move |stride| *stride < most)
    }

    /// The lane of a rank that there is.
    fn lane_of(&self, rank: NativeExpand<u32>) -> NativeExpand<u32> {
        let kernel = self.kernel;
        match self.order {
            Order::Neighbours(first, _) => kernel.add(first, rank),
            Order::Ascending => lanes::ranked_lane(kernel, self.lanes, rank),
            Order::Any(owners) => {
                let keeper = lanes::ranked_lane(kernel, self.lanes, rank);
                lower::shuffle(kernel, owners, keeper, self.lanes)
            }
        }
    }

    /// What the unit of a rank has, and whether there is one; this unit's own value where there is none.
    pub(super) fn shuffle<E: CubePrimitive>(
        &self,
        value: NativeExpand<E>,
        rank: NativeExpand<u32>,
    ) -> (NativeExpand<E>, NativeExpand<bool>) {
        let is_there = self.kernel.is_below(rank, self.count);
        (self.fetch(value, rank, is_there), is_there)
    }

    /// What the unit of a rank has where `is_there`, else this unit's own value.
    fn fetch<E: CubePrimitive>(
        &self,
        value: NativeExpand<E>,
        rank: NativeExpand<u32>,
        is_there: NativeExpand<bool>,
    ) -> NativeExpand<E> {
        let kernel = self.kernel;
        let rank = kernel.select(is_there, rank, self.rank);
        let from = self.lane_of(rank);
        self.pass(value, |word| lower::shuffle(kernel, word, from, self.lanes))
    }

    fn pass<E: CubePrimitive>(
        &self,
        value: NativeExpand<E>,
        pass: impl Fn(NativeExpand<u32>) -> NativeExpand<u32>,
    ) -> NativeExpand<E> {
        let words = words::split::<E>(self.scope(), self.call, value);
        let passed: Vec<_> = words.into_iter().map(pass).collect();
        words::join::<E>(self.scope(), self.call, &passed)
    }
}
