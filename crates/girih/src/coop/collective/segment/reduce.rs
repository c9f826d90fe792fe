//! Values of a segment combined: by one instruction, by exchanges between neighbours, or from rank to rank.

use super::super::super::lower::{self, WordType};
use super::super::super::machine::{Kernel, Machine};
use super::super::super::operators::{Associative, Known};
use super::super::super::words;
use super::{Order, Segment, word_type};
use cubecl::prelude::*;

/// Whether the target has an instruction that combines what all lanes of a plane have.
pub(in crate::coop) fn has_instruction<E: CubePrimitive, O: Associative<E>>(
    kernel: &Kernel<'_>,
) -> bool {
    let is_integer = matches!(
        word_type::<E>(kernel.scope()),
        Some(WordType::Signed | WordType::Unsigned)
    );
    is_integer && O::KNOWN.is_some_and(|operation| lower::reduces(kernel, operation))
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

impl Segment<'_> {
    /// All values combined: on every unit, or where `everywhere` is not asked for on the first at least.
    pub(in crate::coop) fn reduce<E: CubePrimitive, O: Associative<E>>(
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
    pub(in crate::coop) fn reduce_repeated<E: CubePrimitive, O: Associative<E>>(
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
    pub(in crate::coop) fn reduce_below<E: CubePrimitive, O: Associative<E>>(
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
}
