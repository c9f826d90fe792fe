//! A workload on a device, ready to be launched.

use crate::buffers::Buffers;
use crate::data;
use crate::error::Result;
use crate::workload::{Op, PLACE, Way, Workload};
use cubecl::client::Client;
use cubecl::future::block_on;
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::device::{Device, Target};
use girih_kernels::raw::gather_bulk;
use girih_kernels::raw::scan::pipelined_states;
use girih_kernels::{
    CompactOptions, ScanOperation, ScanOptions, ScatterMode, gather_into, nonzero, scan_into,
    scatter_into, select,
};
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Sets of buffers that launches take in turn, so that one launch does not find the last one's data in a cache.
const SETS: usize = 2;

/// A workload's buffers, and how often each was used.
pub struct Prepared {
    pub(crate) client: Client,
    pub(crate) workload: Workload,
    sets: Vec<(Buffers, AtomicUsize)>,
}

impl Prepared {
    /// Fills the buffers, and waits until that is done.
    ///
    /// # Errors
    ///
    /// [`Error::Server`](crate::Error::Server) where the device has not got the memory, or cannot run the filling.
    pub fn new(client: &Client, workload: Workload) -> Result<Self> {
        let set = |seed| (Buffers::new(client, &workload, seed), AtomicUsize::new(0));
        let prepared = Self {
            client: client.clone(),
            workload,
            sets: (1..=SETS as u32).map(set).collect(),
        };
        prepared.sync()?;
        Ok(prepared)
    }

    /// Enqueues one launch; launches of successive turns use different buffers.
    ///
    /// # Errors
    ///
    /// [`Error::Launch`](crate::Error::Launch) where the launcher refuses.
    pub fn launch(&self, turn: usize) -> Result<()> {
        let (buffers, launches) = &self.sets[turn % SETS];
        let Workload {
            op, bounds, way, ..
        } = self.workload;
        let Buffers {
            source,
            index,
            output,
            mask,
            compacted: last,
            ..
        } = buffers;
        let checked = match op {
            Op::Copy => {
                copy(&self.client, source, output);
                None
            }
            Op::Scan => {
                if let Way::Pipelined(pipeline) = way {
                    let device = Device::of(&self.client);
                    pipelined_states(&device, source, output, false, pipeline)?;
                } else {
                    let options = ScanOptions::inclusive();
                    scan_into(&self.client, source, output, 0, ScanOperation::Sum, options)?;
                }
                None
            }
            Op::Nonzero | Op::MaskedSelect => {
                let options = CompactOptions::default().index(PLACE);
                let compacted = match op {
                    Op::Nonzero => nonzero(&self.client, mask, options)?,
                    _ => {
                        let list = flat(source);
                        select(&self.client, &list, mask, options)?
                    }
                };
                *last.lock().unwrap_or_else(PoisonError::into_inner) = Some(compacted);
                None
            }
            Op::Gather => match way {
                Way::Bulk(rows) => {
                    gather_bulk(&self.client, source, index, output, rows)?;
                    None
                }
                Way::Launcher | Way::Path(_) | Way::Pipelined(_) => {
                    let client = &self.client;
                    Some(gather_into(client, source, index, output, 0, bounds)?)
                }
            },
            Op::ScatterAdd | Op::ScatterSet => {
                let mode = op.mode().unwrap_or(ScatterMode::Set);
                let client = &self.client;
                let options = self.workload.options();
                Some(scatter_into(
                    client, output, index, source, 0, mode, options,
                )?)
            }
        };
        // Nobody asks for the report: that would wait for the device.
        drop(checked);
        launches.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Waits for the device.
    ///
    /// # Errors
    ///
    /// [`Error::Server`](crate::Error::Server) where a launch has failed.
    pub fn sync(&self) -> Result<()> {
        Ok(block_on(self.client.sync())?)
    }

    /// The buffers, and how often each was used.
    pub(crate) fn sets(&self) -> impl Iterator<Item = (&Buffers, usize)> {
        let count = |launches: &AtomicUsize| launches.load(Ordering::Relaxed);
        self.sets
            .iter()
            .map(move |(buffers, launches)| (buffers, count(launches)))
    }
}

/// A contiguous tensor as a list.
fn flat(tensor: &TensorHandle) -> TensorHandle {
    let count: usize = tensor.shape().iter().product();
    TensorHandle::new_contiguous([count], tensor.handle.clone(), tensor.dtype)
}

/// One vector per unit and step.
#[cube(launch_unchecked)]
fn copy_kernel<N: Size>(
    source: &[Vector<u32, N>],
    output: &mut [Vector<u32, N>],
    #[comptime] steps: usize,
) {
    let first = CUBE_POS * CUBE_DIM as usize * steps + UNIT_POS as usize;
    for step in 0..steps {
        let position = first + step * CUBE_DIM as usize;
        if position < source.len() {
            output[position] = source[position];
        }
    }
}

/// Copies in words of 32 bits.
fn copy(client: &Client, source: &TensorHandle, output: &TensorHandle) {
    let device = Device::of(client);
    let cube = data::cube(client);
    // A GPU's cubes are cheap; a CPU's are not.
    let steps = match device.target() {
        Target::Cpu => 1024,
        _ => 1,
    };
    let (from, len) = data::whole(source);
    let (to, _) = data::whole(output);
    let width = device
        .vector_widths(4)
        .into_iter()
        .find(|&width| len.is_multiple_of(width))
        .unwrap_or(1);
    let cubes = (len / width).div_ceil(cube.num_elems() as usize * steps);
    let count = CubeCount::new_1d(u32::try_from(cubes).unwrap_or(u32::MAX));
    // SAFETY: the kernel stays below the length of the source, which is that of the output.
    unsafe { copy_kernel::launch_unchecked(client, count, cube, width, from, to, steps) }
}
