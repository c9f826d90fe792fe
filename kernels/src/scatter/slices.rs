//! The launches of kernels whose units each do one packet of some slices.

use super::combine::wide;
use super::launch::Work;
use super::path::WORD;
use super::sorted::{Level, RUN, keys_kernel, pick_kernel, reduce_kernel};
use super::vote::{elect_kernel, open_kernel, vote_kernel};
use crate::SortOptions;
use crate::plan::{Walk, address, arg, cubes};
use crate::sort::sort_with_indices;
use cubecl::client::Client;
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use cubecl::server::Handle;
use cubecl::std::tensor::TensorHandle;
use girih::Result;
use girih::device::{Device, Target};
use girih::view::Report;

/// Bytes, and how many elements a kernel finds in them.
#[derive(Clone)]
struct Buffer {
    handle: Handle,
    len: usize,
}

impl Buffer {
    fn new(device: &Device, len: usize, element: ElemType) -> Self {
        // An empty buffer is none on some devices, and a vector may not be longer than one on others.
        let bytes = (len * element.size()).max(16);
        Self {
            handle: device.client().empty(bytes),
            len,
        }
    }

    /// In vectors of `width`.
    fn arg(&self, width: usize) -> BufferArg {
        // SAFETY: the buffer was made for so many elements.
        unsafe { BufferArg::from_raw_parts(self.handle.clone(), self.len / width) }
    }
}

/// A scatter whose units each do one packet of the slices of both tensors.
pub(super) struct Slices<'a> {
    pub work: Work<'a>,
    /// Elements of a packet.
    pub width: usize,
    /// Packets of a slice.
    pub packets: usize,
    /// Whether a slice is one row.
    pub is_flat: bool,
    pub address: AddressType,
}

/// The places in order, and which updates go there.
struct Order {
    keys: TensorHandle,
    order: TensorHandle,
}

impl<'a> Slices<'a> {
    pub(super) fn new(work: Work<'a>, width: usize) -> Self {
        let [outer, slab, _, head, row] = work.walk.extents;
        let tensors = [work.target, work.updates, work.index];
        Self {
            work,
            width,
            packets: outer * slab * head * row / width,
            is_flat: outer * slab * head == 1,
            address: tensors.map(address).into_iter().max().unwrap_or_default(),
        }
    }

    pub(super) fn client(&self) -> &Client {
        self.work.device.client()
    }

    /// How many indices there are.
    pub(super) fn count(&self) -> usize {
        self.work.walk.extents[2]
    }

    pub(super) fn target(&self) -> TensorArg {
        let mut extents = self.work.walk.extents;
        extents[2] = self.work.extent;
        arg(self.work.target, extents, self.work.walk.strides[0], false)
    }

    pub(super) fn updates(&self) -> TensorArg {
        let Walk {
            extents, strides, ..
        } = self.work.walk;
        arg(self.work.updates, *extents, strides[1], false)
    }

    pub(super) fn index(&self) -> TensorArg {
        self.work.index.clone().into_arg()
    }

    pub(super) fn record(&self) -> ComptimeOptionArgs<Box<[Atomic<u32>]>> {
        self.work.report.map(Report::arg).into()
    }

    /// A cube, and how many of them have so many units.
    fn grid(&self, units: usize) -> (CubeCount, CubeDim) {
        let hardware = &self.client().properties().hardware;
        let most = 1 << hardware.max_units_per_cube.clamp(1, 256).ilog2();
        let total = units.div_ceil(most as usize);
        // A CPU's cubes cost more than its units, which go on with what is left.
        let total = match self.work.device.target() {
            Target::Cpu => total.min(8),
            _ => total,
        };
        (cubes(self.work.device, total), CubeDim::new_1d(most))
    }

    /// Sorts the updates by their places.
    fn order(&self) -> Result<Order> {
        let (client, count) = (self.client(), self.count());
        let keys = Buffer::new(self.work.device, count, WORD);
        let (cubes, cube) = self.grid(count);
        // SAFETY: the kernel reads and writes below the length of the list, for which the keys have room.
        unsafe {
            keys_kernel::launch_unchecked(
                client,
                cubes,
                cube,
                self.address,
                self.index(),
                keys.arg(1),
                self.record(),
                count,
                self.work.extent,
                self.work.bounds,
                self.work.index.dtype,
            );
        }
        let keys = TensorHandle::new_contiguous(vec![count], keys.handle, WORD);
        // The largest key stands for no place.
        let bits = 0..32 - (self.work.extent as u32).leading_zeros();
        let options = SortOptions {
            bits: Some(bits),
            ..SortOptions::default()
        };
        let (keys, order) = sort_with_indices(client, &keys, 0, WORD, &options)?;
        Ok(Order { keys, order })
    }

