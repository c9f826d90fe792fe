//! Registers: those of a plane, and those of a tile's fragments.

use super::emit::{Instruction, Since};
use cubecl::prelude::*;

/// Gives registers back until each unit has `count`, a multiple of 8 between 24 and 256. The four planes of a warpgroup call
/// it together.
#[cube]
pub fn give(#[comptime] count: u32) {
    intrinsic!(|scope| {
        Instruction {
            call: "registers::give",
            since: Since::Sm(90),
            text: &format!("setmaxnreg.dec.sync.aligned.u32 {count};"),
            memory: true,
        }
        .run(scope, vec![]);
    })
}

/// Takes registers until each unit has `count`, a multiple of 8 between 24 and 256, and waits for others to give them. The
/// four planes of a warpgroup call it together.
#[cube]
pub fn take(#[comptime] count: u32) {
    intrinsic!(|scope| {
        Instruction {
            call: "registers::take",
            since: Since::Sm(90),
            text: &format!("setmaxnreg.inc.sync.aligned.u32 {count};"),
            memory: true,
        }
        .run(scope, vec![]);
    })
}

/// The number that lane 0 of the plane has: the compiler then knows that it is the same in all lanes. All are here.
#[cube]
pub fn of_first_lane(value: u32) -> u32 {
    intrinsic!(|scope| {
        Instruction {
            call: "registers::of_first_lane",
            since: Since::Sm(80),
            text: "shfl.sync.idx.b32 $0, $1, 0, 31, 0xffffffff;",
            memory: false,
        }
        .number(scope, vec![value.read_value(scope)])
    })
}

/// Two numbers rounded to `E`, f16 or bf16, the first in the lower half.
#[cube]
pub fn pack<E: Float>(low: f32, high: f32) -> u32 {
    intrinsic!(|scope| {
        let ty = E::__expand_as_type(scope);
        let is_brain = {
            use cubecl::ir::interfaces::TypedExt as _;
            ty.is_bfloat16(scope.ctx())
        };
        let text = match is_brain {
            true => "cvt.rn.bf16x2.f32 $0, $2, $1;",
            false => "cvt.rn.f16x2.f32 $0, $2, $1;",
        };
        Instruction {
            call: "registers::pack",
            since: Since::Sm(80),
            text,
            memory: false,
        }
        .number(scope, vec![low.read_value(scope), high.read_value(scope)])
    })
}

/// Stores four matrices of 8 x 8 elements of 16 bits, one a parameter, spread over the plane as tensor cores have them: lane
/// `l` holds of each the elements `2 (l % 4)` and the next of row `l / 4`. Lane `l` gives the address of row `l % 8` of
/// matrix `l / 8`, 16 bytes.
#[cube]
pub fn store_matrices(to: u32, first: u32, second: u32, third: u32, fourth: u32) {
    intrinsic!(|scope| {
        Instruction {
            call: "registers::store_matrices",
            since: Since::Sm(90),
            text: "stmatrix.sync.aligned.m8n8.x4.shared::cta.b16 [$0], {$1, $2, $3, $4};",
            memory: true,
        }
        .run(
            scope,
            vec![
                to.read_value(scope),
                first.read_value(scope),
                second.read_value(scope),
                third.read_value(scope),
                fourth.read_value(scope),
            ],
        );
    })
}

/// Stores two numbers in shared memory at an address that is a multiple of 8.
#[cube]
pub fn store_pair(to: u32, first: f32, second: f32) {
    intrinsic!(|scope| {
        Instruction {
            call: "registers::store_pair",
            since: Since::Sm(80),
            text: "st.shared.v2.f32 [$0], {$1, $2};",
            memory: true,
        }
        .run(
            scope,
            vec![
                to.read_value(scope),
                first.read_value(scope),
                second.read_value(scope),
            ],
        );
    })
}

/// The 16 bytes of shared memory at an address that is a multiple of 16, as `V`: a vector of that size.
#[cube]
pub fn load_16<V: CubePrimitive>(from: u32) -> V {
    intrinsic!(|scope| {
        scope.register_size::<Word>(4);
        let words = Vector::<u32, Word>::__expand_as_type(scope);
        let words = Instruction {
            call: "registers::load_16",
            since: Since::Sm(80),
            text: "ld.shared.v4.b32 $0, [$1];",
            memory: true,
        }
        .value(scope, words, vec![from.read_value(scope)]);
        let words = NativeExpand::<Vector<u32, Word>>::from(words);
        V::__expand_reinterpret::<Vector<u32, Word>>(scope, words)
    })
}

define_size!(Word);
