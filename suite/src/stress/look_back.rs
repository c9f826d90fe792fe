//! Scans by look-back: every cube finds what the cubes before it have, however they come to run.
//!
//! A round scans with the kernel of `girih_kernels::scan` itself: 64-bit integers, whose totals need an order to be handed on, or 32-bit
//! ones, which need none, by the launcher's call: by look-back, or by cubes that stay where the device has them. Every element of every result is compared.

use super::compare::{compare, list};
use super::setting::{Fault, Setting};
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::device::Device as Able;
use girih::memory::blocks::{Ordered, Unordered};
use girih_kernels::raw::scan::{look_back_states, require_pipelined};
use girih_kernels::{ScanOperation, ScanOptions, ScanPath, scan_into};
use girih_testkit::Buffer;

/// Launches of a round, one after another without a wait.
const LAUNCHES: usize = 64;

/// Sums of lists of integers. Gives the number of launches.
pub fn round(setting: &mut Setting<'_>) -> Result<u64, Fault> {
    setting.launches += LAUNCHES as u64;
    let cubes = setting.cubes();
    // A tile has 4096 elements on a GPU.
    let length = (cubes * setting.between(1, 4096)) as usize;
    let seeds = [(); 2].map(|()| u64::from(setting.draw()));
    let number = |at: usize, seed: u64| {
        ((at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ seed.wrapping_mul(0xbf58_476d)) as i64
            >> 8
    };
    let wide = || seeds.map(|seed| (0..length).map(|at| number(at, seed)).collect::<Vec<i64>>());
    let of_32_bits = setting.draw().is_multiple_of(2);
    let stays = require_pipelined(&Able::of(&setting.rt.client), "look-back").is_ok()
        && setting.draw().is_multiple_of(2);
    let path = match stays {
        true => ScanPath::Pipelined,
        false => ScanPath::LookBack,
    };
    match (setting.mutant, of_32_bits) {
        (true, _) => launched(
            setting,
            wide(),
            i64::wrapping_add,
            |device, [input, output]| {
                look_back_states::<Unordered>(device, input, output).map(|_| ())
            },
        ),
        (false, false) => launched(
            setting,
            wide(),
            i64::wrapping_add,
            |device, [input, output]| {
                look_back_states::<Ordered>(device, input, output).map(|_| ())
            },
        ),
        (false, true) => {
            let narrow = seeds.map(|seed| (0..length).map(|at| number(at, seed) as i32).collect());
            launched(
                setting,
                narrow,
                i32::wrapping_add,
                |device, [input, output]| {
                    let options = ScanOptions::inclusive().path(path);
                    let sum = ScanOperation::Sum;
                    scan_into(device.client(), input, output, 0, sum, options).map(|_| ())
                },
            )
        }
    }?;
    Ok(LAUNCHES as u64)
}

/// A list on the device, and its sums.
struct Scanned<E> {
    input: Buffer<E>,
    want: Buffer<E>,
}

impl<E: CubeElement> Scanned<E> {
    fn new(setting: &Setting<'_>, values: &[E], add: impl Fn(E, E) -> E) -> Self {
        let sums = values.iter().scan(None, |sum: &mut Option<E>, &value| {
            *sum = Some(sum.map_or(value, |sum| add(sum, value)));
            *sum
        });
        let sums: Vec<E> = sums.collect();
        Self {
            input: setting.rt.put(values),
            want: setting.rt.put(&sums),
        }
    }
}

/// Scans two lists in turn, so that what a launch left behind is wrong for the next one.
fn launched<E: CubeElement + Int>(
    setting: &Setting<'_>,
    values: [Vec<E>; 2],
    add: impl Fn(E, E) -> E + Copy,
    scan: impl Fn(&Able, [&TensorHandle; 2]) -> girih::Result<()>,
) -> Result<(), Fault> {
    let (rt, length) = (setting.rt, values[0].len());
    let lists = values.map(|values| Scanned::new(setting, &values, add));
    let (found, wrong) = (rt.poisoned::<E>(length), setting.zeros(1));
    let device = Able::of(&rt.client);
    for turn in 0..LAUNCHES {
        let Scanned { input, want } = &lists[turn % 2];
        scan(&device, [&list(input), &list(&found)])
            .map_err(|error| Fault::Broken(error.to_string()))?;
        compare(rt, &list(&found), want, &wrong);
    }
    match rt.read(&wrong)?[0] {
        0 => Ok(()),
        count => Err(Fault::Broken(format!(
            "{count} sums of {LAUNCHES} scans of {length} elements are wrong"
        ))),
    }
}
