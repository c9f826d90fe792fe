//! Results that may have met an index out of range.

use super::records::{self, NONE};
use super::reporter::Offence;
use crate::device::Device;
use crate::error::{Error, Result};
use cubecl::client::Client;
use cubecl::ir::{ElemType, IntKind, UIntKind};
use cubecl::prelude::*;
use cubecl::server::Handle;
use cubecl::std::tensor::TensorHandle;

/// What a launcher gives back: the value, usable at once, and the right to ask whether every index was in range.
///
/// Nothing is read back from the device until [`check`](Self::check).
#[must_use = "under `Bounds::Report` an index out of range is known only to `check()`"]
#[derive(Debug)]
pub struct Checked<T> {
    value: T,
    report: Option<Report>,
}

impl<T> Checked<T> {
    /// A value that has nothing to report.
    pub fn sure(value: T) -> Self {
        Self {
            value,
            report: None,
        }
    }

    /// A value with a report.
    pub fn new(value: T, report: Option<Report>) -> Self {
        Self { value, report }
    }

    /// The value, which is right wherever its index was in range.
    pub fn value(&self) -> &T {
        &self.value
    }

    /// The value, unchecked.
    pub fn into_inner(self) -> T {
        self.value
    }

    /// The value and its report.
    pub fn into_parts(self) -> (T, Option<Report>) {
        (self.value, self.report)
    }

    /// Another value with the same report.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Checked<U> {
        Checked {
            value: f(self.value),
            report: self.report,
        }
    }

    /// Waits for the device and gives the value, or the first index that was out of range.
    ///
    /// Without [`Bounds::Report`](super::Bounds::Report) there is nothing to ask, and nothing is waited for.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`], or [`Error::Server`] where the kernel failed.
    pub fn check(self) -> Result<T> {
        match self.report.as_ref().map(Report::read).transpose()? {
            Some(Some(offence)) => Err(Error::OutOfRange(offence)),
            _ => Ok(self.value),
        }
    }
}

/// The record on the device of the first index that was out of range.
///
/// Of an index in a list only the position is kept there; the index itself is read from the list when it is asked for, so
/// the list must not be overwritten before.
#[derive(Clone)]
pub struct Report {
    client: Client,
    record: Handle,
    kept: Kept,
}

/// What a record keeps.
#[derive(Clone)]
enum Kept {
    /// The smallest position in the list of one axis, in 32 bits.
    Position {
        list: TensorHandle,
        axis: usize,
        extent: usize,
    },
    /// For each axis the smallest position in its list, or without one the smallest index, in 64 bits.
    Axes {
        extents: Vec<usize>,
        lists: Vec<Option<TensorHandle>>,
    },
}

impl core::fmt::Debug for Report {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let mut report = f.debug_struct("Report");
        match &self.kept {
            Kept::Position { axis, extent, .. } => {
                report.field("axis", axis).field("extent", extent)
            }
            Kept::Axes { extents, .. } => report.field("extents", extents),
        };
        report.finish_non_exhaustive()
    }
}

/// What a record of axes holds for one along which every index has been in range.
const NONE_ALONG: u64 = u64::MAX;

impl Report {
    /// A fresh record for a list of indices (rank 1) along an axis of that extent.
    ///
    /// # Errors
    ///
    /// [`Error::Device`] where the device cannot keep the smallest position, [`Error::Size`] where the list is longer
    /// than a position can say.
    pub fn new(
        call: &'static str,
        device: &Device,
        list: &TensorHandle,
        axis: usize,
        extent: usize,
    ) -> Result<Self> {
        device.require(
            device.reports(),
            call,
            "atomic minimum of u32, to report the first index out of range",
        )?;
        require_short(call, list)?;
        let client = device.client().clone();
        let record = records::fresh(&client);
        Ok(Self {
            client,
            record,
            kept: Kept::Position {
                list: list.clone(),
                axis,
                extent,
            },
        })
    }

