//! What a compaction's kernels have written, and what a caller gets of it.

use super::kernels::lengths_kernel;
use super::result::{Compacted, Partition, Runs, Unique};
use crate::scan::ScanPath;
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::device::Device;

/// What was written.
pub(super) struct Written {
    pub device: Device,
    pub values: TensorHandle,
    pub rejected: TensorHandle,
    pub places: TensorHandle,
    pub inverse: TensorHandle,
    pub count: TensorHandle,
    pub length: usize,
    pub has_inverse: bool,
    pub path: ScanPath,
}

impl Written {
    pub(super) fn kept(self) -> Compacted {
        Compacted::new(self.values, self.count).by(self.path)
    }

    pub(super) fn places(self) -> Compacted {
        Compacted::new(self.places, self.count).by(self.path)
    }

    pub(super) fn partition(self) -> Partition {
        Partition {
            kept: Compacted::new(self.values, self.count.clone()).by(self.path),
            rejected: Compacted::others(self.rejected, self.count, self.length).by(self.path),
        }
    }

    /// Runs from where they begin.
    pub(super) fn runs(self) -> Runs {
        let (begins, lengths) = self.lengths();
        Runs {
            values: self.compacted(self.values.clone()),
            begins: self.compacted(begins),
            lengths: self.compacted(lengths),
            inverse: self.has_inverse.then(|| self.inverse.clone()),
        }
    }

    /// The values, of a list that is in order.
    pub(super) fn unique(self, has_counts: bool) -> Unique {
        let counts = has_counts.then(|| self.lengths().1);
        Unique {
            values: self.compacted(self.values.clone()),
            counts: counts.map(|counts| self.compacted(counts)),
            inverse: self.has_inverse.then(|| self.inverse.clone()),
        }
    }

    fn compacted(&self, values: TensorHandle) -> Compacted {
        Compacted::new(values, self.count.clone()).by(self.path)
    }

    /// Where runs begin, and how long they are.
    fn lengths(&self) -> (TensorHandle, TensorHandle) {
        let client = self.device.client();
        let index = self.places.dtype;
        let list = |handle| TensorHandle::new_contiguous(vec![self.length], handle, index);
        let begins = list(self.places.handle.clone());
        let lengths = list(client.empty((self.length * index.size()).max(8)));
        if self.length > 0 {
            let units = units(&self.device);
            let most = 8 * self.device.processors();
            // SAFETY: a unit writes runs below the count, for which both lists have room.
            unsafe {
                lengths_kernel::launch_unchecked(
                    client,
                    CubeCount::new_1d(self.length.div_ceil(units as usize).min(most) as u32),
                    CubeDim::new_1d(units),
                    AddressType::from_len(self.length + (1 << 20)),
                    whole(&begins),
                    whole(&lengths),
                    whole(&self.count),
                    self.length,
                    [index, self.count.dtype],
                );
            }
        }
        (begins, lengths)
    }
}

/// Units of a cube without planes.
pub(super) fn units(device: &Device) -> u32 {
    let most = device.client().properties().hardware.max_units_per_cube;
    1 << most.clamp(1, 256).ilog2()
}

/// All of a list as a kernel argument.
pub(super) fn whole(list: &TensorHandle) -> BufferArg {
    let len = list.shape().iter().product();
    // SAFETY: the list has so many elements.
    unsafe { BufferArg::from_raw_parts(list.handle.clone(), len) }
}
