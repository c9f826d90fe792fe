//! Layouts in kernels, compiled for an NVIDIA GPU: what is static leaves no arithmetic behind, and offsets are as wide as
//! they need to be.

use cubecl::prelude::*;
use girih::layout::{KernelLayout, KernelLayoutCompilationArg, Layout};
use girih_testkit::{
    Error, cases,
    offline::{Compiled, Toolkit, buffer, hopper, settings, target},
};

cases! {
    in Toolkit;
    a_static_layout_at_a_constant_coordinate_is_a_constant,
    a_static_layout_multiplies_by_constants,
    a_dynamic_layout_is_not_in_the_kernel,
    offsets_past_32_bits_are_computed_in_64,
    small_offsets_stay_in_32_bits_among_64_bit_addresses,
}

fn layout(text: &str) -> Layout {
    text.parse().expect("a layout")
}

/// SASS that computes with a coordinate, or reads which unit this is.
const ARITHMETIC: [&str; 9] = [
    "IMAD ",
    "IMAD.WIDE",
    "IMAD.IADD",
    "IADD",
    "LEA",
    "LOP3",
    "SHF",
    "I2F",
    "S2",
];

#[cube(launch_unchecked)]
fn at_a_constant(out: &mut [u32], #[comptime] layout: Layout) {
    let layout = KernelLayout::fixed(layout);
    out[0] = layout.offset((1, (2, 3))) as u32;
    out[1] = layout.offset((1, 11)) as u32;
    out[2] = layout.offset(23) as u32;
}

fn a_static_layout_at_a_constant_coordinate_is_a_constant(toolkit: &Toolkit) -> Result<(), Error> {
    let layout = layout("(_2,(_3,_4)):(_1,(_2,_3))");
    let kernel = at_a_constant::AtAConstant::new(settings(1), hopper(), target(), buffer(), layout);
    let compiled = toolkit.compile(kernel)?;
    // 1 * 1 + 2 * 2 + 3 * 3, already so in what CubeCL gives to the compiler.
    assert_eq!(
        compiled.source.matches("= 14;").count(),
        1,
        "{}",
        compiled.source
    );
    assert_eq!(compiled.count_ptx(", 14;"), 1, "{}", compiled.ptx);
    // ptxas may make the constant as two halves, of which 14 is the lower one's bits.
    let made = compiled.count_sass("0xe") + compiled.count_sass("8.3446502685546875e-07");
    assert_eq!(made, 1, "{}", compiled.sass);
    assert_eq!(compiled.count_sass("STG.E"), 3);
    for instruction in ARITHMETIC {
        compiled.assert_no_sass(instruction);
    }
    Ok(())
}

/// The offset of each unit's coordinate in `layout`.
#[cube(launch_unchecked, address_type = "dynamic")]
fn at_units(layout: KernelLayout, out: &mut [u64]) {
    out[UNIT_POS as usize] = layout.offset(UNIT_POS) as u64;
}

fn compiled(toolkit: &Toolkit, text: &str, addresses: AddressType) -> Result<Compiled, Error> {
    let arg = KernelLayoutCompilationArg::new(&layout(text).into(), addresses);
    let settings = settings(32).address_type(addresses);
    let kernel = at_units::AtUnits::new(settings, hopper(), target(), arg, buffer());
    let compiled = toolkit.compile(kernel)?;
    eprintln!(
        "{text}\n{}\n{}\n{}",
        compiled.source, compiled.ptx, compiled.sass
    );
    compiled.assert_no_local_memory();
    Ok(compiled)
}

fn a_static_layout_multiplies_by_constants(toolkit: &Toolkit) -> Result<(), Error> {
    let compiled = compiled(toolkit, "(_4,_8):(_40,_5)", AddressType::U32)?;
    // A power of two splits by a mask and a shift, and nothing is read but the address of the output.
    compiled.assert_sass("LOP3");
    compiled.assert_sass("SHF");
    compiled.assert_no_ptx("div.");
    compiled.assert_no_ptx("rem.");
    assert_eq!(compiled.count_ptx("ld."), 1, "{}", compiled.ptx);
    Ok(())
}

fn a_dynamic_layout_is_not_in_the_kernel(toolkit: &Toolkit) -> Result<(), Error> {
    let small = compiled(toolkit, "(4,8):(40,5)", AddressType::U32)?;
    let large = compiled(toolkit, "(7,9):(1,1000)", AddressType::U32)?;
    assert_eq!(small.ptx, large.ptx);
    Ok(())
}

fn offsets_past_32_bits_are_computed_in_64(toolkit: &Toolkit) -> Result<(), Error> {
    let compiled = compiled(toolkit, "(_4,_8):(_1,_3000000000)", AddressType::U64)?;
    compiled.assert_ptx("mul.wide.u32");
    compiled.assert_sass("IMAD.WIDE.U32");
    Ok(())
}

fn small_offsets_stay_in_32_bits_among_64_bit_addresses(toolkit: &Toolkit) -> Result<(), Error> {
    let compiled = compiled(toolkit, "(_4,_8):(_1,_3)", AddressType::U64)?;
    compiled.assert_no_ptx("mul.lo.s64");
    compiled.assert_no_ptx("mad.lo.s64");
    Ok(())
}
