//! What the building blocks become on an NVIDIA GPU: their orders are in the instructions, and in those of their mutants,
//! which must be the same code without, there is none.

use crate::stress::{grid_barrier, last_cube, message, queue, spin_lock};
use cubecl::prelude::*;
use girih::memory::blocks::{Ordered, Unordered};
use girih_testkit::{
    Error, cases,
    offline::{Toolkit, buffer, hopper, settings, target},
};

cases! {
    in Toolkit;
    ptx_of_a_lock,
    ptx_of_a_lock_in_shared_memory,
    ptx_of_the_last_cube,
    ptx_of_a_chain_of_messages,
    ptx_of_a_conversation,
    ptx_of_a_grid_barrier,
    ptx_of_a_queue,
}

/// Every instruction of `ordered` is there once at least in the block, and no order in its mutant.
fn compare(
    toolkit: &Toolkit,
    block: impl CubeKernel,
    mutant: impl CubeKernel,
    ordered: &[&str],
) -> Result<(), Error> {
    let (block, mutant) = (
        toolkit.compile_to_ptx(block)?,
        toolkit.compile_to_ptx(mutant)?,
    );
    for instruction in ordered {
        assert!(
            block.contains(instruction),
            "no `{instruction}` in\n{block}"
        );
    }
    for order in [".acquire", ".release", ".acq_rel", "fence.", "membar"] {
        assert!(!mutant.contains(order), "`{order}` in\n{mutant}");
    }
    assert!(mutant.contains("relaxed"), "{mutant}");
    Ok(())
}

fn ptx_of_a_lock(toolkit: &Toolkit) -> Result<(), Error> {
    macro_rules! kernel {
        ($orders:ty) => {
            spin_lock::contend::Contend::<$orders>::new(
                settings(64),
                hopper(),
                target(),
                buffer(),
                buffer(),
                buffer(),
                (),
                (),
            )
        };
    }
    let ordered = [
        "atom.acquire.gpu.global.exch.b32",
        "st.release.gpu.global.b32",
    ];
    compare(toolkit, kernel!(Ordered), kernel!(Unordered), &ordered)
}

fn ptx_of_a_lock_in_shared_memory(toolkit: &Toolkit) -> Result<(), Error> {
    macro_rules! kernel {
        ($orders:ty) => {
            spin_lock::contend_in_cube::ContendInCube::<$orders>::new(
                settings(64),
                hopper(),
                target(),
                buffer(),
                buffer(),
                (),
                (),
            )
        };
    }
    let ordered = [
        "atom.acquire.cta.shared.exch.b32",
        "st.release.cta.shared.b32",
    ];
    compare(toolkit, kernel!(Ordered), kernel!(Unordered), &ordered)
}

fn ptx_of_the_last_cube(toolkit: &Toolkit) -> Result<(), Error> {
    macro_rules! kernel {
        ($orders:ty) => {
            last_cube::combine::Combine::<$orders>::new(
                settings(64),
                hopper(),
                target(),
                buffer(),
                buffer(),
                buffer(),
                buffer(),
                (),
            )
        };
    }
    let ordered = ["atom.acq_rel.gpu.global.add.u32"];
    compare(toolkit, kernel!(Ordered), kernel!(Unordered), &ordered)
}

fn ptx_of_a_chain_of_messages(toolkit: &Toolkit) -> Result<(), Error> {
    macro_rules! kernel {
        ($orders:ty) => {
            message::chain::Chain::<$orders>::new(
                settings(64),
                hopper(),
                target(),
                buffer(),
                buffer(),
                buffer(),
                buffer(),
                (),
                (),
            )
        };
    }
    let ordered = ["ld.acquire.gpu.global.b32", "st.release.gpu.global.b32"];
    compare(toolkit, kernel!(Ordered), kernel!(Unordered), &ordered)
}

fn ptx_of_a_conversation(toolkit: &Toolkit) -> Result<(), Error> {
    macro_rules! kernel {
        ($orders:ty) => {
            message::converse::Converse::<$orders>::new(
                settings(64),
                hopper(),
                target(),
                buffer(),
                buffer(),
                buffer(),
                buffer(),
                (),
                (),
                (),
            )
        };
    }
    let ordered = ["ld.acquire.gpu.global.b32", "st.release.gpu.global.b32"];
    compare(toolkit, kernel!(Ordered), kernel!(Unordered), &ordered)
}

fn ptx_of_a_grid_barrier(toolkit: &Toolkit) -> Result<(), Error> {
    macro_rules! kernel {
        ($orders:ty) => {
            grid_barrier::phases::Phases::<$orders>::new(
                settings(64),
                hopper(),
                target(),
                buffer(),
                buffer(),
                buffer(),
                buffer(),
                (),
                (),
                (),
            )
        };
    }
    let ordered = [
        "atom.acq_rel.gpu.global.add.u32",
        "st.release.gpu.global.b32",
        "ld.acquire.gpu.global.b32",
    ];
    compare(toolkit, kernel!(Ordered), kernel!(Unordered), &ordered)
}

fn ptx_of_a_queue(toolkit: &Toolkit) -> Result<(), Error> {
    macro_rules! kernel {
        ($orders:ty) => {
            queue::exchange::Exchange::<$orders>::new(
                settings(64),
                hopper(),
                target(),
                buffer(),
                buffer(),
                buffer(),
                (),
                (),
                (),
                (),
            )
        };
    }
    let ordered = [
        "atom.relaxed.gpu.global.cas.b32",
        "ld.acquire.gpu.global.b32",
        "st.release.gpu.global.b32",
    ];
    compare(toolkit, kernel!(Ordered), kernel!(Unordered), &ordered)
}
