//! Scans compiled for an NVIDIA GPU: whole vectors, no local memory, and look-back by one word.

use cubecl::ir::{ElemType, FloatKind, IntKind};
use cubecl::prelude::*;
use girih::memory::blocks::{Ordered, Unordered};
use girih_kernels::raw::compact::{CompactPlan, Keep, NonZero, compact_look_back_kernel};
use girih_kernels::raw::scan::{
    Cuts, Max, Pipeline, RunPlan, RunsCompilationArg, Sum, TilePlan, look_back_kernel,
    pipelined_kernel, reduce_tiles_kernel, scan_runs_kernel, scan_tiles_kernel,
};
use girih_testkit::{
    Error, cases,
    offline::{
        Compiled, Toolkit, buffer, hopper, none, optional, settings, target,
        types::{F32, U32},
    },
};

cases! {
    in Toolkit;
    one_pass_moves_16_bytes_and_keeps_to_registers,
    a_total_of_32_bits_is_published_in_one_word,
    a_total_of_64_bits_is_handed_on_by_its_state,
    without_its_orders_it_is_not,
    bytes_and_halves_move_16_bytes,
    two_passes_move_16_bytes,
    segments_keep_to_registers,
    runs_keep_to_registers,
    compactions_keep_to_registers,
    pipelines_fetch_in_bulk_and_keep_to_registers,
    pipelines_of_every_operation_keep_to_registers,
}

/// The axis that is scanned alone.
fn one_row() -> SequenceCompilationArg<usize> {
    SequenceCompilationArg {
        values: [(); 4].into_iter().collect(),
    }
}

/// Tiles of 256 units with `vectors` vectors of `width` elements.
fn plan(width: usize, vectors: usize) -> TilePlan {
    TilePlan {
        width,
        vectors,
        lanes: 32,
        planes: 8,
        aligned: true,
        single: true,
        exclusive: false,
        cuts: Cuts::Rows,
    }
}

macro_rules! look_back {
    ($toolkit:expr, $orders:ty, $element:expr, $sum:expr, $plan:expr, $list:expr) => {
        $toolkit.compile(look_back_kernel::LookBackKernel::<Sum, $orders>::new(
            settings(256),
            hopper(),
            target(),
            buffer(),
            buffer(),
            buffer(),
            buffer(),
            buffer(),
            $list,
            one_row(),
            (),
            (),
            (),
            (),
            $plan.width,
            $plan,
            true,
            [$element, $sum, U32],
        ))
    };
}

fn in_16_bytes(compiled: &Compiled, vectors: usize) {
    moves_16_bytes(compiled, vectors);
    compiled.assert_no_local_memory();
}

fn moves_16_bytes(compiled: &Compiled, vectors: usize) {
    assert_eq!(
        compiled.count_sass("LDG.E.128"),
        vectors,
        "{}",
        compiled.sass
    );
    assert_eq!(
        compiled.count_sass("STG.E.128"),
        vectors,
        "{}",
        compiled.sass
    );
}

fn one_pass_moves_16_bytes_and_keeps_to_registers(toolkit: &Toolkit) -> Result<(), Error> {
    let compiled = look_back!(toolkit, Ordered, F32, F32, plan(4, 8), none())?;
    in_16_bytes(&compiled, 8);
    // Four cubes of 256 units a processor, each with 32 KiB on their way.
    compiled.assert_registers_at_most(64);
    // A barrier for the planes' totals and one for what is before the tile.
    assert_eq!(compiled.count_sass("BAR.SYNC"), 2, "{}", compiled.sass);
    // One row takes no division, and a cube no ticket.
    for instruction in ["ATOM", "MUFU"] {
        compiled.assert_no_sass(instruction);
    }
    Ok(())
}

fn a_total_of_32_bits_is_published_in_one_word(toolkit: &Toolkit) -> Result<(), Error> {
    let compiled = look_back!(toolkit, Ordered, F32, F32, plan(4, 8), none())?;
    compiled.assert_ptx("st.relaxed.gpu.global.b64");
    compiled.assert_ptx("ld.relaxed.gpu.global.b64");
    // One word holds the total and its state: nothing is ordered around it.
    for order in ["acquire", "release", "acq_rel", "fence", "membar"] {
        compiled.assert_no_ptx(order);
    }
    compiled.assert_no_sass("MEMBAR");
    Ok(())
}

fn a_total_of_64_bits_is_handed_on_by_its_state(toolkit: &Toolkit) -> Result<(), Error> {
    for element in [ElemType::Float(FloatKind::F64), ElemType::Int(IntKind::I64)] {
        let compiled = look_back!(toolkit, Ordered, element, element, plan(2, 8), none())?;
        compiled.assert_ptx("st.release.gpu.global.b64");
        compiled.assert_ptx("ld.acquire.gpu.global.b64");
        in_16_bytes(&compiled, 8);
    }
    Ok(())
}

