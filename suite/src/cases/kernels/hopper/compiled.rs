//! Products compiled for Hopper: tensor cores that never wait for each other, and accumulators that stay in registers.

use cubecl::ir::{ElemType, IntKind};
use girih::Bounds;
use girih::cuda::wgmma::Major;
use girih_kernels::Activation;
use girih_kernels::raw::matmul::hopper::{
    Beside, Form, Groups, Operand, ProblemCompilationArg, Routing, Share, UNITS, Writing,
    hopper_kernel,
};
use girih_testkit::{
    Error, cases,
    offline::{
        Compiled, Toolkit, buffer, hopper, optional, settings, target,
        types::{BF16, F16, F32},
    },
};

cases! {
    in Toolkit;
    a_product_keeps_its_accumulators_in_registers,
    every_layout_of_operands_compiles,
    results_of_every_type_compile,
    what_lies_beside_compiles,
    groups_compile,
    cubes_load_all_columns_where_they_do_not_share_them,
    gathered_and_scattered_rows_compile,
}

/// What the launcher takes for large matrices.
const LARGE: Form = Form {
    columns: 256,
    stages: 4,
    share: Share::B,
    majors: [Major::K, Major::K],
    band: 8,
    groups: Groups::Nothing,
    routing: Routing::InOrder,
    writing: Writing::Set,
    vectors: true,
    biased: false,
    weighted: false,
    activation: Activation::Identity,
    bounds: Bounds::Mask,
    beside: Beside::Nothing,
};

/// The kernel in registers alone, without waits of the compiler's.
fn compile(toolkit: &Toolkit, form: Form, types: [ElemType; 2]) -> Result<Compiled, Error> {
    let [element, output] = types;
    let settings = settings(UNITS);
    let width = 16 / output.size();
    let gathers = form.routing == Routing::Gather;
    let kernel = hopper_kernel::HopperKernel::new(
        settings,
        hopper(),
        target(),
        (),
        (),
        optional(gathers),
        optional(gathers),
        optional(form.groups != Groups::Nothing),
        optional(form.biased),
        optional(form.weighted),
        optional(gathers),
        optional(gathers && form.bounds == Bounds::Report),
        optional(gathers && form.bounds == Bounds::Report),
        buffer(),
        buffer(),
        ProblemCompilationArg {
            rows: (),
            columns: (),
            inner: (),
            count: (),
            step_a: (),
            step_b: (),
            across: (),
            tiles: (),
        },
        (),
        (),
        (),
        (),
        (),
        (),
        (),
        if form.vectors { width } else { 1 },
        width,
        form,
        [element, output, F32, ElemType::Int(IntKind::I64)],
    );
    let compiled = toolkit.compile(kernel)?;
    compiled.assert_no_local_memory();
    compiled.assert_multiplications_overlap();
    compiled.assert_registers_at_most(168);
    let columns = form.columns;
    // Four a buffer, as often as the compiler has the loop.
    let multiplications = compiled.count_sass(&format!("HGMMA.64x{columns}x16"));
    assert!(
        multiplications > 0 && multiplications.is_multiple_of(4),
        "{multiplications} multiplications: {}",
        compiled.sass
    );
    let trades = if form.trades_registers() { 2 } else { 0 };
    assert_eq!(
        compiled.count_sass("USETMAXREG"),
        trades,
        "{}",
        compiled.sass
    );
    Ok(compiled)
}

fn a_product_keeps_its_accumulators_in_registers(toolkit: &Toolkit) -> Result<(), Error> {
    let compiled = compile(toolkit, LARGE, [BF16; 2])?;
    compiled.assert_sass("UTMALDG.3D");
    compiled.assert_sass("STSM.16.M88.4");
    compiled.assert_sass("STG.E.128");
    compiled.assert_ptx("multicast::cluster");
    Ok(())
}

fn every_layout_of_operands_compiles(toolkit: &Toolkit) -> Result<(), Error> {
    for (a, b) in [
        (Major::K, Major::Mn),
        (Major::Mn, Major::K),
        (Major::Mn, Major::Mn),
    ] {
        for share in [Share::Nothing, Share::A, Share::B] {
            let majors = [a, b];
            compile(
                toolkit,
                Form {
                    majors,
                    share,
                    ..LARGE
                },
                [BF16; 2],
            )?;
        }
    }
    for columns in [64, 128] {
        let share = Share::Nothing;
        compile(
            toolkit,
            Form {
                columns,
                share,
                ..LARGE
            },
            [F16; 2],
        )?;
    }
    Ok(())
}

