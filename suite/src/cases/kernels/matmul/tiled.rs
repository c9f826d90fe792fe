//! Portable products, and those by tensor cores, compiled for an NVIDIA GPU.

use cubecl::ir::{ElemType, FloatKind, IntKind};
use cubecl::prelude::*;
use girih_kernels::raw::matmul::tiled::{
    Form, Grouping, Reading, SizesCompilationArg, StridesCompilationArg, matmul_add_kernel,
    matmul_add_tensor_kernel, matmul_kernel, matmul_tensor_kernel,
};
use girih_kernels::{Activation, Bounds, MatmulTile};
use girih_testkit::{
    Error, cases,
    offline::{Compiled, Toolkit, buffer, hopper, settings, target},
};

cases! {
    in Toolkit;
    units_keep_their_sums_in_registers,
    planes_multiply_fragments,
    planes_read_every_order,
    sums_are_added_in_vectors,
}

const BF16: ElemType = ElemType::Float(FloatKind::BF16);
const F16: ElemType = ElemType::Float(FloatKind::F16);
const F32: ElemType = ElemType::Float(FloatKind::F32);
const I32: ElemType = ElemType::Int(IntKind::I32);

fn optional<T: LaunchArg<CompilationArg = BufferCompilationArg>>(
    is_there: bool,
) -> ComptimeOptionCompilationArg<T> {
    match is_there {
        true => ComptimeOptionCompilationArg::Some(buffer()),
        false => ComptimeOptionCompilationArg::None,
    }
}

fn no_batch() -> SequenceCompilationArg<usize> {
    SequenceCompilationArg {
        values: Default::default(),
    }
}

fn sizes() -> SizesCompilationArg {
    SizesCompilationArg {
        rows: (),
        columns: (),
        inner: (),
        groups: (),
        row_tiles: (),
        column_tiles: (),
        tiles: (),
        rows_a: (),
        rows_c: (),
    }
}

fn strides() -> StridesCompilationArg {
    StridesCompilationArg {
        a_row: (),
        a_inner: (),
        b_inner: (),
        b_column: (),
        b_group: (),
        c_row: (),
        c_column: (),
        c_group: (),
        bias_column: (),
        bias_group: (),
    }
}

/// Row-major operands, in vectors.
fn form(tile: MatmulTile, vector: u32, plane: u32) -> Form {
    Form {
        vector,
        tile,
        plane,
        readings: [Reading::AlongLines, Reading::AcrossLines],
        by_line: [plane > 0, false],
        grouping: Grouping::Batches,
        activation: Activation::Identity,
        bounds: Bounds::Mask,
    }
}

fn by_units(toolkit: &Toolkit, form: Form, types: [ElemType; 4]) -> Result<Compiled, Error> {
    let vector = form.vector as usize;
    let grouped = form.grouping == Grouping::Rows;
    let kernel = matmul_kernel::MatmulKernel::new(
        settings(form.units()[1]),
        hopper(),
        target(),
        buffer(),
        buffer(),
        buffer(),
        optional(false),
        optional(grouped),
        optional(false),
        optional(false),
        no_batch(),
        sizes(),
        strides(),
        vector,
        vector,
        vector,
        vector,
        form,
        types,
    );
    toolkit.compile(kernel)
}

fn by_planes(toolkit: &Toolkit, form: Form, types: [ElemType; 4]) -> Result<Compiled, Error> {
    let width = |reading| match reading {
        Reading::Elements { .. } => 1,
        _ => form.vector as usize,
    };
    let grouped = form.grouping == Grouping::Rows;
    let kernel = matmul_tensor_kernel::MatmulTensorKernel::new(
        settings(form.units()[1]),
        hopper(),
        target(),
        buffer(),
        buffer(),
        buffer(),
        optional(false),
        optional(grouped),
        optional(grouped),
        optional(false),
        no_batch(),
        sizes(),
        strides(),
        width(form.readings[0]),
        width(form.readings[1]),
        4,
        form.vector as usize,
        4,
        form,
        types,
    );
    toolkit.compile(kernel)
}

