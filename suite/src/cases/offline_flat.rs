//! Flat views compiled for an NVIDIA GPU without one: loads in flight together, additions in memory, no local memory.

use girih_testkit::{
    Error, cases,
    offline::{Toolkit, buffer, hopper, settings, target, tensor},
};

use super::flat::compiled::{joint, pick};

cases! {
    in Toolkit;
    a_flat_gather_has_all_loads_in_flight,
    a_flat_addition_is_one_instruction,
}

fn a_flat_gather_has_all_loads_in_flight(toolkit: &Toolkit) -> Result<(), Error> {
    let kernel = pick::Pick::new(
        settings(256),
        hopper(),
        target(),
        tensor(),
        tensor(),
        tensor(),
        tensor(),
        tensor(),
    );
    let compiled = toolkit.compile(kernel)?;
    compiled.assert_in_registers(64);
    // A unit has an element of each of the four rows, and they are stored after the last was asked for.
    let loads = compiled.sass.rfind("LDG.E").expect("loads");
    let stores = compiled.sass.find("STG.E").expect("stores");
    assert!(loads < stores, "{}", compiled.sass);
    assert_eq!(compiled.count_sass("STG.E"), 4);
    Ok(())
}

fn a_flat_addition_is_one_instruction(toolkit: &Toolkit) -> Result<(), Error> {
    let kernel = joint::Joint::new(
        settings(256),
        hopper(),
        target(),
        buffer(),
        buffer(),
        tensor(),
    );
    let compiled = toolkit.compile(kernel)?;
    compiled.assert_ptx("red.relaxed.gpu.global.add.u32");
    compiled.assert_no_local_memory();
    Ok(())
}
