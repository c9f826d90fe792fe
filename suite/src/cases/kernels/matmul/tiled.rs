//! Portable products, and those by tensor cores, compiled for an NVIDIA GPU.

use cubecl::ir::ElemType;
use girih_kernels::raw::matmul::tiled::{
    Form, Grouping, Reading, SizesCompilationArg, StridesCompilationArg, matmul_add_kernel,
    matmul_kernel,
};
use girih_kernels::{Activation, Bounds, MatmulTile};
use girih_testkit::{
    Error, cases,
    offline::{
        Compiled, Toolkit, buffer, hopper, optional, scalars, settings, target,
        types::{BF16, F16, F32, I8, I32, TF32, U8},
    },
};

cases! {
    in Toolkit;
    units_keep_their_sums_in_registers,
    planes_multiply_fragments,
    planes_read_every_order,
    planes_multiply_tf32,
    planes_multiply_integers,
    reads_ahead_of_multiplications,
    sums_are_added_in_vectors,
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

/// Row-major operands, in vectors of 16 bytes; of planes with fragments of so many positions of K.
fn form(tile: MatmulTile, vector: u32, plane: u32, fragment: u32) -> Form {
    Form {
        vector,
        tile,
        plane,
        fragment,
        buffers: if plane > 0 { 2 } else { 1 },
        readings: [Reading::AlongLines, Reading::AcrossLines],
        by_line: [plane > 0, false],
        grouping: Grouping::Batches,
        activation: Activation::Identity,
        bounds: Bounds::Mask,
    }
}

/// The kernel that stores, of elements, what they are multiplied as, sums, results and lists.
fn compile(toolkit: &Toolkit, form: Form, types: [ElemType; 5]) -> Result<Compiled, Error> {
    let width = |reading| match reading {
        Reading::Elements { .. } => 1,
        _ => form.vector as usize,
    };
    let grouped = form.grouping == Grouping::Rows;
    let written = written(&form);
    let kernel = matmul_kernel::MatmulKernel::new(
        settings(form.units()[1]),
        hopper(),
        target(),
        buffer(),
        buffer(),
        buffer(),
        optional(false),
        optional(grouped),
        optional(grouped && form.plane > 0),
        optional(false),
        scalars(0),
        sizes(),
        strides(),
        width(form.readings[0]),
        width(form.readings[1]),
        written,
        form.vector as usize,
        written,
        form,
        types,
    );
    let compiled = toolkit.compile(kernel)?;
    compiled.assert_no_local_memory();
    // Two cubes of 256 units have a processor's registers; of planes that multiply others than halves, one has.
    let most = match (form.plane, form.vector) {
        (0, _) | (_, 8) => 128,
        _ => 255,
    };
    compiled.assert_registers_at_most(most);
    Ok(compiled)
}

/// Elements that a unit writes at a time.
fn written(form: &Form) -> usize {
    match form.plane {
        0 => form.vector as usize,
        _ => 4,
    }
}

fn units_keep_their_sums_in_registers(toolkit: &Toolkit) -> Result<(), Error> {
    for tile in [
        MatmulTile::new([128, 128, 8], [8, 8]),
        MatmulTile::new([64, 64, 16], [4, 4]),
    ] {
        for types in [[F32, F32, F32, F32, I32], [BF16, F32, F32, BF16, I32]] {
            for grouping in [Grouping::Batches, Grouping::Rows] {
                let form = Form {
                    grouping,
                    ..form(tile, 4, 0, 0)
                };
                let compiled = compile(toolkit, form, types)?;
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
                ..form(PLANES, 8, 32, 16)
            };
            let compiled = compile(toolkit, form, [element, element, F32, element, I32])?;
            compiled.assert_sass("HMMA.16816.F32");
            // Operands come 16 bytes at a time.
            compiled.assert_sass("LDG.E.128");
        }
    }
    Ok(())
}

fn planes_read_every_order(toolkit: &Toolkit) -> Result<(), Error> {
    for readings in orders() {
        let form = with_readings(form(PLANES, 8, 32, 16), readings);
        let compiled = compile(toolkit, form, [BF16, BF16, F32, F32, I32])?;
        compiled.assert_sass("HMMA.16816.F32");
    }
    Ok(())
}

/// How A and B may be read, but for what the other cases have.
fn orders() -> [[Reading; 2]; 4] {
    let elements = |along_lines| Reading::Elements { along_lines };
    [
        [Reading::AcrossLines, Reading::AlongLines],
        [Reading::AlongLines, Reading::AlongLines],
        [elements(true), elements(false)],
        [elements(false), elements(true)],
    ]
}

fn with_readings(form: Form, readings: [Reading; 2]) -> Form {
    let along = Reading::Elements { along_lines: true };
    let by_line = readings.map(|reading| reading == Reading::AlongLines || reading == along);
    let in_vectors = !readings
        .iter()
        .any(|reading| matches!(reading, Reading::Elements { .. }));
    Form {
        readings,
        by_line,
        buffers: if in_vectors { 2 } else { 1 },
        ..form
    }
}

fn planes_multiply_tf32(toolkit: &Toolkit) -> Result<(), Error> {
    let tile = MatmulTile {
        depth: 16,
        ..PLANES
    };
    let form = form(tile, 4, 32, 8);
    let types = [F32, TF32, F32, F32, I32];
    let compiled = compile(toolkit, form, types)?;
    compiled.assert_sass("F32.TF32");
    compiled.assert_sass("LDG.E.128");
    // Operands are rounded, not cut off.
    compiled.assert_ptx("cvt.rna.tf32.f32");
    for readings in orders() {
        let compiled = compile(toolkit, with_readings(form, readings), types)?;
        compiled.assert_sass("F32.TF32");
    }
    Ok(())
}

fn planes_multiply_integers(toolkit: &Toolkit) -> Result<(), Error> {
    let tile = MatmulTile {
        depth: 64,
        ..PLANES
    };
    let form = form(tile, 16, 32, 16);
    for (element, instruction) in [(I8, "IMMA.16816.S8.S8"), (U8, "IMMA.16816.U8.U8")] {
        let types = [element, element, I32, I32, I32];
        let compiled = compile(toolkit, form, types)?;
        compiled.assert_sass(instruction);
        compiled.assert_sass("LDG.E.128");
        for readings in orders() {
            let compiled = compile(toolkit, with_readings(form, readings), types)?;
            compiled.assert_sass(instruction);
        }
    }
    Ok(())
}

/// With two buffers the units of a cube wait for each other once a tile, not twice.
fn reads_ahead_of_multiplications(toolkit: &Toolkit) -> Result<(), Error> {
    let types = [F16, F16, F32, F16, I32];
    let two = form(PLANES, 8, 32, 16);
    let one = Form { buffers: 1, ..two };
    for (form, waits, tiles) in [(one, 2, 1), (two, 2, 2)] {
        let compiled = compile(toolkit, form, types)?;
        // One of the two waits is before the loop where there are two buffers.
        assert_eq!(compiled.count_sass("BAR.SYNC"), waits, "{}", compiled.sass);
        // Two vectors of each operand.
        assert_eq!(compiled.count_sass("LDG.E.128"), 4 * tiles);
    }
    Ok(())
}

fn sums_are_added_in_vectors(toolkit: &Toolkit) -> Result<(), Error> {
    let units = form(MatmulTile::new([64, 64, 16], [4, 4]), 4, 0, 0);
    let planes = form(PLANES, 8, 32, 16);
    for (form, element) in [(units, F32), (planes, BF16)] {
        let form = Form {
            grouping: Grouping::Rows,
            ..form
        };
        let vector = form.vector as usize;
        let kernel = matmul_add_kernel::MatmulAddKernel::new(
            settings(form.units()[1]),
            hopper(),
            target(),
            buffer(),
            buffer(),
            buffer(),
            optional(false),
            optional(true),
            optional(form.plane == 0),
            optional(true),
            optional(true),
            optional(false),
            optional(false),
            scalars(0),
            sizes(),
            strides(),
            vector,
            vector,
            4,
            vector,
            written(&form),
            form,
            [element, element, F32, F32, I32, F32],
        );
        let compiled = toolkit.compile(kernel)?;
        compiled.assert_no_local_memory();
        compiled.assert_ptx("red.relaxed.gpu.global.add.v4.f32");
        if form.plane > 0 {
            compiled.assert_sass("HMMA.16816.F32");
        }
    }
    Ok(())
}