fn results_of_every_type_compile(toolkit: &Toolkit) -> Result<(), Error> {
    for vectors in [true, false] {
        compile(toolkit, Form { vectors, ..LARGE }, [BF16, F32])?;
        compile(toolkit, Form { vectors, ..LARGE }, [F16; 2])?;
    }
    for activation in [Activation::Relu, Activation::Silu, Activation::Gelu] {
        let form = Form {
            activation,
            biased: true,
            weighted: true,
            ..LARGE
        };
        let compiled = compile(toolkit, form, [BF16; 2])?;
        if activation == Activation::Silu {
            // Two special functions for each of a unit's 128 elements, beside those of divisions of integers, and no check of a divisor.
            for function in ["MUFU.EX2", "MUFU.RCP"] {
                let count = compiled.count_sass(function);
                assert!(
                    (128..=144).contains(&count),
                    "{count} {function}: {}",
                    compiled.sass
                );
            }
            assert_eq!(compiled.count_sass("FCHK"), 0, "{}", compiled.sass);
        }
    }
    Ok(())
}

/// Sums before an activation, and slopes, in registers alone: also where rows are gathered, and where matrices are transposed.
fn what_lies_beside_compiles(toolkit: &Toolkit) -> Result<(), Error> {
    let activations = [Activation::Relu, Activation::Silu, Activation::Gelu];
    for (beside, activation) in [Beside::Before, Beside::SlopeAt]
        .into_iter()
        .flat_map(|beside| activations.map(|activation| (beside, activation)))
    {
        let form = Form {
            beside,
            activation,
            groups: Groups::Rows,
            ..LARGE
        };
        let compiled = compile(toolkit, form, [BF16; 2])?;
        compiled.assert_sass("STG.E.128");
        if beside == Beside::SlopeAt {
            compiled.assert_sass("LDG.E.128");
            compiled.assert_ptx("prefetch.global.L2");
        }
    }
    let gathered = Form {
        beside: Beside::Before,
        activation: Activation::Silu,
        groups: Groups::Rows,
        majors: [Major::K, Major::Mn],
        routing: Routing::Gather,
        ..LARGE
    };
    compile(toolkit, gathered, [BF16; 2])?;
    Ok(())
}

fn groups_compile(toolkit: &Toolkit) -> Result<(), Error> {
    for share in [Share::Nothing, Share::A, Share::B] {
        let majors = [Major::K, Major::Mn];
        let form = Form {
            groups: Groups::Rows,
            share,
            majors,
            ..LARGE
        };
        compile(toolkit, form, [BF16; 2])?;
        let form = Form {
            groups: Groups::Inner,
            majors: [Major::Mn, Major::Mn],
            ..form
        };
        compile(toolkit, form, [BF16; 2])?;
    }
    Ok(())
}

/// Of a group's last rows each cube of a cluster loads its own columns, by as many copies of the same size as fill a buffer. Rows of A
/// are gathered, so that every bulk copy is of B.
fn cubes_load_all_columns_where_they_do_not_share_them(toolkit: &Toolkit) -> Result<(), Error> {
    for major in [Major::K, Major::Mn] {
        let form = Form {
            groups: Groups::Rows,
            share: Share::B,
            majors: [Major::K, major],
            routing: Routing::Gather,
            ..LARGE
        };
        let compiled = compile(toolkit, form, [BF16; 2])?;
        let all = compiled.count_ptx("cp.async.bulk.tensor");
        let of_halves = compiled.count_ptx("multicast::cluster");
        let copies = [true, false].map(|shared| form.copies(Operand::B, shared) as usize);
        // As often as the compiler has the loop.
        assert!(of_halves > 0, "{}", compiled.ptx);
        assert_eq!(
            (all - of_halves) * copies[0],
            of_halves * copies[1],
            "{all} copies, {of_halves} of them of halves: {}",
            compiled.ptx
        );
        // Of a tile of 256 columns a cube loads all, or half.
        assert_eq!(copies[1], 2 * copies[0]);
    }
    Ok(())
}

fn gathered_and_scattered_rows_compile(toolkit: &Toolkit) -> Result<(), Error> {
    let form = Form {
        groups: Groups::Rows,
        share: Share::Nothing,
        majors: [Major::K, Major::Mn],
        routing: Routing::Gather,
        ..LARGE
    };
    compile(toolkit, form, [BF16; 2])?.assert_sass("LDGSTS.E.BYPASS.128");
    let share = Share::B;
    compile(toolkit, Form { share, ..form }, [BF16; 2])?.assert_ptx("multicast::cluster");
    for bounds in [Bounds::Clamp, Bounds::Wrap, Bounds::Report] {
        let compiled = compile(toolkit, Form { bounds, ..form }, [BF16; 2])?;
        let records = compiled.count_ptx("gpu.global.min.u32");
        assert_eq!(records > 0, bounds == Bounds::Report, "{}", compiled.ptx);
    }
    for (writing, output) in [
        (Writing::Set, BF16),
        (Writing::Add, BF16),
        (Writing::Add, F32),
    ] {
        let form = Form {
            writing,
            weighted: true,
            ..form
        };
        let compiled = compile(toolkit, form, [BF16, output])?;
        if writing == Writing::Add {
            compiled.assert_sass("REDG.E.ADD");
        }
    }
    Ok(())
}