fn without_its_orders_it_is_not(toolkit: &Toolkit) -> Result<(), Error> {
    let element = ElemType::Int(IntKind::I64);
    let compiled = look_back!(toolkit, Unordered, element, element, plan(2, 8), none())?;
    compiled.assert_no_ptx("st.release.gpu");
    compiled.assert_no_ptx("ld.acquire.gpu");
    Ok(())
}

fn bytes_and_halves_move_16_bytes(toolkit: &Toolkit) -> Result<(), Error> {
    for half in [FloatKind::F16, FloatKind::BF16] {
        let half = ElemType::Float(half);
        let compiled = look_back!(toolkit, Ordered, half, F32, plan(8, 4), none())?;
        in_16_bytes(&compiled, 4);
    }
    let byte = ElemType::Int(IntKind::I8);
    let compiled = look_back!(toolkit, Ordered, byte, byte, plan(16, 2), none())?;
    in_16_bytes(&compiled, 2);
    Ok(())
}

fn two_passes_move_16_bytes(toolkit: &Toolkit) -> Result<(), Error> {
    let plan = plan(4, 8);
    let reduce = toolkit.compile(reduce_tiles_kernel::ReduceTilesKernel::<Max>::new(
        settings(256),
        hopper(),
        target(),
        buffer(),
        buffer(),
        buffer(),
        buffer(),
        none(),
        one_row(),
        (),
        (),
        (),
        plan.width,
        plan,
        [F32, F32, U32],
    ))?;
    assert_eq!(reduce.count_sass("LDG.E.128"), 8, "{}", reduce.sass);
    reduce.assert_no_local_memory();
    let scan = toolkit.compile(scan_tiles_kernel::ScanTilesKernel::<Max>::new(
        settings(256),
        hopper(),
        target(),
        buffer(),
        buffer(),
        buffer(),
        buffer(),
        optional(true),
        none(),
        one_row(),
        (),
        (),
        (),
        plan.width,
        TilePlan {
            exclusive: true,
            ..plan
        },
        [F32, F32, U32],
    ))?;
    in_16_bytes(&scan, 8);
    Ok(())
}

fn segments_keep_to_registers(toolkit: &Toolkit) -> Result<(), Error> {
    for cuts in [Cuts::Every, Cuts::Flags, Cuts::Offsets] {
        let plan = TilePlan {
            cuts,
            exclusive: cuts == Cuts::Flags,
            ..plan(4, 2)
        };
        let list = match cuts {
            Cuts::Every => none(),
            _ => optional(true),
        };
        let compiled = look_back!(toolkit, Ordered, F32, F32, plan, list)?;
        moves_16_bytes(&compiled, 2);
        // Two registers, of where the tile's segments begin.
        compiled.assert_spills_at_most(8);
    }
    Ok(())
}

fn runs_keep_to_registers(toolkit: &Toolkit) -> Result<(), Error> {
    let compiled = toolkit.compile(scan_runs_kernel::ScanRunsKernel::<Sum>::new(
        settings(256),
        hopper(),
        target(),
        buffer(),
        buffer(),
        none(),
        none(),
        one_row(),
        RunsCompilationArg {
            rows: (),
            run: (),
            count: (),
            period: (),
        },
        RunPlan {
            exclusive: false,
            cuts: Cuts::Rows,
        },
        [F32, F32, U32],
    ))?;
    compiled.assert_no_local_memory();
    Ok(())
}

fn compactions_keep_to_registers(toolkit: &Toolkit) -> Result<(), Error> {
    let select = CompactPlan {
        keep: Keep::Mask,
        values: true,
        rejected: false,
        places: 0,
        inverse: false,
    };
    let runs = CompactPlan {
        keep: Keep::Change,
        places: 1,
        inverse: true,
        ..select
    };
    let plans = [
        (select, none()),
        (
            CompactPlan {
                rejected: true,
                ..select
            },
            none(),
        ),
        (
            CompactPlan {
                keep: Keep::Predicate,
                values: false,
                places: 1,
                ..select
            },
            none(),
        ),
        (runs, none()),
        (runs, optional(true)),
    ];
    for (compact, order) in plans {
        let i32s = ElemType::Int(IntKind::I32);
        let kernel = compact_look_back_kernel::CompactLookBackKernel::<NonZero>::new(
            settings(256),
            hopper(),
            target(),
            buffer(),
            buffer(),
            buffer(),
            buffer(),
            buffer(),
            buffer(),
            buffer(),
            buffer(),
            order,
            buffer(),
            buffer(),
            SequenceCompilationArg {
                values: [()].into_iter().collect(),
            },
            (),
            (),
            (),
            4,
            plan(4, 4),
            compact,
            true,
            [F32, i32s, i32s, U32],
        );
        let compiled = toolkit.compile(kernel)?;
        assert_eq!(
            compiled.count_sass("LDG.E.128"),
            loads(compact),
            "{}",
            compiled.sass
        );
        compiled.assert_no_local_memory();
    }
    Ok(())
}

