//! Other kernels on the same device, on a stream of their own, while something is stressed.

use super::setting::Fault;
use cubecl::future::block_on;
use cubecl::prelude::*;
use girih::prelude::*;
use girih_testkit::{DeviceKind, Rt};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
};

/// Kernels between two waits for the device.
const LAUNCHES: u32 = 8;

/// Keeps units busy for so many rounds, and counts them.
#[cube(launch_unchecked)]
fn busy(counter: &[Atomic<u32>], rounds: u32) {
    let mut state = ABSOLUTE_POS as u32;
    for _ in 0..rounds {
        state = state * 1_664_525u32 + 1_013_904_223u32;
    }
    // Of a number of rounds below 2^31 it is always 1, which the compiler does not know.
    let one = 1u32 + ((state & rounds) >> 31u32);
    counter[0].at::<Device>().fetch_add::<Relaxed>(one);
}

/// Kernels that run until they are stopped.
pub(super) struct Load {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<u64, Fault>>>,
}

impl Load {
    /// Launches kernels of random sizes, one after another, from a thread of its own, which has a stream of its own.
    pub(super) fn start(rt: &Rt, most_cubes: u32) -> Self {
        let (rt, stop) = (rt.clone(), Arc::new(AtomicBool::new(false)));
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || launch(&rt, most_cubes, &stopped));
        Self {
            stop,
            thread: Some(thread),
        }
    }

    /// Ends them, and gives how many there were.
    pub(super) fn stop(mut self) -> Result<u64, Fault> {
        self.stop.store(true, Ordering::Relaxed);
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(launches)) => launches,
            _ => Err(Fault::Broken("the other kernels' thread panicked".into())),
        }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn launch(rt: &Rt, most_cubes: u32, stop: &AtomicBool) -> Result<u64, Fault> {
    let counter = rt.put(&[0u32]);
    let (mut state, mut launches, mut units) = (0x2545_f491u32, 0u64, 0u32);
    let most_rounds = match rt.kind {
        DeviceKind::Cuda => 1 << 14,
        _ => 1 << 8,
    };
    while !stop.load(Ordering::Relaxed) {
        for _ in 0..LAUNCHES {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let (cubes, rounds) = (1 + (state >> 8) % most_cubes, (state >> 4) % most_rounds);
            units = units.wrapping_add(cubes * rt.units);
            // SAFETY: only the first cell is touched.
            unsafe {
                busy::launch_unchecked(
                    &rt.client,
                    CubeCount::new_1d(cubes),
                    rt.cube_dim(),
                    counter.arg(),
                    rounds,
                );
            }
            launches += 1;
        }
        block_on(rt.client.sync()).map_err(|error| Fault::Broken(error.to_string()))?;
    }
    let counted = rt.read(&counter)?[0];
    match counted == units {
        true => Ok(launches),
        false => Err(Fault::Broken(format!(
            "{counted} units of the other kernels, not {units}"
        ))),
    }
}
