//! [`Segment`]: the units of a group in one plane, and what they do by passing values from lane to lane.

use super::super::group::GroupExpand;
use super::super::lanes;
use super::super::lower::{self, WordType, Words};
use super::super::machine::{Kernel, Machine};
use super::super::operators::{Associative, Known};
use super::super::result::Placement;
use super::super::words;
use cubecl::ir::{ElemType, FloatKind, IntKind, UIntKind};
use cubecl::prelude::*;

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

/// Whether the target has an instruction that combines what all lanes of a plane have.
pub(super) fn has_instruction<E: CubePrimitive, O: Associative<E>>(kernel: &Kernel<'_>) -> bool {
    let is_integer = matches!(
        word_type::<E>(kernel.scope()),
        Some(WordType::Signed | WordType::Unsigned)
    );
    is_integer && O::KNOWN.is_some_and(|operation| lower::reduces(kernel, operation))
}

/// Whether what comes before a value is its sum less the value, and nothing is 0.
pub(super) fn has_differences<E: CubePrimitive, O: Associative<E>>(scope: &Scope) -> bool {
    let is_integer = matches!(
        word_type::<E>(scope),
        Some(WordType::Signed | WordType::Unsigned)
    );
    is_integer && O::KNOWN == Some(Known::Sum)
}

/// Whether the target adds floats from lane to lane in a way that also gives what comes before them.
fn adds_floats<E: CubePrimitive, O: Associative<E>>(kernel: &Kernel<'_>) -> bool {
    let is_float = word_type::<E>(kernel.scope()) == Some(WordType::Float);
    is_float && O::KNOWN == Some(Known::Sum) && kernel.is_ptx()
}

