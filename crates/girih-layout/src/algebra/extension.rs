//! A layout as a function of all natural numbers: the last leaf is taken as endless.

use crate::list::List;
use crate::modes::Mode;
use crate::{Integer, Layout, LayoutError};
use alloc::string::ToString;

/// How many rises or sums are looked at one by one, where jumps cancel. What needs more is refused rather than decided.
const MAX_CHECKS: u64 = 1 << 16;

/// A layout's leaves as the digits of a mixed-radix number.
pub(crate) struct Extension {
    digits: List<Digit, 8>,
}

/// One leaf: the digit `floor(x / weight) mod extent` of a linear coordinate `x` moves the offset by `stride`.
#[derive(Clone, Copy, Default)]
struct Digit {
    extent: Integer,
    stride: Integer,
    weight: Integer,
    /// By how much the offset differs from going on straight when the digit before wraps around into this one.
    jump: i128,
}

/// A stretch of a walk in which every step moves the offset by the same: `k -> L(k * step) = k * stride` for `k <
/// extent`.
#[derive(Clone, Copy, Default)]
pub(crate) struct Part {
    pub(crate) extent: Integer,
    pub(crate) step: Integer,
    pub(crate) stride: Integer,
}

impl Part {
    fn last_coordinate(&self) -> u128 {
        u128::from(self.extent.value() - 1) * u128::from(self.step.value())
    }
}

pub(crate) type Parts = List<Part, 16>;

/// Where walks bend: the walk `k -> L(k * step)` is straight as long as no `floor(k * part / weight)` with a jump
/// rises.
#[derive(Clone, Copy, Default)]
struct Bend {
    part: u64,
    weight: Integer,
    jump: i128,
}

type Bends = List<Bend, 8>;

impl Extension {
    /// # Errors
    /// [`LayoutError::Empty`] when an extent before the last is 0.
    pub(crate) fn of(layout: &Layout) -> Result<Self, LayoutError> {
        let mut digits = List::<Digit, 8>::new();
        let mut weight = Integer::ONE;
        let mut leaves = layout.leaf_modes().peekable();
        while let Some(Mode { extent, stride }) = leaves.next() {
            let last = leaves.peek().is_none();
            if !last && extent.value() == 0 {
                return Err(LayoutError::Empty {
                    layout: layout.to_string(),
                });
            }
            // A digit of extent 1 is always 0, except for the last, which is endless.
            if last || extent.value() != 1 {
                digits.push(Digit {
                    extent,
                    stride,
                    weight,
                    jump: jump(digits.last(), stride)?,
                });
            }
            if !last {
                weight = weight.try_mul(extent)?;
            }
        }
        // A tuple of no modes has one coordinate, at offset 0.
        if digits.is_empty() {
            digits.push(Digit {
                extent: Integer::ONE,
                weight: Integer::ONE,
                ..Digit::default()
            });
        }
        Ok(Self { digits })
    }

    /// The offset at `x`, static when the digits and strides that make it up are.
    ///
    /// # Errors
    /// [`LayoutError::Overflow`] above 64 bits.
    pub(crate) fn at(&self, x: Integer) -> Result<Integer, LayoutError> {
        let (offset, is_static) = self.offset(x.value());
        match offset.and_then(|offset| u64::try_from(offset).ok()) {
            Some(offset) if is_static && x.is_static() => Ok(Integer::Static(offset)),
            Some(offset) => Ok(Integer::Dynamic(offset)),
            None => Err(LayoutError::Overflow {
                left: x.value(),
                operation: "*",
                right: self.digits.last().map_or(0, |last| last.stride.value()),
            }),
        }
    }

    /// The offset at `x`, `None` where it needs more than 128 bits; and whether all extents and strides that it comes from are
    /// static.
    #[inline]
    fn offset(&self, x: u64) -> (Option<u128>, bool) {
        let (mut rest, mut sum, mut is_static) = (x, 0u128, true);
        let last = self.digits.len() - 1;
        for (i, digit) in self.digits.iter().enumerate() {
            let Digit { extent, stride, .. } = *digit;
            // A coordinate below the extent is the digit itself: it does not depend on the extent.
            if i == last || rest < extent.value() {
                let end = u128::from(rest) * u128::from(stride.value());
                return (
                    sum.checked_add(end),
                    is_static && (rest == 0 || stride.is_static()),
                );
            }
            let (quotient, value) = div_rem(rest, extent.value());
            is_static &= extent.is_static() && (value == 0 || stride.is_static());
            sum += u128::from(value) * u128::from(stride.value());
            rest = quotient;
        }
        (Some(sum), is_static)
    }

