//! Tiles compiled for an NVIDIA GPU: nothing goes to local memory, and what planes can do they do.

use cubecl::prelude::*;
use cubecl::tf32;
use girih_testkit::{
    Error, cases,
    offline::{Compiled, Toolkit, hopper, settings, target, tensor},
};
use half::{bf16, f16};

use super::model::By;
use super::{elements, positions, reductions, scans, softmax, speed, tensor};

cases! {
    in Toolkit;
    element_wise_kernels_stay_in_registers,
    vectors_stay_vectors,
    reductions_stay_in_registers,
    scans_stay_in_registers,
    sums_pass_from_lane_to_lane,
    large_tiles_are_loops,
    the_softmax_of_the_book,
    planes_multiply_by_matrix_instructions,
    units_multiply_what_no_instruction_does,
    large_sums_stay_in_registers,
}

/// Who holds tiles of a cube of 256 units here.
const PARTIES: [(By, u32); 3] = [(By::Cube, 256), (By::Plane, 32), (By::Lanes(4), 4)];

const ODD: [usize; 3] = [3, 5, 7];
const EVEN: [usize; 3] = [4, 8, 32];

fn element_wise_kernels_stay_in_registers(toolkit: &Toolkit) -> Result<(), Error> {
    macro_rules! compile {
        ($element:ty, $by:expr, $size:expr, $shape:expr) => {{
            let [a, b, c] = $shape;
            let kernel = elements::arithmetic::Arithmetic::<$element>::new(
                settings(256),
                hopper(),
                target(),
                tensor(),
                tensor(),
                tensor(),
                a,
                b,
                c,
                $by,
                $size,
                256 / $size,
            );
            toolkit.compile(kernel)?.assert_no_local_memory();
        }};
    }
    for (by, size) in PARTIES {
        compile!(f32, by, size, ODD);
    }
    compile!(f32, By::Unit, 1, [1, 4, 4]);
    compile!(f32, By::Cube, 256, EVEN);
    compile!(f16, By::Cube, 256, EVEN);
    compile!(u8, By::Cube, 256, EVEN);
    compile!(i64, By::Cube, 256, EVEN);
    Ok(())
}

fn vectors_stay_vectors(toolkit: &Toolkit) -> Result<(), Error> {
    let kernel = elements::on_vectors::OnVectors::new(
        settings(32),
        hopper(),
        target(),
        tensor(),
        tensor(),
        tensor(),
        4,
    );
    let compiled = toolkit.compile(kernel)?;
    compiled.assert_sass("LDG.E.128");
    compiled.assert_sass("STG.E.128");
    compiled.assert_no_local_memory();
    Ok(())
}

/// A kernel of tiles of these extents, held by such groups.
macro_rules! compile {
    ($toolkit:ident, $module:ident::$kernel:ident::$name:ident of $element:ty, $($tensor:ident)*, $by:expr, $size:expr, $shape:expr) => {{
        let [a, b, c] = $shape;
        let kernel = $module::$kernel::$name::<$element>::new(
            settings(256),
            hopper(),
            target(),
            $($tensor(),)*
            a,
            b,
            c,
            $by,
            $size,
            256 / $size,
        );
        $toolkit.compile(kernel)?
    }};
}

/// Bytes of a unit's registers that a kernel may put aside which holds a dozen reductions at once.
const SPILLED: u32 = 96;

fn reductions_stay_in_registers(toolkit: &Toolkit) -> Result<(), Error> {
    macro_rules! all {
        ($element:ty, $by:expr, $size:expr, $shape:expr) => {
            compile!(toolkit, reductions::reduce_0::Reduce0 of $element, tensor tensor tensor, $by, $size, $shape).assert_spills_at_most(SPILLED);
            compile!(toolkit, reductions::reduce_1::Reduce1 of $element, tensor tensor tensor, $by, $size, $shape).assert_spills_at_most(SPILLED);
            compile!(toolkit, reductions::reduce_2::Reduce2 of $element, tensor tensor tensor, $by, $size, $shape).assert_spills_at_most(SPILLED);
            compile!(toolkit, positions::positions_0::Positions0 of $element, tensor tensor, $by, $size, $shape).assert_spills_at_most(SPILLED);
            compile!(toolkit, positions::positions_1::Positions1 of $element, tensor tensor, $by, $size, $shape).assert_spills_at_most(SPILLED);
            compile!(toolkit, positions::positions_2::Positions2 of $element, tensor tensor, $by, $size, $shape).assert_spills_at_most(SPILLED);
        };
    }
    for (by, size) in PARTIES {
        all!(f32, by, size, ODD);
    }
    all!(f32, By::Cube, 256, EVEN);
    all!(f16, By::Cube, 256, ODD);
    all!(i64, By::Cube, 256, ODD);
    Ok(())
}

fn scans_stay_in_registers(toolkit: &Toolkit) -> Result<(), Error> {
    for (by, size) in PARTIES {
        compile!(toolkit, scans::scan_0::Scan0 of f32, tensor tensor tensor, by, size, [1, 5, 7])
            .assert_no_local_memory();
        compile!(toolkit, scans::scan_1::Scan1 of f32, tensor tensor tensor, by, size, [1, 5, 7])
            .assert_no_local_memory();
        compile!(toolkit, scans::scan_2::Scan2 of f32, tensor tensor tensor, by, size, [1, 5, 7])
            .assert_no_local_memory();
    }
    Ok(())
}

