//! Routers, sums by token and activations compiled for an NVIDIA GPU: accesses of 16 bytes, and no local memory.

use girih_kernels::Activation;
use girih_kernels::raw::experts::{
    Choosing, ExtentsCompilationArg, Teams, activate_backward_kernel, activate_kernel,
    choose_backward_kernel, choose_kernel, combine_backward_kernel, combine_kernel, place_kernel,
};
use girih_testkit::{
    Error, cases,
    offline::{
        Compiled, Toolkit, buffer, hopper, optional, settings, target,
        types::{BF16, F32},
    },
};

cases! {
    in Toolkit;
    a_router_keeps_to_registers,
    places_are_found_without_a_sort,
    all_rows_of_a_token_are_in_flight,
    slopes_of_rows_pass_sums_from_lane_to_lane,
    activations_move_16_bytes,
}

const UNITS: u32 = 256;

fn extents() -> ExtentsCompilationArg {
    ExtentsCompilationArg {
        tokens: (),
        experts: (),
        chosen: (),
        of_chunk: (),
        chunks: (),
        token_step: (),
        expert_step: (),
    }
}

fn in_registers(compiled: &Compiled, most: u32) {
    compiled.assert_no_local_memory();
    compiled.assert_registers_at_most(most);
}

fn a_router_keeps_to_registers(toolkit: &Toolkit) -> Result<(), Error> {
    for normalise in [true, false] {
        let compiled = toolkit.compile(choose_kernel::ChooseKernel::new(
            settings(64),
            hopper(),
            target(),
            buffer(),
            buffer(),
            buffer(),
            buffer(),
            buffer(),
            extents(),
            Choosing {
                normalise,
                room: 256,
            },
            [BF16, F32],
        ))?;
        in_registers(&compiled, 64);
        let compiled = toolkit.compile(choose_backward_kernel::ChooseBackwardKernel::new(
            settings(UNITS),
            hopper(),
            target(),
            buffer(),
            buffer(),
            buffer(),
            buffer(),
            buffer(),
            extents(),
            normalise,
            [BF16, F32],
        ))?;
        in_registers(&compiled, 64);
    }
    Ok(())
}

fn places_are_found_without_a_sort(toolkit: &Toolkit) -> Result<(), Error> {
    let compiled = toolkit.compile(place_kernel::PlaceKernel::new(
        settings(UNITS),
        hopper(),
        target(),
        buffer(),
        buffer(),
        buffer(),
        buffer(),
        buffer(),
        extents(),
        64,
    ))?;
    in_registers(&compiled, 64);
    Ok(())
}

fn all_rows_of_a_token_are_in_flight(toolkit: &Toolkit) -> Result<(), Error> {
    for (chosen, weighted) in [(2, true), (6, true), (8, false)] {
        let compiled = toolkit.compile(combine_kernel::CombineKernel::new(
            settings(UNITS),
            hopper(),
            target(),
            buffer(),
            buffer(),
            optional(weighted),
            buffer(),
            (),
            (),
            (),
            (),
            8,
            chosen,
            [BF16, F32],
        ))?;
        let loads = compiled.count_sass("LDG.E.128");
        assert!(loads >= chosen, "{loads} loads: {}", compiled.sass);
        compiled.assert_sass("STG.E.128");
        in_registers(&compiled, 96);
    }
    Ok(())
}

fn slopes_of_rows_pass_sums_from_lane_to_lane(toolkit: &Toolkit) -> Result<(), Error> {
    let compiled = toolkit.compile(combine_backward_kernel::CombineBackwardKernel::new(
        settings(UNITS),
        hopper(),
        target(),
        buffer(),
        buffer(),
        buffer(),
        buffer(),
        buffer(),
        buffer(),
        (),
        (),
        (),
        (),
        (),
        (),
        8,
        Teams {
            team: 32,
            units: UNITS,
            chosen: 2,
        },
        [BF16, F32],
    ))?;
    compiled.assert_sass("LDG.E.128");
    compiled.assert_sass("STG.E.128");
    compiled.assert_sass("SHFL");
    in_registers(&compiled, 80);
    Ok(())
}

fn activations_move_16_bytes(toolkit: &Toolkit) -> Result<(), Error> {
    for activation in [Activation::Relu, Activation::Silu, Activation::Gelu] {
        macro_rules! compile {
            ($kernel:path) => {{
                let types = [BF16, F32];
                toolkit.compile(<$kernel>::new(
                    settings(UNITS),
                    hopper(),
                    target(),
                    buffer(),
                    buffer(),
                    (),
                    8,
                    activation,
                    types,
                ))?
            }};
        }
        let forward = compile!(activate_kernel::ActivateKernel);
        let backward = compile!(activate_backward_kernel::ActivateBackwardKernel);
        for compiled in [forward, backward] {
            compiled.assert_sass("LDG.E.128");
            compiled.assert_sass("STG.E.128");
            in_registers(&compiled, 80);
        }
    }
    Ok(())
}
