//! The tests, one module a subject. A new module lists its cases with `cases!` and is added to the list here.

use girih_testkit::case::Case;

#[cfg(feature = "burn")]
pub mod burn;
pub mod flat;
pub mod groups;
pub mod kernels;
pub mod large;
pub mod layouts;
pub mod litmus;
pub mod memory;
#[cfg(feature = "offline")]
pub mod offline;
#[cfg(feature = "offline")]
pub mod offline_flat;
#[cfg(feature = "offline")]
pub mod offline_layouts;
#[cfg(feature = "offline")]
pub mod offline_scatter;
#[cfg(feature = "offline")]
pub mod offline_sort;
pub mod properties;
pub mod smoke;
pub mod tiles;
pub mod vectors;
pub mod views;

/// Every case that runs on a device.
pub fn device_cases() -> Vec<Case> {
    [
        smoke::cases(),
        vectors::cases(),
        views::cases(),
        views::bounds::cases(),
        views::compile_time::cases(),
        views::lists::cases(),
        views::partitions::cases(),
        views::policies::cases(),
        views::reports::cases(),
        views::starts::cases(),
        views::stores::cases(),
        views::stores::combining::cases(),
        views::stores::widening::cases(),
        views::stores::winners::cases(),
        flat::cases(),
        flat::atomics::cases(),
        flat::refusals::cases(),
        properties::cases(),
        layouts::cases(),
        layouts::parts::cases(),
        layouts::refusals::cases(),
        groups::cases(),
        kernels::cases(),
        large::cases(),
        large::lists::cases(),
        large::rows::cases(),
        large::sorted_lists::cases(),
        large::starts::cases(),
        memory::cases(),
        tiles::cases(),
        litmus::cases(),
        #[cfg(feature = "burn")]
        burn::cases(),
    ]
    .concat()
}

/// Every case that compiles kernels for an NVIDIA GPU without one.
#[cfg(feature = "offline")]
pub fn offline_cases() -> Vec<Case<girih_testkit::offline::Toolkit>> {
    [
        offline::cases(),
        offline_flat::cases(),
        offline_layouts::cases(),
        views::instructions::cases(),
        offline_scatter::cases(),
        offline_sort::cases(),
        groups::instructions::cases(),
        groups::costs::cases(),
        kernels::matmul::tiled::cases(),
        kernels::experts::compiled::cases(),
        kernels::hopper::compiled::cases(),
        kernels::scan::compiled::cases(),
        kernels::segment::compiled::cases(),
        memory::instructions::cases(),
        memory::languages::cases(),
        litmus::compiled::cases(),
        memory::block_instructions::cases(),
        tiles::instructions::cases(),
    ]
    .concat()
}
