//! Under what a block is stressed: a device, a load drawn at random, and orders.

use super::load::Load;
use super::machine::Machine;
use girih_testkit::{Buffer, DeviceKind, Error, Rt};

/// What a round found wrong.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Fault {
    /// The block broke its promise.
    #[error("{0}")]
    Broken(String),
    /// A unit waited for so long that it gave up.
    #[error("{0} units gave up waiting")]
    Stuck(u32),
    /// The device did not answer.
    #[error(transparent)]
    Device(#[from] Error),
}

impl From<String> for Fault {
    fn from(difference: String) -> Self {
        Self::Broken(difference)
    }
}

/// A device, and what is drawn at random for one round after another.
#[derive(Debug)]
pub struct Setting<'a> {
    /// The device.
    pub rt: &'a Rt,
    /// How it runs units that wait.
    pub machine: Machine,
    /// Whether the block runs without its orders.
    pub mutant: bool,
    /// Cubes of a launch at the most.
    pub most_cubes: u32,
    /// Sizes that a cube may have; each is a kernel to compile.
    pub sizes: u32,
    /// Launches of the block so far.
    pub launches: u64,
    state: u64,
}

impl<'a> Setting<'a> {
    /// A load for a test that takes a moment.
    pub fn light(rt: &'a Rt) -> Self {
        Self {
            rt,
            machine: Machine::of(rt),
            mutant: false,
            most_cubes: 8,
            sizes: 1,
            launches: 0,
            state: 1,
        }
    }

    /// As much as the device takes at once, and more.
    pub fn heavy(rt: &'a Rt, mutant: bool, seed: u64) -> Self {
        let machine = Machine::of(rt);
        Self {
            rt,
            machine,
            mutant,
            most_cubes: (4 * machine.cubes_at_once).max(16),
            sizes: 3,
            launches: 0,
            state: seed,
        }
    }

    /// Other kernels on the device, until they are stopped.
    pub(super) fn company(&self) -> Load {
        Load::start(self.rt, self.most_cubes)
    }

    /// The next number of the sequence that the seed began (SplitMix64).
    pub fn draw(&mut self) -> u32 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) as u32
    }

    /// A number from `least` to `most`.
    pub fn between(&mut self, least: u32, most: u32) -> u32 {
        least + self.draw() % (most - least + 1)
    }

    /// Cubes of a launch.
    pub fn cubes(&mut self) -> u32 {
        let most = self.most_cubes;
        self.between(1, most)
    }

    /// Cubes of a launch in which units may have to wait for units of other cubes.
    pub fn contending_cubes(&mut self) -> u32 {
        match self.machine.waits {
            true => self.cubes(),
            false => 1,
        }
    }

    /// Units of a cube: as many as suit the device, or half of that, or a quarter.
    pub fn units(&mut self) -> u32 {
        let halvings = self.between(0, self.sizes - 1);
        (self.machine.units >> halvings).max(1)
    }

    /// How often a unit looks before it gives up: seconds, on this device.
    pub fn patience(&self) -> u32 {
        match self.rt.kind {
            DeviceKind::Cuda => 1 << 22,
            _ => 1 << 27,
        }
    }

    /// Cells that are 0.
    pub fn zeros(&self, cells: usize) -> Buffer<u32> {
        self.rt.put(&vec![0u32; cells])
    }

    /// A fault where units gave up.
    pub fn stuck(&self, count: &Buffer<u32>) -> Result<(), Fault> {
        match self.rt.read(count)?[0] {
            0 => Ok(()),
            units => Err(Fault::Stuck(units)),
        }
    }
}
