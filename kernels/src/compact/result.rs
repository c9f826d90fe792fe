//! What a compaction gives: tensors with room for all, and a count that stays on the device until it is asked for.

use crate::scan::ScanPath;
use cubecl::client::Client;
use cubecl::prelude::CubeElement;
use cubecl::std::tensor::TensorHandle;
use girih::Result;

/// Rows that were kept, at the beginning of a tensor with room for all; what is behind them says nothing.
#[derive(Clone, Debug)]
pub struct Compacted {
    /// The kept rows, and room.
    values: TensorHandle,
    count: TensorHandle,
    /// Where the device counts those that are not among these: how many there are in all.
    all: Option<usize>,
    path: ScanPath,
}

impl Compacted {
    pub(super) fn new(values: TensorHandle, count: TensorHandle) -> Self {
        Self {
            values,
            count,
            all: None,
            path: ScanPath::ReduceThenScan,
        }
    }

    /// Those that are not counted, of so many.
    pub(super) fn others(values: TensorHandle, count: TensorHandle, all: usize) -> Self {
        Self {
            all: Some(all),
            ..Self::new(values, count)
        }
    }

    /// The kept rows, with room for all behind them.
    pub fn room(&self) -> &TensorHandle {
        &self.values
    }

    /// Where the device has the count, an unsigned integer of 32 or 64 bits: that of the kept elements, also for those
    /// that were [rejected](Partition::rejected).
    pub fn count_on_device(&self) -> &TensorHandle {
        &self.count
    }

    /// How many rows there are: waits for the device.
    ///
    /// # Errors
    /// [`Error::Server`](crate::Error::Server) where the device failed.
    pub fn count(&self, client: &Client) -> Result<usize> {
        let bytes = client.read_one(self.count.handle.clone())?;
        let count = match self.count.dtype.size() {
            4 => u32::from_bytes(&bytes[..4])[0] as usize,
            _ => u64::from_bytes(&bytes[..8])[0] as usize,
        };
        Ok(self.all.map_or(count, |all| all - count))
    }

    /// The rows alone: waits for the device, for their count.
    ///
    /// The tensor keeps the memory of the whole room.
    ///
    /// # Errors
    /// [`Error::Server`](crate::Error::Server) where the device failed.
    pub fn read(self, client: &Client) -> Result<TensorHandle> {
        let count = self.count(client)?;
        Ok(self.first(count))
    }

    /// The first rows, of which there are at least so many.
    fn first(self, count: usize) -> TensorHandle {
        let mut shape: Vec<usize> = self.values.shape().iter().copied().collect();
        shape[0] = count;
        TensorHandle::new_contiguous(shape, self.values.handle, self.values.dtype)
    }

    /// The path that was taken.
    pub fn path(&self) -> ScanPath {
        self.path
    }

    pub(super) fn by(self, path: ScanPath) -> Self {
        Self { path, ..self }
    }
}

/// What [`partition`](crate::partition) gives.
#[derive(Clone, Debug)]
pub struct Partition {
    /// The elements whose mask is not 0.
    pub kept: Compacted,
    /// The elements whose mask is 0.
    pub rejected: Compacted,
}

/// What [`unique_consecutive`](crate::unique_consecutive) and [`run_length`](crate::run_length) give.
#[derive(Clone, Debug)]
pub struct Runs {
    /// The first of every run.
    pub values: Compacted,
    /// Where every run begins.
    pub begins: Compacted,
    /// How long every run is.
    pub lengths: Compacted,
    /// For each element the number of its run, where it was asked for.
    pub inverse: Option<TensorHandle>,
}

/// What [`unique`](crate::unique) gives.
#[derive(Clone, Debug)]
pub struct Unique {
    /// The values, in order.
    pub values: Compacted,
    /// How often each is there, where it was asked for.
    pub counts: Option<Compacted>,
    /// For each element of the input the place of its value among the values, in the input's shape, where it was asked for.
    pub inverse: Option<TensorHandle>,
}