    /// Adds to `parts` the straight parts of `k -> L(k * step)` for `k < count`; `false` when the walk does not end
    /// where a part does, so that it is no layout. Whether the parts add up is left to [`adds_up`](Self::adds_up).
    pub(crate) fn walk(
        &self,
        count: Integer,
        step: Integer,
        parts: &mut Parts,
    ) -> Result<bool, LayoutError> {
        if count.value() <= 1 || step.value() == 0 {
            parts.push(Part {
                extent: count,
                step,
                // What is never stepped along may be anything; past 64 bits it is nothing.
                stride: self.at(step).unwrap_or_default(),
            });
            return Ok(true);
        }
        let (mut left, mut step) = (count, step);
        loop {
            let stride = self.at(step)?;
            let extent = self.straight(left, step, stride)?;
            parts.push(Part {
                extent,
                step,
                stride,
            });
            if extent.value() == left.value() {
                return Ok(true);
            }
            let (quotient, over) = div_rem(left.value(), extent.value());
            if over != 0 {
                return Ok(false);
            }
            left = left.with_value(extent, quotient);
            step = step.try_mul(extent)?;
        }
    }

    /// For how many steps, `count` at most, the walk by `step` goes straight: `L(k * step) = k * stride`.
    fn straight(
        &self,
        count: Integer,
        step: Integer,
        stride: Integer,
    ) -> Result<Integer, LayoutError> {
        let turns = |k: u64| {
            self.offset(k * step.value()).0 != Some(u128::from(k) * u128::from(stride.value()))
        };
        let Some((first, digit)) = self.first_rise(count.value(), step.value()) else {
            return Ok(count);
        };
        if first >= count.value() {
            return Ok(count);
        }
        if turns(first) {
            return Ok(step.with_value(digit.weight, first));
        }
        // Jumps of several digits cancelled: look at every later rise.
        let bends = self.bends(
            |digit| remainder(step.value(), digit.weight),
            |a, b| in_proportion(a.part, a.weight, b.part, b.weight),
        );
        let mut k = 0;
        for _ in 0..MAX_CHECKS {
            let rises = bends.iter().map(|bend| (bend.next_rise(k), bend));
            let Some((next, bend)) =
                rises.min_by_key(|(rise, bend)| (*rise, !bend.weight.is_static()))
            else {
                return Ok(count);
            };
            if next >= u128::from(count.value()) {
                return Ok(count);
            }
            // Below `count`, so it fits, and so does its product with `step`.
            k = next as u64;
            if turns(k) {
                return Ok(step.with_value(bend.weight, k));
            }
        }
        // A part that ends too early is no error: whether the parts add up is still checked.
        Ok(Integer::Dynamic(k))
    }

    /// The first of `count` steps at which the walk by `step` carries into a digit with a jump, and that digit; a
    /// static one where several are.
    fn first_rise(&self, count: u64, step: u64) -> Option<(u64, &Digit)> {
        let end = count.saturating_mul(step);
        let mut first: Option<(u64, &Digit)> = None;
        for digit in self.digits.iter().filter(|digit| digit.jump != 0) {
            // Weights ascend: no later digit is reached either.
            if digit.weight.value() >= end {
                break;
            }
            let part = remainder(step, digit.weight);
            if part == 0 {
                continue;
            }
            let (whole, over) = div_rem(digit.weight.value(), part);
            let rise = whole + u64::from(over > 0);
            let earlier = first.is_none_or(|(known, other)| {
                rise < known || rise == known && !other.weight.is_static()
            });
            if earlier {
                first = Some((rise, digit));
            }
        }
        first
    }

