//! What blocks may count on that no specification says, measured where nothing else tells.

use cubecl::prelude::*;
use girih::device::Device as Able;
use girih::memory::blocks::GridBarrier;
use girih::prelude::*;
use girih_testkit::{DeviceKind, Rt};
use std::sync::OnceLock;

/// How a device runs units that wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Whether a loop runs for as long as its condition says. Mesa 22.3's software driver ends every loop after 65,536
    /// rounds, without a word: nobody can wait there.
    pub waits: bool,
    /// Units of a cube that may each do as many ordered accesses as they like. The same driver takes such an access for
    /// a barrier of the cube, and leaves planes unfinished that come to more of them than the first: there it is one
    /// plane.
    pub units: u32,
    /// Cubes that run at once, whatever the kernel.
    pub cubes_at_once: u32,
}

impl Machine {
    /// How the device runs them.
    pub fn of(rt: &Rt) -> Self {
        static MEASURED: OnceLock<Machine> = OnceLock::new();
        match rt.kind {
            DeviceKind::Vulkan => *MEASURED.get_or_init(|| Self::measure(rt)),
            _ => Self {
                waits: true,
                units: rt.units,
                cubes_at_once: GridBarrier::most_cubes(&Able::of(&rt.client)),
            },
        }
    }

    fn measure(rt: &Rt) -> Self {
        let waits = loops_last(rt);
        let cubes = if waits { &[8, 4, 2][..] } else { &[] };
        let plane = rt.client.properties().hardware.plane_size_min;
        Self {
            waits,
            units: if planes_part(rt) {
                rt.units
            } else {
                plane.min(rt.units)
            },
            cubes_at_once: *cubes.iter().find(|&&cubes| meet(rt, cubes)).unwrap_or(&1),
        }
    }
}

#[cube(launch_unchecked)]
fn count_up(counter: &[Atomic<u32>], rounds: u32) {
    for _ in 0..rounds {
        counter[0].at::<Device>().fetch_add::<Relaxed>(1u32);
    }
}

/// Whether a long loop comes to its end.
fn loops_last(rt: &Rt) -> bool {
    const ROUNDS: u32 = 200_000;
    let counter = rt.put(&[0u32]);
    // SAFETY: only the first cell is touched.
    unsafe {
        count_up::launch_unchecked(
            &rt.client,
            CubeCount::new_single(),
            CubeDim::new_single(),
            counter.arg(),
            ROUNDS,
        );
    }
    rt.read(&counter).is_ok_and(|counter| counter == [ROUNDS])
}

#[cube(launch_unchecked)]
fn look_often(cell: &[Atomic<u32>], done: &mut [u32]) {
    for _ in 0..UNIT_POS + 1 {
        cell[0].at::<Device>().load::<Acquire>();
    }
    done[UNIT_POS as usize] = 1u32;
}

/// Whether units of several planes finish that do ordered accesses in different numbers.
fn planes_part(rt: &Rt) -> bool {
    let (cell, done) = (rt.put(&[0u32]), rt.poisoned::<u32>(rt.units as usize));
    // SAFETY: there is an element for each unit.
    unsafe {
        look_often::launch_unchecked(
            &rt.client,
            CubeCount::new_single(),
            rt.cube_dim(),
            cell.arg(),
            done.arg(),
        );
    }
    rt.read(&done)
        .is_ok_and(|done| done.iter().all(|&done| done == 1))
}

#[cube(launch_unchecked)]
fn rendezvous(arrived: &[Atomic<u32>], gave_up: &[Atomic<u32>], patience: u32) {
    let count = arrived[0].at::<Device>();
    count.fetch_add::<Relaxed>(1u32);
    let mut left = patience;
    while count.load::<Relaxed>() < CUBE_COUNT as u32 && left > 0u32 {
        left -= 1u32;
    }
    if left == 0u32 {
        gave_up[0].at::<Device>().fetch_add::<Relaxed>(1u32);
    }
}

/// Whether that many cubes can wait for each other.
fn meet(rt: &Rt, cubes: u32) -> bool {
    let (arrived, gave_up) = (rt.put(&[0u32]), rt.put(&[0u32]));
    // SAFETY: only the first cells are touched.
    unsafe {
        rendezvous::launch_unchecked(
            &rt.client,
            CubeCount::new_1d(cubes),
            CubeDim::new_single(),
            arrived.arg(),
            gave_up.arg(),
            1 << 22,
        );
    }
    rt.read(&gave_up).is_ok_and(|gave_up| gave_up == [0])
}
