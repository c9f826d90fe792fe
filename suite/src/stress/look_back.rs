//! Scans by look-back: every cube finds what the cubes before it have, however they come to run.
//!
//! A round scans with the kernel of `girih_kernels::scan` itself: 64-bit integers, whose totals need an order to be handed on, or 32-bit
//! ones, which need none, by the launcher's call. Every element of every result is compared.

use super::setting::{Fault, Setting};
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::device::Device as Able;
use girih::memory::blocks::{Ordered, Unordered};
use girih::prelude::*;
use girih_kernels::raw::scan::look_back_states;
use girih_kernels::{ScanOperation, ScanOptions, ScanPath, scan_into};
use girih_testkit::Buffer;

/// Launches of a round, one after another without a wait.
const LAUNCHES: usize = 64;

/// Counts the elements that are not as they should be, and spoils what was there for the next launch.
#[cube(launch_unchecked)]
fn check<E: Int>(found: &mut [E], want: &[E], wrong: &[Atomic<u32>]) {
    if ABSOLUTE_POS < want.len() {
        if found[ABSOLUTE_POS] != want[ABSOLUTE_POS] {
            wrong[0].at::<Device>().fetch_add::<Relaxed>(1u32);
        }
        found[ABSOLUTE_POS] = E::new(-1i64);
    }
}

/// Sums of a list of integers. Gives the number of launches.
pub fn round(setting: &mut Setting<'_>) -> Result<u64, Fault> {
    let cubes = setting.cubes();
    // A tile has 4096 elements on a GPU.
    let length = (cubes * setting.between(1, 4096)) as usize;
    let seed = u64::from(setting.draw());
    let number = |at: usize| ((at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ seed) as i64 >> 8;
    let wide = || (0..length).map(number).collect::<Vec<i64>>();
    let of_32_bits = setting.draw().is_multiple_of(2);
    match (setting.mutant, of_32_bits) {
        (true, _) => launched(
            setting,
            &wide(),
            i64::wrapping_add,
            |device, input, output| {
                look_back_states::<Unordered>(device, input, output).map(|_| ())
            },
        ),
        (false, false) => launched(
            setting,
            &wide(),
            i64::wrapping_add,
            |device, input, output| look_back_states::<Ordered>(device, input, output).map(|_| ()),
        ),
        (false, true) => {
            let narrow: Vec<i32> = (0..length).map(|at| number(at) as i32).collect();
            launched(
                setting,
                &narrow,
                i32::wrapping_add,
                |device, input, output| {
                    let options = ScanOptions::inclusive().path(ScanPath::LookBack);
                    let sum = ScanOperation::Sum;
                    scan_into(device.client(), input, output, 0, sum, options).map(|_| ())
                },
            )
        }
    }?;
    Ok(LAUNCHES as u64)
}

fn launched<E: CubeElement + Int>(
    setting: &Setting<'_>,
    values: &[E],
    add: impl Fn(E, E) -> E,
    scan: impl Fn(&Able, &TensorHandle, &TensorHandle) -> girih::Result<()>,
) -> Result<(), Fault> {
    let (rt, length) = (setting.rt, values.len());
    let mut sum = None;
    let want: Vec<E> = values
        .iter()
        .map(|&value| {
            let so_far = sum.map_or(value, |sum| add(sum, value));
            sum = Some(so_far);
            so_far
        })
        .collect();
    let (input, found) = (rt.put(values), rt.poisoned::<E>(length));
    let (want, wrong) = (rt.put(&want), setting.zeros(1));
    let device = Able::of(&rt.client);
    for _ in 0..LAUNCHES {
        scan(&device, &list(&input), &list(&found))
            .map_err(|error| Fault::Broken(error.to_string()))?;
        // SAFETY: a unit has an element of both lists, if there is one for it.
        unsafe {
            check::launch_unchecked::<E>(
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

fn list<E: CubeElement + Scalar>(buffer: &Buffer<E>) -> TensorHandle {
    TensorHandle::new_contiguous(vec![buffer.len()], buffer.handle(), E::elem_type_native())
}
