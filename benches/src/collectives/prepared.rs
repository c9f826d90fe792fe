//! A collective on a device, ready to be launched.

use super::kernels::{of_floats, of_integers};
use super::model::{PERIOD, Value, checksum, expected};
use super::workload::{Element, Workload};
use crate::error::{Error, Result};
use cubecl::client::Client;
use cubecl::future::block_on;
use cubecl::prelude::*;
use cubecl::server::Handle;

/// A workload's buffers. Every launch reads the same values, and leaves the same results.
pub struct Prepared {
    client: Client,
    workload: Workload,
    values: Handle,
    out: Handle,
}

impl Prepared {
    /// Fills the buffers, and waits until that is done.
    ///
    /// # Errors
    ///
    /// [`Error::Server`] where the device has not got the memory.
    pub fn new(client: &Client, workload: Workload) -> Result<Self> {
        let units = workload.units();
        let bits: Vec<u32> = match workload.element {
            Element::U32 => (0..units).map(|at| u32::at(at).bits()).collect(),
            Element::F32 => (0..units).map(|at| f32::at(at).bits()).collect(),
        };
        // No value of a float's, and none that an integer keeps.
        let poison = vec![u32::MAX; units];
        let prepared = Self {
            client: client.clone(),
            workload,
            values: client.create_from_slice(u32::as_bytes(&bits)),
            out: client.create_from_slice(u32::as_bytes(&poison)),
        };
        block_on(prepared.client.sync())?;
        Ok(prepared)
    }

    /// Enqueues one launch.
    pub fn launch(&self) {
        let Workload {
            op,
            element,
            members,
            cube,
            cubes,
            rounds,
        } = self.workload;
        let (count, dim) = (CubeCount::new_1d(cubes), CubeDim::new_1d(cube));
        // SAFETY: both buffers have an element for each unit, and each unit reads and writes its own.
        unsafe {
            let argument =
                |handle: &Handle| BufferArg::from_raw_parts(handle.clone(), self.workload.units());
            let (values, out) = (argument(&self.values), argument(&self.out));
            let client = &self.client;
            match element {
                Element::U32 => of_integers::launch_unchecked(
                    client, count, dim, values, out, rounds, op, members,
                ),
                Element::F32 => of_floats::launch_unchecked(
                    client, count, dim, values, out, rounds, op, members,
                ),
            }
        }
    }

    /// Compares what every unit has left with what the host computes, and gives the checksum of it, which a peer that did
    /// the same has too.
    ///
    /// # Errors
    ///
    /// [`Error::Wrong`] for the first unit that differs, [`Error::Server`] where a launch failed.
    pub fn verify(&self) -> Result<u64> {
        let bytes = self.client.read_one(self.out.clone())?;
        let bits = |word: &[u8; 4]| match self.workload.element {
            Element::U32 => u32::from_ne_bytes(*word),
            Element::F32 => f32::from_ne_bytes(*word).bits(),
        };
        let found: Vec<u32> = bytes.as_chunks().0.iter().map(bits).collect();
        let right = expected(&self.workload, self.workload.group(&self.client));
        for unit in 0..self.workload.units() {
            // An output too short has no word to compare.
            let found = found.get(unit).copied();
            if found != Some(right[unit % PERIOD]) {
                return Err(Error::Wrong {
                    workload: self.workload.name(),
                    row: unit / self.workload.cube as usize,
                    column: unit % self.workload.cube as usize,
                    found: self.number(found.unwrap_or(u32::MAX)),
                    expected: self.number(right[unit % PERIOD]),
                });
            }
        }
        Ok(checksum(found))
    }

    fn number(&self, bits: u32) -> f32 {
        match self.workload.element {
            Element::U32 => bits as f32,
            Element::F32 => f32::from_bits(bits),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::plans;
    use super::*;
    use girih_testkit::Rt;

    #[test]
    fn every_collective_is_right_or_refused_by_name() {
        for rt in Rt::present() {
            let mut measured = 0;
            for plan in plans(&rt.client) {
                if let Err(lacking) = plan.workload.supported(&rt.client) {
                    assert!(lacking.to_string().contains("units"), "{lacking}");
                    continue;
                }
                let prepared = Prepared::new(&rt.client, plan.workload).unwrap();
                prepared.launch();
                prepared.verify().unwrap();
                measured += 1;
            }
            assert!(measured > 0, "{}", rt.name());
        }
    }

    #[test]
    fn a_round_too_few_and_an_output_untouched_are_wrong() {
        for rt in Rt::present() {
            for plan in plans(&rt.client) {
                if plan.workload.supported(&rt.client).is_err() {
                    continue;
                }
                let mut prepared = Prepared::new(&rt.client, plan.workload).unwrap();
                assert!(matches!(prepared.verify(), Err(Error::Wrong { .. })));
                prepared.workload.rounds -= 1;
                prepared.launch();
                prepared.workload.rounds += 1;
                assert!(matches!(prepared.verify(), Err(Error::Wrong { .. })));
            }
        }
    }
}