    /// Combines the updates of each place.
    pub(super) fn reduce(&self) -> Result<()> {
        let Order { keys, order } = self.order()?;
        let (target, device) = (self.work.target.dtype, self.work.device);
        let sum = wide(target);
        let whole = |list: &TensorHandle| Buffer {
            handle: list.handle.clone(),
            len: list.shape()[0],
        };
        let (mut keys, order) = (whole(&keys), whole(&order));
        let mut source = (self.updates(), target);
        let mut is_first = true;
        loop {
            let count = keys.len;
            let runs = count.div_ceil(RUN);
            // The last run has nobody to leave anything to.
            let entries = if runs > 1 { 2 * runs } else { 0 };
            let elements = entries * self.packets * self.width;
            let carry = Buffer::new(device, elements, sum);
            let carried = Buffer::new(device, 2 * runs, WORD);
            let (cubes, cube) = self.grid(runs * self.packets);
            let level = Level {
                mode: self.work.mode,
                is_first,
                is_flat: self.is_flat,
            };
            // SAFETY: keys below the extent are slices of the target, and the order has numbers of updates; entries have
            // two places a run.
            unsafe {
                reduce_kernel::launch_unchecked(
                    self.client(),
                    cubes,
                    cube,
                    self.address,
                    self.width,
                    self.target(),
                    source.0,
                    keys.arg(1),
                    order.arg(1),
                    carry.arg(self.width),
                    carried.arg(1),
                    count,
                    self.work.extent as u32,
                    self.packets,
                    level,
                    [target, source.1, sum],
                );
            }
            if runs == 1 {
                return Ok(());
            }
            source = (self.entries(&carry, entries), sum);
            (keys, is_first) = (carried, false);
        }
    }

    /// Carried entries as slices: contiguous ones.
    fn entries(&self, carry: &Buffer, entries: usize) -> TensorArg {
        let mut extents = self.work.walk.extents;
        extents[2] = entries;
        let [_, slab, _, head, row] = extents;
        let slice = self.packets * self.width;
        let strides = [slab * head * row, head * row, slice, row, 1];
        // SAFETY: the buffer was made for so many entries.
        unsafe {
            TensorArg::from_raw_parts(
                carry.handle.clone(),
                strides.as_slice().into(),
                extents.to_vec().into(),
            )
        }
    }

    /// Writes one update to each place.
    pub(super) fn pick(&self, last: bool) -> Result<()> {
        let Order { keys, order } = self.order()?;
        let count = self.count();
        let (cubes, cube) = self.grid(count * self.packets);
        // SAFETY: keys below the extent are slices of the target, and the order has numbers of updates.
        unsafe {
            pick_kernel::launch_unchecked(
                self.client(),
                cubes,
                cube,
                self.address,
                self.width,
                self.target(),
                self.updates(),
                BufferArg::from_raw_parts(keys.handle, count),
                BufferArg::from_raw_parts(order.handle, count),
                count,
                self.work.extent as u32,
                self.packets,
                last,
                self.is_flat,
                self.work.target.dtype,
            );
        }
        Ok(())
    }

    /// Lets updates vote, and writes the winners.
    pub(super) fn vote(&self, last: bool) {
        let (client, count, extent) = (self.client(), self.count(), self.work.extent);
        let votes = Buffer::new(self.work.device, extent, WORD);
        let (cubes, cube) = self.grid(extent);
        // SAFETY: every place that is written is below the length of the votes.
        unsafe { open_kernel::launch_unchecked(client, cubes, cube, votes.arg(1)) };
        let (cubes, cube) = self.grid(count);
        // SAFETY: places are masked against the extent, which is how many votes there are.
        unsafe {
            vote_kernel::launch_unchecked(
                client,
                cubes,
                cube,
                self.address,
                self.index(),
                votes.arg(1),
                self.record(),
                extent,
                count,
                self.work.bounds,
                last,
                self.work.index.dtype,
            );
        }
        let (cubes, cube) = self.grid(count * self.packets);
        // Offences are reported by the vote.
        // SAFETY: places are masked against the extent, and so are updates by their number.
        unsafe {
            elect_kernel::launch_unchecked(
                client,
                cubes,
                cube,
                self.address,
                self.width,
                self.target(),
                self.index(),
                self.updates(),
                votes.arg(1),
                extent,
                count,
                self.packets,
                self.work.bounds,
                last,
                self.is_flat,
                [self.work.target.dtype, self.work.index.dtype],
            );
        }
    }
}