    /// A fresh record for memory of these extents, with the list of indices (rank 1) of each axis that has one: for a
    /// kernel that makes a [`Reporter::axes`](super::Reporter::axes) of it.
    ///
    /// ```
    /// use cubecl::{client::Client, prelude::*};
    /// use girih::device::Device;
    /// use girih::prelude::*;
    /// use girih::view::{Report, Reporter};
    ///
    /// #[cube(launch_unchecked)]
    /// fn copy(from: &Tensor<f32>, record: &[Atomic<u64>], to: &mut Tensor<f32>) {
    ///     let cube = this_cube();
    ///     let view = TileView::<f32, shape![4, 4]>::of(from).report(Reporter::axes(record, 0u32));
    ///     let tile = view.load_masked(&cube, Zero, (0, 0));
    ///     TileViewMut::<f32, shape![4, 4]>::of(to).store(&cube, tile, (0, 0));
    /// }
    ///
    /// /// Copies 4 rows of 4 from a tensor that may have fewer: then an error says which index was out of range.
    /// fn copied(client: &Client, from: TensorArg, rows: usize, to: TensorArg) -> girih::Result<()> {
    ///     let device = Device::of(client);
    ///     let report = Report::axes("copied", &device, &[rows, 4], &[None, None])?;
    ///     let (one, units) = (CubeCount::new_single(), CubeDim::new_1d(1));
    ///     // SAFETY: the load is masked, and the store covers `to`.
    ///     unsafe { copy::launch_unchecked(client, one, units, from, report.arg(), to) };
    ///     girih::Checked::new((), Some(report)).check()
    /// }
    /// # fn main() {}
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Device`] where the device has no atomic minimum of `u64`, [`Error::Size`] where a list is longer than a
    /// position can say, [`Error::Shape`] where there are not as many lists as extents.
    pub fn axes(
        call: &'static str,
        device: &Device,
        extents: &[usize],
        lists: &[Option<TensorHandle>],
    ) -> Result<Self> {
        device.require(
            device.reports_axes(),
            call,
            "atomic minimum of u64, to report the first index out of range of each axis",
        )?;
        if lists.len() != extents.len() {
            return Err(Error::Shape {
                call,
                argument: "the lists of indices, under Bounds::Report,",
                given: vec![lists.len()],
                allowed: vec![extents.len()],
            });
        }
        for list in lists.iter().flatten() {
            require_short(call, list)?;
        }
        let client = device.client().clone();
        let nothing: Vec<u8> = extents
            .iter()
            .flat_map(|_| NONE_ALONG.to_ne_bytes())
            .collect();
        let record = client.create_from_slice(&nothing);
        Ok(Self {
            client,
            record,
            kept: Kept::Axes {
                extents: extents.to_vec(),
                lists: lists.to_vec(),
            },
        })
    }

    /// The record of a list whose first index is known to be out of range.
    pub fn first_entry(mut self) -> Self {
        let bytes = match &self.kept {
            Kept::Position { .. } => 0u32.to_ne_bytes().to_vec(),
            Kept::Axes { lists, .. } => {
                let listed = lists.iter().map(|list| match list {
                    Some(_) => 0u64,
                    None => NONE_ALONG,
                });
                listed.flat_map(u64::to_ne_bytes).collect()
            }
        };
        self.record = self.client.create_from_slice(&bytes);
        self
    }

    /// The record: one `u32`, the position, or [`u32::MAX`] while there is none; of [`axes`](Self::axes) one `u64` for each
    /// axis, or [`u64::MAX`].
    pub fn record(&self) -> &Handle {
        &self.record
    }

    /// The record as a kernel argument `&[Atomic<u32>]`, or of [`axes`](Self::axes) `&[Atomic<u64>]`.
    pub fn arg(&self) -> BufferArg {
        let elements = match &self.kept {
            Kept::Position { .. } => 1,
            Kept::Axes { extents, .. } => extents.len(),
        };
        // SAFETY: `new` and `axes` wrote so many elements.
        unsafe { BufferArg::from_raw_parts(self.record.clone(), elements) }
    }

    /// The first index that was out of range, once the kernels before have run: of several axes that of the smallest
    /// position, and of the first such axis.
    ///
    /// # Errors
    ///
    /// [`Error::Server`] where one of them failed.
    pub fn read(&self) -> Result<Option<Offence>> {
        let bytes = self.client.read_one(self.record.clone())?;
        match &self.kept {
            Kept::Position { list, axis, extent } => {
                let position = u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
                if position == NONE {
                    return Ok(None);
                }
                self.listed(list, position.into(), *axis, *extent).map(Some)
            }
            Kept::Axes { extents, lists } => {
                let mut offences = vec![];
                let axes = bytes.chunks_exact(8).zip(extents).zip(lists).enumerate();
                for (axis, ((kept, &extent), list)) in axes {
                    let kept = u64::from_ne_bytes(kept.try_into().expect("8 bytes"));
                    match list {
                        _ if kept == NONE_ALONG => {}
                        Some(list) => offences.push(self.listed(list, kept, axis, extent)?),
                        None => offences.push(in_run(kept, axis, extent)),
                    }
                }
                Ok(offences.into_iter().min_by_key(|offence| offence.position))
            }
        }
    }

    /// The offence at that position of a list.
    fn listed(
        &self,
        list: &TensorHandle,
        position: u64,
        axis: usize,
        extent: usize,
    ) -> Result<Offence> {
        let size = list.dtype.size();
        let first = position as usize * list.strides()[0] * size;
        let total = list.handle.size_in_used() as usize;
        let handle = list.handle.clone().offset_start(first as u64);
        let handle = handle.offset_end((total - first - size) as u64);
        let bytes = self.client.read_one(handle)?;
        Ok(Offence {
            position,
            index: integer(list.dtype, &bytes),
            axis,
            extent,
        })
    }
}

/// The offence of an axis without a list, of which the record kept the smallest index.
fn in_run(kept: u64, axis: usize, extent: usize) -> Offence {
    let index = (kept ^ 1 << 63) as i64;
    Offence {
        position: index.max(0) as u64,
        index: index.into(),
        axis,
        extent,
    }
}

/// The list is short enough for a position to be kept in 32 bits.
fn require_short(call: &'static str, list: &TensorHandle) -> Result<()> {
    let entries: usize = list.shape().iter().product();
    match entries < NONE as usize {
        true => Ok(()),
        false => Err(Error::Size {
            call,
            argument: "the list of indices, under Bounds::Report,",
            given: entries as u64,
            allowed: u64::from(NONE) - 1,
        }),
    }
}

/// The integer of that type in these bytes.
fn integer(dtype: ElemType, bytes: &[u8]) -> i128 {
    let mut wide = [0u8; 8];
    wide[..bytes.len().min(8)].copy_from_slice(&bytes[..bytes.len().min(8)]);
    let raw = u64::from_ne_bytes(wide);
    match dtype {
        ElemType::Int(IntKind::I8) => i128::from(raw as i8),
        ElemType::Int(IntKind::I16) => i128::from(raw as i16),
        ElemType::Int(IntKind::I32) => i128::from(raw as i32),
        ElemType::Int(IntKind::I64) => i128::from(raw as i64),
        ElemType::UInt(UIntKind::U8) => i128::from(raw as u8),
        ElemType::UInt(UIntKind::U16) => i128::from(raw as u16),
        ElemType::UInt(UIntKind::U32) => i128::from(raw as u32),
        _ => i128::from(raw),
    }
}
