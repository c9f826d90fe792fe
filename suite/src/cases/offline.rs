//! Kernels to PTX and SASS with no GPU: the instructions that matter are there, and local memory is not.

use cubecl::ir::ElemType;
use cubecl::prelude::*;
use girih::Bounds;
use girih_kernels::ScatterMode;
use girih_kernels::raw::{self, Cut};
use girih_testkit::{
    Error, cases,
    offline::{
        Compiled, Toolkit, buffer, hopper, none, optional, scalars, settings, target, tensor,
        types::{BF16, F32, I8, I32, I64},
    },
};

use super::smoke::copy;

cases! {
    in Toolkit;
    copy_reads_and_writes_global_memory,
    gather_of_f32_rows_moves_16_bytes,
    gather_of_bf16_rows_moves_16_bytes,
    gather_of_i8_rows_moves_16_bytes,
    gather_reports_by_an_atomic_minimum,
    gather_of_five_axes_compiles,
    gather_by_bulk_copies_keeps_rows_out_of_registers,
    scatter_set_moves_16_bytes,
    scatter_add_combines_4_floats_at_once,
    scatter_add_of_bf16_combines_pairs,
    large_tiles_stay_out_of_local_memory,
}

fn copy_reads_and_writes_global_memory(toolkit: &Toolkit) -> Result<(), Error> {
    let kernel = copy::Copy::<f32>::new(settings(256), hopper(), target(), buffer(), buffer(), ());
    let compiled = toolkit.compile(kernel)?;
    compiled.assert_ptx("ld.global");
    compiled.assert_ptx("st.global");
    compiled.assert_no_local_memory();
    Ok(())
}

/// One tile spans the tensors' last axis, and there is one slab.
const WHOLE: Cut = Cut {
    columns: false,
    slabs: false,
};

/// Tiles of rows of `columns` elements, `rows` of them, in vectors of `width`; 32-bit offsets.
fn gather_kernel(
    element: ElemType,
    bounds: Bounds,
    [width, rows, columns]: [usize; 3],
) -> impl CubeKernel {
    let record = match bounds {
        Bounds::Report => optional(true),
        _ => none(),
    };
    raw::gather_kernel::GatherKernel::new(
        settings(256),
        hopper(),
        target(),
        tensor(),
        tensor(),
        tensor(),
        record,
        (),
        (),
        width,
        1,
        rows,
        columns,
        WHOLE,
        bounds,
        [element, I32],
    )
}

fn gather_moves_16_bytes(toolkit: &Toolkit, element: ElemType, width: usize) -> Result<(), Error> {
    let compiled = toolkit.compile(gather_kernel(
        element,
        Bounds::Mask,
        [width, 16, 32 * width],
    ))?;
    // Two packets a unit: both loads are in flight before the first store.
    assert_eq!(compiled.count_sass("LDG.E.128"), 2, "{}", compiled.sass);
    assert_eq!(compiled.count_sass("STG.E.128"), 2);
    compiled.assert_in_registers(64);
    Ok(())
}

fn gather_of_f32_rows_moves_16_bytes(toolkit: &Toolkit) -> Result<(), Error> {
    gather_moves_16_bytes(toolkit, F32, 4)
}

fn gather_of_bf16_rows_moves_16_bytes(toolkit: &Toolkit) -> Result<(), Error> {
    gather_moves_16_bytes(toolkit, BF16, 8)
}

fn gather_of_i8_rows_moves_16_bytes(toolkit: &Toolkit) -> Result<(), Error> {
    gather_moves_16_bytes(toolkit, I8, 16)
}

fn gather_reports_by_an_atomic_minimum(toolkit: &Toolkit) -> Result<(), Error> {
    let compiled = toolkit.compile(gather_kernel(F32, Bounds::Report, [4, 16, 128]))?;
    compiled.assert_ptx("red.relaxed.gpu.global.min.u32");
    compiled.assert_sass("LDG.E.128");
    compiled.assert_no_local_memory();
    Ok(())
}

fn gather_of_five_axes_compiles(toolkit: &Toolkit) -> Result<(), Error> {
    let types = [F32, I64];
    let kernel = raw::gather_strided_kernel::GatherStridedKernel::new(
        settings(256),
        hopper(),
        target(),
        tensor(),
        tensor(),
        tensor(),
        none(),
        scalars(5),
        1,
        1,
        64,
        8,
        Bounds::Wrap,
        types,
    );
    toolkit.compile(kernel)?.assert_no_local_memory();
    Ok(())
}

fn gather_by_bulk_copies_keeps_rows_out_of_registers(toolkit: &Toolkit) -> Result<(), Error> {
    let kernel = raw::gather_bulk_kernel::GatherBulkKernel::new(
        settings(32),
        hopper(),
        target(),
        buffer(),
        buffer(),
        buffer(),
        (),
        4,
        32,
        16,
        I32,
    );
    let compiled = toolkit.compile(kernel)?;
    compiled.assert_ptx("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes");
    compiled.assert_ptx("cp.async.bulk.global.shared::cta.bulk_group");
    compiled.assert_sass("UBLKCP");
    assert_eq!(compiled.count_sass("LDG.E.128"), 0, "{}", compiled.sass);
    compiled.assert_no_local_memory();
    Ok(())
}

fn scatter_set_moves_16_bytes(toolkit: &Toolkit) -> Result<(), Error> {
    let types = [F32, I32];
    let kernel = raw::scatter::set_kernel::SetKernel::new(
        settings(256),
        hopper(),
        target(),
        tensor(),
        tensor(),
        tensor(),
        none(),
        (),
        (),
        4,
        1,
        16,
        128,
        WHOLE,
        Bounds::Mask,
        types,
    );
    let compiled = toolkit.compile(kernel)?;
    compiled.assert_sass("LDG.E.128");
    compiled.assert_sass("STG.E.128");
    compiled.assert_no_local_memory();
    Ok(())
}

fn scatter_add(toolkit: &Toolkit, element: ElemType, atomic: usize) -> Result<Compiled, Error> {
    let types = [element, I32];
    let kernel = raw::scatter::combine_kernel::CombineKernel::new(
        settings(256),
        hopper(),
        target(),
        tensor(),
        tensor(),
        tensor(),
        none(),
        (),
        (),
        atomic,
        atomic,
        1,
        16,
        128,
        WHOLE,
        Bounds::Mask,
        ScatterMode::Add,
        types,
    );
    toolkit.compile(kernel)
}

fn scatter_add_combines_4_floats_at_once(toolkit: &Toolkit) -> Result<(), Error> {
    let compiled = scatter_add(toolkit, F32, 4)?;
    compiled.assert_ptx("red.relaxed.gpu.global.add.v4.f32");
    compiled.assert_sass("REDG.E.ADD.F32x4");
    // The rows added are read through the read-only path, as the kernel writes only where it adds.
    compiled.assert_ptx("ld.global.nc");
    compiled.assert_no_local_memory();
    Ok(())
}

fn scatter_add_of_bf16_combines_pairs(toolkit: &Toolkit) -> Result<(), Error> {
    let compiled = scatter_add(toolkit, BF16, 2)?;
    compiled.assert_ptx("red.relaxed.gpu.global.add.noftz.bf16x2");
    compiled.assert_no_local_memory();
    Ok(())
}

fn large_tiles_stay_out_of_local_memory(toolkit: &Toolkit) -> Result<(), Error> {
    let kernel = super::views::large_tile::LargeTile::new(
        settings(256),
        hopper(),
        target(),
        tensor(),
        buffer(),
        tensor(),
    );
    toolkit.compile(kernel)?.assert_no_local_memory();
    Ok(())
}