    /// Whether the layout of all steps along different parts is the sum of the parts: whether no sum of steps carries
    /// from one digit into another in a way that shows.
    pub(crate) fn adds_up(&self, parts: &[Part]) -> bool {
        let crosses = |digit: &Digit| {
            let mut farthest = 0u128;
            for part in parts {
                let left_over = remainder(part.step.value(), digit.weight);
                farthest += u128::from(part.extent.value() - 1) * u128::from(left_over);
            }
            farthest >= u128::from(digit.weight.value())
        };
        let last: u128 = parts.iter().map(Part::last_coordinate).sum();
        let mut reached = self
            .digits
            .iter()
            .take_while(|digit| u128::from(digit.weight.value()) <= last);
        if !reached.any(|digit| digit.jump != 0 && crosses(digit)) {
            return true;
        }
        let bends = self.bends(
            |digit| u64::from(crosses(digit)),
            |a, b| {
                parts.iter().all(|part| {
                    let step = part.step.value();
                    let (a_part, b_part) = (remainder(step, a.weight), remainder(step, b.weight));
                    in_proportion(a_part, a.weight, b_part, b.weight)
                })
            },
        );
        match bends.len() {
            0 => true,
            // One carry alone has nothing to cancel it.
            1 => false,
            _ => self.adds_up_everywhere(parts),
        }
    }

    fn adds_up_everywhere(&self, parts: &[Part]) -> bool {
        let extents = parts.iter().map(|part| part.extent.value());
        let count = extents.fold(1, u64::saturating_mul);
        // The far end is where most that do not add up show it.
        let mut checks = core::iter::once(count - 1).chain(0..count);
        count <= MAX_CHECKS
            && checks.all(|k| {
                let mut rest = k;
                let (mut x, mut offset) = (0u64, 0u128);
                for part in parts {
                    let digit = rest % part.extent.value();
                    rest /= part.extent.value();
                    x = x.saturating_add(digit * part.step.value());
                    offset =
                        offset.saturating_add(u128::from(digit) * u128::from(part.stride.value()));
                }
                self.offset(x).0 == Some(offset)
            })
    }

    /// The digits that bend a walk, those whose `part` is not 0; digits that are the `same` rise together, and go when
    /// their jumps cancel.
    fn bends(&self, part: impl Fn(&Digit) -> u64, same: impl Fn(&Bend, &Bend) -> bool) -> Bends {
        let mut bends = Bends::new();
        for digit in self.digits.iter().filter(|digit| digit.jump != 0) {
            let bend = Bend {
                part: part(digit),
                weight: digit.weight,
                jump: digit.jump,
            };
            if bend.part == 0 {
                continue;
            }
            match bends.iter_mut().find(|other| same(other, &bend)) {
                Some(other) => other.jump += bend.jump,
                None => bends.push(bend),
            }
        }
        bends
            .iter()
            .copied()
            .filter(|bend| bend.jump != 0)
            .collect()
    }
}

impl Bend {
    /// The least number above `k` at which `floor(number * part / weight)` has risen.
    fn next_rise(&self, k: u64) -> u128 {
        let (part, weight) = (u128::from(self.part), u128::from(self.weight.value()));
        let next_level = match k {
            0 => 1,
            _ => u128::from(k) * part / weight + 1,
        };
        (next_level * weight).div_ceil(part)
    }
}

/// By how much `stride` differs from going on straight after `before`.
fn jump(before: Option<&Digit>, stride: Integer) -> Result<i128, LayoutError> {
    let Some(before) = before else {
        return Ok(0);
    };
    let (extent, step) = (before.extent.value(), before.stride.value());
    let straight = i128::from(extent).checked_mul(i128::from(step));
    match straight {
        Some(straight) => Ok(i128::from(stride.value()) - straight),
        // Only a layout without elements can have such a leaf.
        None => Err(LayoutError::Overflow {
            left: extent,
            operation: "*",
            right: step,
        }),
    }
}

/// Quotient and remainder, sparing the division where it can be: most extents are powers of 2.
#[inline]
fn div_rem(x: u64, by: u64) -> (u64, u64) {
    if x < by {
        (0, x)
    } else if by.is_power_of_two() {
        (x >> by.trailing_zeros(), x & (by - 1))
    } else {
        (x / by, x % by)
    }
}

#[inline]
fn remainder(x: u64, weight: Integer) -> u64 {
    div_rem(x, weight.value()).1
}

fn in_proportion(a: u64, a_weight: Integer, b: u64, b_weight: Integer) -> bool {
    u128::from(a) * u128::from(b_weight.value()) == u128::from(b) * u128::from(a_weight.value())
}
