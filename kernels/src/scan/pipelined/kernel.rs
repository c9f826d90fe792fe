//! The kernel: cubes that stay, whose planes each do one thing.
// CubeCL's macro writes undocumented twins of the kernel.
#![allow(missing_docs)]

use super::super::operator::ScanOperator;
use super::carry::carry;
use super::combine::combine;
use super::fetch::fetch;
use super::finish::finish;
use super::form::{Form, HELPERS};
use super::ring::{List, Ring, make_ring};
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use girih::cuda::{registers, shared_address};
use girih::memory::{shared, shared_aligned};

/// Scans a list in one pass; `tiles` of it, whose totals `states` has by the number of the launch, beside a count of tickets.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn pipelined_kernel<E: Numeric, A: Numeric, N: Size, O: ScanOperator>(
    vectors: &[Vector<E, N>],
    input: &[E],
    vectors_out: &mut [Vector<E, N>],
    output: &mut [E],
    states: &[Atomic<u64>],
    length: usize,
    tiles: u32,
    launch: u32,
    tickets: usize,
    #[comptime] form: Form,
    #[define(E, A)] _types: [ElemType; 2],
) {
    let stages = comptime!(form.stages);
    let planes = comptime!(form.tile.planes as u32);
    let mut stage =
        shared_aligned::<Vector<E, N>>(comptime!(form.packets() * form.stages), 128usize);
    let barriers = shared_aligned::<u64>(comptime!(3 * form.stages), 8usize);
    let mut numbers = shared::<u32>(stages);
    let mut prefixes = shared::<A>(stages);
    let mut leads = shared::<A>(comptime!(form.stages * form.tile.planes));
    let full = shared_address::<u64>(barriers.as_ptr());
    let ring = Ring {
        base: shared_address::<Vector<E, N>>(stage.as_ptr()),
        full,
        ready: full + comptime!(8 * form.stages as u32),
        empty: full + comptime!(16 * form.stages as u32),
    };
    let list = List {
        length,
        tiles,
        launch,
        tickets,
    };
    if UNIT_POS == 0u32 {
        make_ring(&ring, form);
    }
    sync_cube();
    let plane = registers::of_first_lane(UNIT_POS / 32u32);
    let lane = UNIT_POS % 32u32;
    if plane < planes {
        finish::<E, A, N, O>(
            vectors_out,
            output,
            &stage,
            &numbers,
            &prefixes,
            &leads,
            &ring,
            &list,
            lane,
            form,
        );
    } else if plane == planes {
        if lane == 0u32 {
            fetch::<E, N>(
                vectors,
                input,
                states,
                &mut stage,
                &mut numbers,
                &ring,
                &list,
                form,
            );
        }
    } else if plane == comptime!(form.tile.planes as u32 + 1) {
        carry::<A, O>(states, &numbers, &mut prefixes, &ring, &list, lane, form);
    } else {
        let reducer = plane - comptime!((form.tile.planes + HELPERS) as u32);
        combine::<E, A, N, O>(
            states, &stage, &numbers, &mut leads, &ring, &list, reducer, lane, form,
        );
    }
}