/// The row sums of a tile of 8 x 256 and more, by a cube of 256 units.
fn normalised(toolkit: &Toolkit, rows: usize, columns: usize) -> Result<Compiled, Error> {
    let kernel = speed::normalised::Normalised::new(
        settings(256),
        hopper(),
        target(),
        tensor(),
        tensor(),
        rows,
        columns,
    );
    toolkit.compile(kernel)
}

fn sums_pass_from_lane_to_lane(toolkit: &Toolkit) -> Result<(), Error> {
    let compiled = normalised(toolkit, 8, 256)?;
    compiled.assert_sass("SHFL");
    compiled.assert_sass("BAR.SYNC");
    compiled.assert_no_local_memory();
    Ok(())
}

fn large_tiles_are_loops(toolkit: &Toolkit) -> Result<(), Error> {
    let small = normalised(toolkit, 16, 16)?;
    let large = normalised(toolkit, 128, 128)?;
    large.assert_no_local_memory();
    // The PTX of a loop is as long however many rounds it has.
    let lines = |compiled: &Compiled| compiled.ptx.lines().count();
    assert!(
        lines(&large) < 3 * lines(&small) + 500,
        "{} lines of PTX, {} for the small tile",
        lines(&large),
        lines(&small)
    );
    Ok(())
}

fn the_softmax_of_the_book(toolkit: &Toolkit) -> Result<(), Error> {
    let kernel = softmax::softmax::Softmax::new(
        settings(256),
        hopper(),
        target(),
        tensor(),
        tensor(),
        tensor(),
    );
    let compiled = toolkit.compile(kernel)?;
    compiled.assert_in_registers(64);
    Ok(())
}

/// Products added to a tile of 32 x 16 of `E`, held for `H`, by four planes or another group of a cube of 128 units.
fn twice<E: Numeric, F: Numeric, G: Numeric, H: Numeric>(
    toolkit: &Toolkit,
    (by, size): (By, u32),
    inner: usize,
) -> Result<Compiled, Error> {
    let kernel = tensor::twice::Twice::<E, F, G, H>::new(
        settings(128),
        hopper(),
        target(),
        tensor(),
        tensor(),
        tensor(),
        tensor(),
        32,
        16,
        inner,
        by,
        size,
    );
    toolkit.compile(kernel)
}

fn planes_multiply_by_matrix_instructions(toolkit: &Toolkit) -> Result<(), Error> {
    macro_rules! check {
        ($sum:ty, $left:ty, $right:ty, $held:ty: $instruction:literal, $spills:literal) => {
            // 77 is no multiple of what an instruction adds.
            for inner in [64, 77] {
                for group in [(By::Cube, 128), (By::Part(64), 64), (By::Plane, 32)] {
                    let compiled = twice::<$sum, $left, $right, $held>(toolkit, group, inner)?;
                    compiled.assert_sass($instruction);
                    compiled.assert_spills_at_most($spills);
                }
            }
        };
    }
    check!(f32, f16, f16, f16: "HMMA.16816.F32 ", 0);
    check!(f32, bf16, bf16, bf16: "HMMA.16816.F32.BF16", 0);
    // Rounding to tf32 takes registers beside the loop's; ptxas puts three of them aside.
    check!(f32, f32, f32, tf32: "HMMA.1688.F32.TF32", 16);
    check!(i32, i8, i8, i8: "IMMA.16832.S8.S8", 0);
    check!(i32, u8, u8, u8: "IMMA.16832.U8.U8", 0);
    check!(i32, i8, u8, i8: "IMMA.16832.S8.U8", 0);
    Ok(())
}

fn units_multiply_what_no_instruction_does(toolkit: &Toolkit) -> Result<(), Error> {
    let lanes = (By::Lanes(16), 16);
    let compiled = [
        twice::<f32, f32, f32, f32>(toolkit, (By::Cube, 128), 64)?,
        twice::<f32, f16, f16, f16>(toolkit, lanes, 64)?,
        twice::<f32, f16, f16, f16>(toolkit, (By::Cube, 128), 8)?,
        twice::<i32, i32, i32, i32>(toolkit, (By::Cube, 128), 64)?,
    ];
    for compiled in compiled {
        compiled.assert_no_sass("HMMA");
        compiled.assert_no_sass("IMMA");
        compiled.assert_no_local_memory();
    }
    Ok(())
}

fn large_sums_stay_in_registers(toolkit: &Toolkit) -> Result<(), Error> {
    // Each of four planes holds 64 x 64, 128 elements a unit.
    let kernel = tensor::product::Product::<f32, bf16>::new(
        settings(128),
        hopper(),
        target(),
        tensor(),
        tensor(),
        tensor(),
        128,
        32,
    );
    let compiled = toolkit.compile(kernel)?;
    compiled.assert_sass("HMMA.16816.F32.BF16");
    compiled.assert_no_local_memory();
    Ok(())
}
