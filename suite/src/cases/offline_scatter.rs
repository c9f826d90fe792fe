//! Scatters compiled for an NVIDIA GPU: rows move 16 bytes at a time, updates meet memory by reductions that return nothing,
//! and what a unit has in flight stays in registers.

use cubecl::ir::ElemType;
use girih::Bounds;
use girih_kernels::ScatterMode;
use girih_kernels::raw::scatter::{
    Level, PrivatePlan, TilePlan, elect_kernel, private_kernel, reduce_kernel, tile_kernel,
};
use girih_testkit::{
    Error, cases,
    offline::{
        Compiled, Toolkit, buffer, hopper, none, settings, target, tensor,
        types::{BF16, F16, F32, I32},
    },
};

cases! {
    in Toolkit;
    a_tile_of_f32_reduces_4_at_once,
    a_tile_of_bf16_reduces_8_at_once,
    a_tile_of_f16_reduces_8_at_once,
    a_tile_of_i32_reduces,
    a_tile_of_smallest_f32_exchanges,
    private_sums_of_f32_reduce_4_at_once,
    runs_of_f32_gather_16_bytes,
    runs_of_bf16_gather_16_bytes_and_sum_in_f32,
    runs_of_entries_read_16_bytes,
    elected_rows_move_16_bytes,
}

/// Tiles of rows that 32 units move, or 16.
fn tile(
    toolkit: &Toolkit,
    element: ElemType,
    sum: ElemType,
    mode: ScatterMode,
    [atomic, width]: [usize; 2],
) -> Result<Compiled, Error> {
    let plan = TilePlan {
        mode,
        bounds: Bounds::Mask,
        is_flat: true,
        units: 256,
        run: 32,
        room: 256,
    };
    let kernel = tile_kernel::TileKernel::new(
        settings(256),
        hopper(),
        target(),
        tensor(),
        tensor(),
        tensor(),
        none(),
        (),
        (),
        (),
        (),
        (),
        (),
        atomic,
        width,
        plan,
        [element, sum, I32],
    );
    let compiled = toolkit.compile(kernel)?;
    compiled.assert_no_local_memory();
    // The rows are read through the read-only path, as the kernel writes only where it combines.
    compiled.assert_ptx("ld.global.nc");
    compiled.assert_sass("LDG.E.128");
    // Four cubes to a processor, at least.
    compiled.assert_registers_at_most(64);
    Ok(compiled)
}

fn a_tile_of_f32_reduces_4_at_once(toolkit: &Toolkit) -> Result<(), Error> {
    let compiled = tile(toolkit, F32, F32, ScatterMode::Add, [4, 4])?;
    compiled.assert_ptx("red.relaxed.gpu.global.add.v4.f32");
    compiled.assert_sass("REDG.E.ADD.F32x4");
    Ok(())
}

fn a_tile_of_bf16_reduces_8_at_once(toolkit: &Toolkit) -> Result<(), Error> {
    let compiled = tile(toolkit, BF16, F32, ScatterMode::Add, [8, 8])?;
    compiled.assert_ptx("red.relaxed.gpu.global.add.noftz.v4.bf16x2");
    Ok(())
}

fn a_tile_of_f16_reduces_8_at_once(toolkit: &Toolkit) -> Result<(), Error> {
    let compiled = tile(toolkit, F16, F32, ScatterMode::Add, [8, 8])?;
    compiled.assert_ptx("red.relaxed.gpu.global.add.noftz.v4.f16x2");
    Ok(())
}

fn a_tile_of_i32_reduces(toolkit: &Toolkit) -> Result<(), Error> {
    let compiled = tile(toolkit, I32, I32, ScatterMode::Max, [1, 4])?;
    compiled.assert_ptx("red.relaxed.gpu.global.max.s32");
    Ok(())
}

fn a_tile_of_smallest_f32_exchanges(toolkit: &Toolkit) -> Result<(), Error> {
    let compiled = tile(toolkit, F32, F32, ScatterMode::Min, [1, 4])?;
    compiled.assert_ptx("atom.relaxed.gpu.global.cas.b32");
    Ok(())
}

fn private_sums_of_f32_reduce_4_at_once(toolkit: &Toolkit) -> Result<(), Error> {
    let plan = PrivatePlan {
        mode: ScatterMode::Add,
        bounds: Bounds::Wrap,
        is_flat: true,
        units: 160,
        room: 2940,
        slices: 16,
    };
    let kernel = private_kernel::PrivateKernel::new(
        settings(160),
        hopper(),
        target(),
        tensor(),
        tensor(),
        tensor(),
        none(),
        (),
        (),
        (),
        (),
        (),
        (),
        (),
        4,
        4,
        plan,
        [F32, F32, I32],
    );
    let compiled = toolkit.compile(kernel)?;
    compiled.assert_no_local_memory();
    compiled.assert_sass("LDG.E.128");
    compiled.assert_sass("LDS.128");
    compiled.assert_ptx("red.relaxed.gpu.global.add.v4.f32");
    Ok(())
}

fn runs(
    toolkit: &Toolkit,
    [element, source, sum]: [ElemType; 3],
    is_first: bool,
    width: usize,
) -> Result<Compiled, Error> {
    let level = Level {
        mode: ScatterMode::Add,
        is_first,
        is_flat: true,
    };
    let kernel = reduce_kernel::ReduceKernel::new(
        settings(256),
        hopper(),
        target(),
        tensor(),
        tensor(),
        buffer(),
        buffer(),
        buffer(),
        buffer(),
        (),
        (),
        (),
        width,
        level,
        [element, source, sum],
    );
    let compiled = toolkit.compile(kernel)?;
    compiled.assert_no_local_memory();
    compiled.assert_sass("LDG.E.128");
    // No atomics: what a place comes to does not hang on who comes first.
    compiled.assert_no_sass("RED");
    compiled.assert_no_sass("ATOM");
    // Two cubes to a processor, whose units have eight accesses in flight each.
    compiled.assert_registers_at_most(128);
    Ok(compiled)
}

fn runs_of_f32_gather_16_bytes(toolkit: &Toolkit) -> Result<(), Error> {
    let compiled = runs(toolkit, [F32, F32, F32], true, 4)?;
    compiled.assert_sass("STG.E.128");
    Ok(())
}

fn runs_of_bf16_gather_16_bytes_and_sum_in_f32(toolkit: &Toolkit) -> Result<(), Error> {
    let compiled = runs(toolkit, [BF16, BF16, F32], true, 8)?;
    compiled.assert_sass("STG.E.128");
    compiled.assert_sass("FADD");
    Ok(())
}

fn runs_of_entries_read_16_bytes(toolkit: &Toolkit) -> Result<(), Error> {
    runs(toolkit, [F32, F32, F32], false, 4)?;
    Ok(())
}

fn elected_rows_move_16_bytes(toolkit: &Toolkit) -> Result<(), Error> {
    let kernel = elect_kernel::ElectKernel::new(
        settings(256),
        hopper(),
        target(),
        tensor(),
        tensor(),
        tensor(),
        buffer(),
        (),
        (),
        (),
        4,
        Bounds::Mask,
        true,
        true,
        [F32, I32],
    );
    let compiled = toolkit.compile(kernel)?;
    compiled.assert_no_local_memory();
    compiled.assert_sass("LDG.E.128");
    compiled.assert_sass("STG.E.128");
    Ok(())
}
