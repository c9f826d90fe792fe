//! The sigmoid of four instructions, against the host's in f64.

use cubecl::prelude::*;
use girih::cuda::approximate::sigmoid;
use girih_testkit::{Error, Rt, cases, needs};

cases! {
    sigmoids_are_right needs [needs::WARPGROUP_MMA],
}

#[cube(launch_unchecked)]
fn sigmoid_kernel(x: &[f32], out: &mut [f32]) {
    if ABSOLUTE_POS < out.len() {
        out[ABSOLUTE_POS] = sigmoid(x[ABSOLUTE_POS]);
    }
}

fn sigmoids(rt: &Rt, x: &[f32]) -> Result<Vec<f32>, Error> {
    let (given, out) = (rt.put(x), rt.poisoned::<f32>(x.len()));
    // SAFETY: units past the result's end do nothing, and there are as many arguments.
    unsafe {
        sigmoid_kernel::launch_unchecked(
            &rt.client,
            rt.cubes_for(x.len()),
            rt.cube_dim(),
            given.arg(),
            out.arg(),
        );
    }
    rt.read(&out)
}

fn sigmoids_are_right(rt: &Rt) -> Result<(), Error> {
    let x: Vec<f32> = (-87_000..=120_000).map(|at| at as f32 / 1000.0).collect();
    for (x, got) in x.iter().zip(sigmoids(rt, &x)?) {
        let want = 1.0 / (1.0 + (-f64::from(*x)).exp());
        let allowed = if x.abs() <= 16.0 { 1e-6 } else { 6e-6 };
        let error = (f64::from(got) - want).abs() / want;
        assert!(error <= allowed, "of {x}: {got}, not {want}");
    }
    let ends = sigmoids(rt, &[f32::NEG_INFINITY, -1000.0, 0.0, f32::INFINITY])?;
    assert_eq!(ends, [0.0, 0.0, 0.5, 1.0]);
    assert!(sigmoids(rt, &[f32::NAN])?[0].is_nan());
    Ok(())
}