/// Vectors that a unit loads: of the mask, and of the elements where they are looked at.
fn loads(compact: CompactPlan) -> usize {
    let of_mask = compact.keep == Keep::Mask;
    let of_elements = !of_mask || compact.values;
    4 * (usize::from(of_mask) + usize::from(of_elements))
}

/// Registers of a multiprocessor.
const REGISTERS: usize = 64 << 10;

macro_rules! pipelined {
    ($toolkit:expr, $operation:ty, $element:expr, $pipeline:expr, $exclusive:expr) => {{
        let pipeline: Pipeline = $pipeline;
        let form = pipeline.form(132, $exclusive);
        $toolkit.compile(pipelined_kernel::PipelinedKernel::<$operation>::new(
            settings(pipeline.units() as u32),
            hopper(),
            target(),
            buffer(),
            buffer(),
            buffer(),
            buffer(),
            buffer(),
            (),
            (),
            (),
            (),
            form.tile.width,
            form,
            [$element, $element],
        ))
    }};
}

/// Planes, vectors, places, cubes and planes that combine.
const PIPELINES: [[usize; 5]; 8] = [
    [16, 4, 6, 1, 4],
    [8, 8, 6, 1, 2],
    [8, 8, 6, 1, 4],
    [8, 8, 3, 2, 2],
    [8, 4, 12, 1, 4],
    [8, 4, 4, 3, 2],
    [8, 2, 8, 3, 2],
    [16, 8, 3, 1, 4],
];

fn pipeline([planes, vectors, stages, cubes, reducers]: [usize; 5]) -> Pipeline {
    Pipeline {
        planes,
        vectors,
        stages,
        cubes,
        reducers,
    }
}

fn pipelines_fetch_in_bulk_and_keep_to_registers(toolkit: &Toolkit) -> Result<(), Error> {
    for numbers in PIPELINES {
        let pipeline = pipeline(numbers);
        assert!(pipeline.is_possible(227 << 10), "{pipeline:?}");
        let compiled = pipelined!(toolkit, Sum, F32, pipeline, false)?;
        compiled.assert_no_local_memory();
        // As many cubes as it is made for are on a multiprocessor together; registers are given by 8.
        let registers = (compiled.resources.registers as usize).next_multiple_of(8);
        let units = pipeline.units() * pipeline.cubes;
        assert!(
            registers * units <= REGISTERS,
            "{pipeline:?}: {registers} registers of {units} units"
        );
        // One copy fetches a tile, and who scans reads and stores in whole vectors.
        assert_eq!(compiled.count_sass("UBLKCP"), 1, "{}", compiled.sass);
        compiled.assert_sass("LDS.128");
        assert_eq!(
            compiled.count_sass("STG.E.128"),
            pipeline.vectors,
            "{}",
            compiled.sass
        );
        compiled.assert_no_sass("LDG.E.128");
        // A barrier of the cube before planes part.
        assert_eq!(compiled.count_sass("BAR.SYNC"), 1, "{}", compiled.sass);
        // Planes that finish, combine and carry each come together before one lane says that all have read.
        assert_eq!(compiled.count_ptx("bar.warp.sync"), 3, "{}", compiled.ptx);
        // Bulk copies come after the barriers are made, and after what was read of a place by plain loads.
        assert_eq!(
            compiled.count_ptx("fence.proxy.async"),
            2,
            "{}",
            compiled.ptx
        );
        // Totals are one word, and a ticket orders nothing.
        compiled.assert_ptx("st.relaxed.gpu.global.b64");
        compiled.assert_ptx("ld.relaxed.gpu.global.b64");
        for order in ["MEMBAR.SC", "MEMBAR.ALL.GPU"] {
            compiled.assert_no_sass(order);
        }
    }
    Ok(())
}

fn pipelines_of_every_operation_keep_to_registers(toolkit: &Toolkit) -> Result<(), Error> {
    let own = Pipeline::of(227 << 10);
    let i32s = ElemType::Int(IntKind::I32);
    for exclusive in [false, true] {
        for element in [F32, i32s, U32] {
            let sums = pipelined!(toolkit, Sum, element, own, exclusive)?;
            let largest = pipelined!(toolkit, Max, element, own, exclusive)?;
            for compiled in [sums, largest] {
                compiled.assert_no_local_memory();
                assert_eq!(compiled.count_sass("UBLKCP"), 1, "{}", compiled.sass);
            }
        }
    }
    Ok(())
}