/// What leaves a value as it is when it is combined with it.
const fn neutral(operation: Known, ty: WordType) -> u32 {
    match (operation, ty) {
        (Known::Sum | Known::Or | Known::Xor, _) => 0,
        (Known::Product, _) => 1,
        (Known::And, _) => u32::MAX,
        (Known::Min, WordType::Signed) => i32::MAX as u32,
        (Known::Max, WordType::Signed) => i32::MIN as u32,
        (Known::Min, _) => u32::MAX,
        (Known::Max, _) => 0,
    }
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

    /// All values combined: on every unit, or where `everywhere` is not asked for on the first at least.
    pub(super) fn reduce<E: CubePrimitive, O: Associative<E>>(
        &self,
        value: NativeExpand<E>,
        everywhere: bool,
    ) -> NativeExpand<E> {
        if self.kernel.constant(self.count) == Some(1) {
            return value;
        }
        // Groups of one plane take turns at an instruction that combines all of its lanes: of few neighbours the
        // shuffles are fewer.
        let count = self.kernel.constant(self.count);
        let is_neighbours = matches!(self.order, Order::Neighbours(..));
        let is_whole = count.is_some() && count == self.kernel.plane();
        if (!is_neighbours || is_whole)
            && let Some(reduced) = self.reduce_at_once::<E, O>(value)
        {
            return reduced;
        }
        if let Some(reduced) = self.reduce_by_exchange::<E, O>(value) {
            return reduced;
        }
        let mut value = value;
        for stride in self.strides() {
            let rank = self.kernel.add(self.rank, stride.into());
            let (other, is_there) = self.shuffle(value, rank);
            let both = O::__expand_combine(self.scope(), value, other);
            value = select::expand::<E>(self.scope(), is_there, both, value);
        }
        match everywhere {
            true => self.fetch(value, 0u32.into(), true.into()),
            false => value,
        }
    }

    /// By one instruction for integers of 32 bits.
    fn reduce_at_once<E: CubePrimitive, O: Associative<E>>(
        &self,
        value: NativeExpand<E>,
    ) -> Option<NativeExpand<E>> {
        if !has_instruction::<E, O>(self.kernel) {
            return None;
        }
        let is_signed = word_type::<E>(self.scope()) == Some(WordType::Signed);
        let word = words::split::<E>(self.scope(), self.call, value)[0];
        let reduced = lower::reduce(self.kernel, word, O::KNOWN?, is_signed, self.lanes)?;
        Some(words::join::<E>(self.scope(), self.call, &[reduced]))
    }

    /// The same of lanes whose number is below `end`; what combines to nothing, or anything, where there are none.
    fn reduce_at_once_below<E: CubePrimitive, O: Associative<E>>(
        &self,
        value: NativeExpand<E>,
        end: NativeExpand<u32>,
    ) -> Option<NativeExpand<E>> {
        let (kernel, scope) = (self.kernel, self.scope());
        if !has_instruction::<E, O>(kernel) {
            return None;
        }
        let nothing = neutral(O::KNOWN?, word_type::<E>(scope)?);
        let word = words::split::<E>(scope, self.call, value)[0];
        let is_one = kernel.is_below(kernel.lane(), end);
        let word = kernel.select(is_one, word, nothing.into());
        self.reduce_at_once::<E, O>(words::join::<E>(scope, self.call, &[word]))
    }

    /// All values of the [first lanes](Self::of_first_lanes), on every lane of the plane. The lanes after them hold the same
    /// values over again.
    pub(super) fn reduce_repeated<E: CubePrimitive, O: Associative<E>>(
        &self,
        value: NativeExpand<E>,
    ) -> NativeExpand<E> {
        let is_whole = self.kernel.constant(self.count) == self.kernel.plane();
        match is_whole {
            true => None,
            false => self.reduce_at_once_below::<E, O>(value, self.count),
        }
        .unwrap_or_else(|| self.reduce::<E, O>(value, true))
    }

    /// Of the [first lanes](Self::of_first_lanes), the values of those below `end`, on every lane; anything where that is 0.
    /// The lanes after them hold the same values over again.
    pub(super) fn reduce_below<E: CubePrimitive, O: Associative<E>>(
        &self,
        value: NativeExpand<E>,
        end: NativeExpand<u32>,
    ) -> NativeExpand<E> {
        if let Some(reduced) = self.reduce_at_once_below::<E, O>(value, end) {
            return reduced;
        }
        let scanned = self.scan::<E, O>(value);
        let last = self.kernel.saturating_sub(end, 1u32.into());
        self.pass(scanned, |word| {
            lower::shuffle(self.kernel, word, last, self.lanes)
        })
    }

    /// Of a power of two of neighbours: each step doubles what a unit has, and all have all at the end.
    fn reduce_by_exchange<E: CubePrimitive, O: Associative<E>>(
        &self,
        value: NativeExpand<E>,
    ) -> Option<NativeExpand<E>> {
        let (kernel, scope) = (self.kernel, self.scope());
        let count = kernel.constant(self.count)?;
        let Order::Neighbours(_, alignment) = self.order else {
            return None;
        };
        if !count.is_power_of_two() || !alignment.is_multiple_of(count) {
            return None;
        }
        let mut value = value;
        for stride in self.strides() {
            let other = self.pass(value, |word| {
                lower::exchange(kernel, word, stride, self.lanes)
            });
            // A known operation commutes.
            let (first, second) = match O::KNOWN {
                Some(_) => (value, other),
                None => {
                    let bit = kernel.bitand(self.rank, stride.into());
                    let is_upper = kernel.is_below(0u32.into(), bit);
                    let first = select::expand::<E>(scope, is_upper, other, value);
                    (first, select::expand::<E>(scope, is_upper, value, other))
                }
            };
            value = O::__expand_combine(scope, first, second);
        }
        Some(value)
    }

    /// The values up to this unit's combined.
    pub(super) fn scan<E: CubePrimitive, O: Associative<E>>(
        &self,
        value: NativeExpand<E>,
    ) -> NativeExpand<E> {
        if let Some(sums) = self.sums::<E, O>(value) {
            return sums;
        }
        self.strides().fold(value, |value, stride| {
            self.combine_from_before::<E, O>(value, stride)
        })
    }

    /// The same of sums of neighbours, in two instructions a step where the target has them.
    fn sums<E: CubePrimitive, O: Associative<E>>(
        &self,
        value: NativeExpand<E>,
    ) -> Option<NativeExpand<E>> {
        let Order::Neighbours(first, _) = self.order else {
            return None;
        };
        let ty = word_type::<E>(self.scope())?;
        if O::KNOWN != Some(Known::Sum) {
            return None;
        }
        let strides: Vec<u32> = self.strides().collect();
        let word = words::split::<E>(self.scope(), self.call, value)[0];
        let sums = lower::sums_of_neighbours(self.kernel, word, ty, &strides, first, self.lanes)?;
        Some(words::join::<E>(self.scope(), self.call, &[sums]))
    }

    fn combine_from_before<E: CubePrimitive, O: Associative<E>>(
        &self,
        value: NativeExpand<E>,
        stride: u32,
    ) -> NativeExpand<E> {
        let kernel = self.kernel;
        let is_first = kernel.is_below(self.rank, stride.into());
        let rank = kernel.sub(self.rank, stride.into());
        let rank = kernel.select(is_first, self.rank, rank);
        let other = self.fetch(value, rank, true.into());
        let both = O::__expand_combine(self.scope(), other, value);
        select::expand::<E>(self.scope(), is_first, value, both)
    }

    /// The values up to this unit's combined, and those before it; on the first, nothing where [differences](has_differences)
    /// say it, else anything.
    pub(super) fn scan_and_before<E: CubePrimitive, O: Associative<E>>(
        &self,
        value: NativeExpand<E>,
    ) -> [NativeExpand<E>; 2] {
        if let Some(both) = self.sums_and_before::<E, O>(value) {
            return both;
        }
        let scanned = self.scan::<E, O>(value);
        [scanned, self.before::<E, O>(scanned, value)]
    }

    /// By one shuffle a step: what a unit is told it adds to its sum, and to the sum of those before it.
    fn sums_and_before<E: CubePrimitive, O: Associative<E>>(
        &self,
        value: NativeExpand<E>,
    ) -> Option<[NativeExpand<E>; 2]> {
        let Order::Neighbours(first, _) = self.order else {
            return None;
        };
        let strides: Vec<u32> = self.strides().collect();
        if !adds_floats::<E, O>(self.kernel) || strides.is_empty() {
            return None;
        }
        let word = words::split::<E>(self.scope(), self.call, value)[0];
        let sums = lower::sums_and_before(self.kernel, word, &strides, first, self.lanes)?;
        Some(sums.map(|word| words::join::<E>(self.scope(), self.call, &[word])))
    }

    /// What the unit before this one has of a scan, in which this unit's value came to `scanned`; on the first, nothing where
    /// [differences](has_differences) say it, else anything.
    fn before<E: CubePrimitive, O: Associative<E>>(
        &self,
        scanned: NativeExpand<E>,
        value: NativeExpand<E>,
    ) -> NativeExpand<E> {
        let (kernel, scope) = (self.kernel, self.scope());
        if has_differences::<E, O>(scope) {
            let [all, own] =
                [scanned, value].map(|value| words::split::<E>(scope, self.call, value)[0]);
            return words::join::<E>(scope, self.call, &[kernel.sub(all, own)]);
        }
        let is_first = kernel.is_below(self.rank, 1u32.into());
        let rank = kernel.sub(self.rank, 1u32.into());
        let rank = kernel.select(is_first, self.rank, rank);
        self.fetch(scanned, rank, true.into())
    }
}
