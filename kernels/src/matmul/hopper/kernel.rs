//! The kernel: one warpgroup loads, two multiply and store, over tiles in turn.
//!
//! A ring of buffers lies between them, with a barrier `full` and one `empty` each ([`mbarrier`](girih::cuda::mbarrier)). Both sides go around it
//! across tiles without a stop, so that the loads of the next tile are under way while one is stored. That nobody waits for
//! ever, and nobody overwrites what is still read:
//!
//! * All sides count buffers the same: a side uses buffer `i % stages` in round `i / stages` for the `i`-th buffer of its
//!   cluster's tiles, and every unit of the cluster finds the same tiles with the same number of buffers.
//! * `full` ends its phase `r` when the loader has arrived, once, and as many bytes have come as a buffer has: those of its
//!   own cube's loads and, of the operand that is shared, both halves. Shared or not, [`Form::copies`] are as many as fill a buffer.
//!   Bytes of round `r + 1` come only after `empty` ended its phase `r`, hence after all who multiply have waited for phase `r` of
//!   `full`: they count in their own phase. A neighbour's bytes may come before the loader arrived, in the same phase: it cannot end
//!   without the arrival.
//! * `empty` ends its phase `r` when every plane that multiplies, of every cube whose memory this cube's loader writes, has
//!   arrived for round `r`. The loader waits for phase `r - 1` before it fills in round `r`; in round 0 the wait returns at
//!   once. A plane arrives for a buffer when the multiplications that read it are done.
//! * A warpgroup that has no element of a tile passes it by: it waits for `full` and arrives at `empty` as if it multiplied, so that
//!   it stays in the phases of the others. Cubes that share an operand and have a tile [apart](super::schedule::Tile) still wait
//!   for each other's planes, though nobody else reads what they load.
//! * A parity tells a phase from its neighbours alone. Who multiplies waits for phase `r` of `full` after it arrived at
//!   `empty` for `r - 1`, so that `full` is in phase `r` or `r + 1`, not beyond: phase `r + 2` needs its arrival for `r`.
//!   Likewise the loader, alone in ending phases of `full`, finds `empty` in phase `r - 1` or `r`.
//! * A cube of a cluster ends only when all have: nobody writes to, or arrives in, the memory of one that is gone.

// CubeCL's macro writes undocumented twins of the kernel.
#![allow(missing_docs)]
// In a kernel both sides of `&&` are evaluated.
#![allow(clippy::collapsible_if, clippy::too_many_arguments)]

use super::form::{Form, Groups, Routing};
use super::gather::{Gathered, gather_and_load};
use super::load::load;
use super::multiply::multiply;
use super::ring::{Ring, make_ring};
use super::schedule::{Problem, fill_ranges, fill_table};
use super::store::Finish;
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use girih::cuda::{cluster_barrier, registers, shared_address};
use girih::memory::shared_aligned;

/// Registers of a unit that loads, and of one that multiplies: together no more than those of 384 units at 168.
const LOADING: u32 = 40;
const MULTIPLYING: u32 = 232;
/// `out = finish(a b)`, a tile after the other. The launcher's `Form` says which operands there are: with
/// [`Routing::Gather`] A is `rows_of_a` at `sources`, and `a` is not read.
#[cube(launch_unchecked, address_type = "dynamic", cluster_dim = CubeDim::new_3d(form.cubes(), 1, 1))]
pub fn hopper_kernel<E: Float, O: Float, P: Float, I: Int, N: Size, W: Size>(
    a: &TensorMap<E, Tiled>,
    b: &TensorMap<E, Tiled>,
    rows_of_a: ComptimeOption<Box<[Vector<E, Const<8>>]>>,
    sources: ComptimeOption<Box<[I]>>,
    ends: ComptimeOption<Box<[I]>>,
    bias: ComptimeOption<Box<[O]>>,
    weights: ComptimeOption<Box<[P]>>,
    targets: ComptimeOption<Box<[I]>>,
    gather_record: ComptimeOption<Box<[Atomic<u32>]>>,
    scatter_record: ComptimeOption<Box<[Atomic<u32>]>>,
    out: &mut [Vector<O, N>],
    beside: &mut [Vector<O, N>],
    problem: Problem,
    source_rows: u32,
    source_step: usize,
    source_width: u32,
    bias_step: usize,
    target_rows: u32,
    row_step: usize,
    product_step: usize,
    #[comptime] form: Form,
    #[define(E, O, P, I)] _types: [ElemType; 4],
) {
    comptime!(assert!(
        form.is_possible(),
        "girih: a product on Hopper has the form {form:?}; those that `Form::is_possible` takes are allowed"
    ));
    let mut memory = shared_aligned::<u32>(comptime!(form.shared_bytes() as usize / 4), 1024usize);
    let base = shared_address::<u32>(memory.as_ptr());
    let ring = Ring {
        base,
        full: base + comptime!(form.barriers_at()),
        empty: base + comptime!(form.barriers_at() + 8 * form.stages),
    };
    let plane = registers::of_first_lane(UNIT_POS / 32u32);
    let lane = UNIT_POS % 32u32;
    if UNIT_POS == 0u32 {
        make_ring(&ring, form);
    }
    #[comptime]
    if let ComptimeOption::Some(ends) = &ends {
        if plane == 1u32 {
            if comptime!(form.groups == Groups::Inner) {
                fill_ranges::<I>(&mut memory, ends, &problem, lane, form);
            } else {
                fill_table::<I>(&mut memory, ends, &problem, lane, form);
            }
        }
    }
    if comptime!(form.cubes() > 1) {
        cluster_barrier();
    } else {
        sync_cube();
    }
    if plane < 4u32 {
        if comptime!(form.trades_registers()) {
            registers::give(LOADING);
        }
        if comptime!(form.routing == Routing::Gather) {
            let gathered = Gathered::<E, I> {
                rows: rows_of_a,
                sources,
                record: gather_record,
                count: source_rows,
                step: source_step,
                width: source_width,
            };
            gather_and_load::<E, I>(b, &gathered, &memory, &ring, &problem, form);
        } else if UNIT_POS == 0u32 {
            load::<E>(a, b, &memory, &ring, &problem, form);
        }
    } else {
        if comptime!(form.trades_registers()) {
            registers::take(MULTIPLYING);
        }
        let finish = Finish::<O, P, I> {
            bias,
            bias_step,
            weights,
            targets,
            record: scatter_record,
            rows: target_rows,
            row_step,
            product_step,
        };
        multiply::<E, O, P, I, N, W>(
            out,
            beside,
            &finish,
            &memory,
            &ring,
            plane - 4u32,
            lane,
            &problem,
            form,
        );
    }
    if comptime!(form.cubes() > 1) {
        cluster_barrier();
    }
}
