//! What collectives cost on an NVIDIA GPU, by the instructions of the benchmark's kernels.

use girih_bench::collectives::{
    Element, Members, Op,
    kernels::{of_floats, of_integers},
};
use girih_testkit::{
    Error, cases,
    offline::{Compiled, Toolkit, buffer, hopper, settings, target},
};

cases! {
    in Toolkit;
    dump,
}

/// The benchmark's kernel for cubes of so many units.
fn kernel(
    toolkit: &Toolkit,
    element: Element,
    cube: u32,
    op: Op,
    members: Members,
) -> Result<Compiled, Error> {
    let (settings, buffers) = (settings(cube), (buffer(), buffer()));
    match element {
        Element::U32 => toolkit.compile(of_integers::OfIntegers::new(
            settings,
            hopper(),
            target(),
            buffers.0,
            buffers.1,
            (),
            op,
            members,
        )),
        Element::F32 => toolkit.compile(of_floats::OfFloats::new(
            settings,
            hopper(),
            target(),
            buffers.0,
            buffers.1,
            (),
            op,
            members,
        )),
    }
}

fn dump(toolkit: &Toolkit) -> Result<(), Error> {
    for element in Element::ALL {
        for (cube, members) in [
            (256, Members::Cube),
            (1024, Members::Cube),
            (256, Members::Plane),
            (256, Members::Lanes(8)),
        ] {
            for op in Op::ALL {
                let compiled = kernel(toolkit, element, cube, op, members)?;
                let name = format!(
                    "{}-{}-{cube}-{}",
                    op.name(),
                    element.name(),
                    members.name().replace(' ', "")
                );
                std::fs::write(format!("/tmp/sass/{name}.sass"), &compiled.sass).unwrap();
                std::fs::write(format!("/tmp/sass/{name}.cu"), &compiled.source).unwrap();
                std::fs::write(format!("/tmp/sass/{name}.ptx"), &compiled.ptx).unwrap();
            }
        }
    }
    Ok(())
}
