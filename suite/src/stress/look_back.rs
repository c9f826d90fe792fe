//! Scans by look-back: every cube finds what the cubes before it have, however they come to run.

use super::setting::{Fault, Setting};
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::device::Device as Able;
use girih::memory::blocks::{Ordered, Orders, Unordered};
use girih::prelude::*;
use girih_kernels::raw::scan::look_back_states;
use girih_testkit::Buffer;

/// Launches of a round, one after another without a wait.
const LAUNCHES: usize = 64;

/// Counts the elements that are not as they should be, and spoils what was there for the next launch.
#[cube(launch_unchecked)]
fn check(found: &mut [i64], want: &[i64], wrong: &[Atomic<u32>]) {
    if ABSOLUTE_POS < want.len() {
        if found[ABSOLUTE_POS] != want[ABSOLUTE_POS] {
            wrong[0].at::<Device>().fetch_add::<Relaxed>(1u32);
        }
        found[ABSOLUTE_POS] = -1i64;
    }
}

/// Sums of a list of 64-bit integers, whose totals need an order to be handed on. Gives the number of launches.
pub fn round(setting: &mut Setting<'_>) -> Result<u64, Fault> {
    let cubes = setting.cubes();
    // A tile has 4096 elements on a GPU.
    let length = (cubes * setting.between(1, 4096)) as usize;
    let seed = setting.draw();
    match setting.mutant {
        false => launched::<Ordered>(setting, length, seed),
        true => launched::<Unordered>(setting, length, seed),
    }?;
    Ok(LAUNCHES as u64)
}

fn launched<R: Orders>(setting: &Setting<'_>, length: usize, seed: u32) -> Result<(), Fault> {
    let rt = setting.rt;
    let values: Vec<i64> = (0..length as u64)
        .map(|at| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(seed)) as i64 >> 8)
        .collect();
    let want: Vec<i64> = values
        .iter()
        .scan(0i64, |sum, value| {
            *sum = sum.wrapping_add(*value);
            Some(*sum)
        })
        .collect();
    let (input, found) = (rt.put(&values), rt.poisoned::<i64>(length));
    let (want, wrong) = (rt.put(&want), setting.zeros(1));
    let device = Able::of(&rt.client);
    for _ in 0..LAUNCHES {
        look_back_states::<R>(&device, &list(&input), &list(&found))
            .map_err(|error| Fault::Broken(error.to_string()))?;
        // SAFETY: a unit has an element of both lists, if there is one for it.
        unsafe {
            check::launch_unchecked(
                &rt.client,
                rt.cubes_for(length),
                rt.cube_dim(),
                found.arg(),
                want.arg(),
                wrong.arg(),
            );
        }
    }
    match rt.read(&wrong)?[0] {
        0 => Ok(()),
        count => Err(Fault::Broken(format!(
            "{count} sums of {LAUNCHES} scans of {length} elements are wrong"
        ))),
    }
}

fn list(buffer: &Buffer<i64>) -> TensorHandle {
    TensorHandle::new_contiguous(vec![buffer.len()], buffer.handle(), i64::elem_type_native())
}