fn units_keep_their_sums_in_registers(toolkit: &Toolkit) -> Result<(), Error> {
    for tile in [
        MatmulTile::new([128, 128, 8], [8, 8]),
        MatmulTile::new([64, 64, 16], [4, 4]),
    ] {
        for types in [[F32, F32, F32, I32], [BF16, F32, BF16, I32]] {
            for grouping in [Grouping::Batches, Grouping::Rows] {
                let form = Form {
                    grouping,
                    ..form(tile, 4, 0)
                };
                let compiled = by_units(toolkit, form, types)?;
                compiled.assert_no_local_memory();
                compiled.assert_sass("LDS.128");
                compiled.assert_sass("FFMA");
            }
        }
    }
    Ok(())
}

const PLANES: MatmulTile = MatmulTile::new([128, 128, 32], [32, 64]);

fn planes_multiply_fragments(toolkit: &Toolkit) -> Result<(), Error> {
    for element in [BF16, F16] {
        for grouping in [Grouping::Batches, Grouping::Rows] {
            let form = Form {
                grouping,
                ..form(PLANES, 8, 32)
            };
            let compiled = by_planes(toolkit, form, [element, F32, element, I32])?;
            compiled.assert_no_local_memory();
            compiled.assert_sass("HMMA.16816.F32");
            // Operands come 16 bytes at a time.
            compiled.assert_sass("LDG.E.128");
        }
    }
    Ok(())
}

fn planes_read_every_order(toolkit: &Toolkit) -> Result<(), Error> {
    let elements = |along_lines| Reading::Elements { along_lines };
    for readings in [
        [Reading::AcrossLines, Reading::AlongLines],
        [Reading::AlongLines, Reading::AlongLines],
        [elements(true), elements(false)],
        [elements(false), elements(true)],
    ] {
        let by_line =
            readings.map(|reading| reading == Reading::AlongLines || reading == elements(true));
        let form = Form {
            readings,
            by_line,
            ..form(PLANES, 8, 32)
        };
        let compiled = by_planes(toolkit, form, [BF16, F32, F32, I32])?;
        compiled.assert_no_local_memory();
        compiled.assert_sass("HMMA.16816.F32");
    }
    Ok(())
}

fn sums_are_added_in_vectors(toolkit: &Toolkit) -> Result<(), Error> {
    let grouped = |form| Form {
        grouping: Grouping::Rows,
        ..form
    };
    let by_units = grouped(form(MatmulTile::new([64, 64, 16], [4, 4]), 4, 0));
    let kernel = matmul_add_kernel::MatmulAddKernel::new(
        settings(by_units.units()[1]),
        hopper(),
        target(),
        buffer(),
        buffer(),
        buffer(),
        optional(false),
        optional(true),
        optional(true),
        optional(true),
        optional(true),
        optional(false),
        optional(false),
        no_batch(),
        sizes(),
        strides(),
        4,
        4,
        4,
        4,
        by_units,
        [F32, F32, F32, I32, F32],
    );
    let compiled = toolkit.compile(kernel)?;
    compiled.assert_no_local_memory();
    compiled.assert_ptx("red.relaxed.gpu.global.add.v4.f32");
    let by_planes = grouped(form(PLANES, 8, 32));
    let kernel = matmul_add_tensor_kernel::MatmulAddTensorKernel::new(
        settings(by_planes.units()[1]),
        hopper(),
        target(),
        buffer(),
        buffer(),
        buffer(),
        optional(false),
        optional(true),
        optional(false),
        optional(true),
        optional(true),
        optional(false),
        optional(false),
        no_batch(),
        sizes(),
        strides(),
        8,
        8,
        4,
        8,
        4,
        by_planes,
        [BF16, F32, F32, I32, F32],
    );
    let compiled = toolkit.compile(kernel)?;
    compiled.assert_no_local_memory();
    compiled.assert_ptx("red.relaxed.gpu.global.add.v4.f32");
    compiled.assert_sass("HMMA.16816.F32");
    Ok(())
}
