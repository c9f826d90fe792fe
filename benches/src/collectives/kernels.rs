//! The kernels: one value a unit, in a register, and a loop of collectives.
// The kernels' macro writes undocumented twins of the items here.
#![allow(missing_docs)]

use super::workload::{Members, Op};
use cubecl::prelude::*;
use girih::coop::Sum;
use girih::prelude::*;

/// Added to an integer below 2^22, this has it in its lowest bits.
const HOLDER: f32 = 12_582_912.0;
/// The bits that are kept of them.
const KEPT: u32 = 0x3ff;

#[cube]
fn group_of(#[comptime] members: Members) -> Group {
    match members {
        Members::Cube => this_cube(),
        Members::Plane => this_plane(),
        Members::Lanes(count) => this_plane().partition(group_by(count)),
    }
}

/// What a unit adds to its value; of a reduction, the first unit alone adds anything.
#[cube]
fn collective<E: Numeric>(group: &Group, value: E, #[comptime] op: Op) -> E {
    match op {
        Op::Reduce => {
            let sum = group.reduce_to_first::<E, Sum>(value);
            select(group.elect(), sum, E::from_int(0))
        }
        Op::InclusiveScan => group.inclusive_scan::<E, Sum>(value),
        Op::ExclusiveScan => group.exclusive_scan::<E, Sum>(value, E::from_int(0)),
    }
}

/// An element that rounds of sums keep exact.
#[cube]
trait Chained: Numeric {
    /// What a round leaves of a sum.
    fn kept(value: Self) -> Self;
}

/// Integers wrap by themselves.
#[cube]
impl Chained for u32 {
    fn kept(value: u32) -> u32 {
        value
    }
}

/// The integer's lowest bits, so that sums of a thousand are exact.
#[cube]
impl Chained for f32 {
    fn kept(value: f32) -> f32 {
        let bits = u32::reinterpret(value + HOLDER) & KEPT;
        f32::reinterpret(bits | comptime!(HOLDER.to_bits())) - HOLDER
    }
}

/// What a unit has after one more round.
#[cube]
fn after_round<E: Chained>(group: &Group, value: E, #[comptime] op: Op) -> E {
    E::kept(value + collective::<E>(group, value, op))
}

macro_rules! kernels {
    ($($name:ident: $element:ident;)*) => {$(
        /// Each unit reads its value, does `rounds` rounds, and writes what it then has.
        #[cube(launch_unchecked)]
        pub fn $name(
            values: &[$element],
            out: &mut [$element],
            rounds: u32,
            #[comptime] op: Op,
            #[comptime] members: Members,
        ) {
            let group = group_of(members);
            let mut value = values[ABSOLUTE_POS];
            for _ in 0..rounds {
                value = after_round::<$element>(&group, value, op);
            }
            out[ABSOLUTE_POS] = value;
        }
    )*};
}
kernels! {
    of_integers: u32;
    of_floats: f32;
}
