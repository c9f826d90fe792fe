//! Results that may have met an index out of range.

use super::bounds::Offence;
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
/// Only the position is kept there; the index itself is read from the list when it is asked for, so the list must not
/// be overwritten before.
#[derive(Clone)]
pub struct Report {
    client: Client,
    record: Handle,
    list: TensorHandle,
    axis: usize,
    extent: usize,
}

impl core::fmt::Debug for Report {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Report")
            .field("axis", &self.axis)
            .field("extent", &self.extent)
            .finish_non_exhaustive()
    }
}

/// What the record holds while every index has been in range.
const NONE: u32 = u32::MAX;

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
        let entries: usize = list.shape().iter().product();
        if entries >= NONE as usize {
            return Err(Error::Size {
                call,
                argument: "the list of indices, under Bounds::Report,",
                given: entries as u64,
                allowed: u64::from(NONE) - 1,
            });
        }
        let client = device.client().clone();
        let record = client.create_from_slice(&NONE.to_ne_bytes());
        Ok(Self {
            client,
            record,
            list: list.clone(),
            axis,
            extent,
        })
    }

    /// The record of a list whose first index is known to be out of range.
    pub fn first_entry(mut self) -> Self {
        self.record = self.client.create_from_slice(&0u32.to_ne_bytes());
        self
    }

    /// The record: one `u32`, the position, or [`u32::MAX`] while there is none.
    pub fn record(&self) -> &Handle {
        &self.record
    }

    /// The record as a kernel argument `&[Atomic<u32>]`.
    pub fn arg(&self) -> BufferArg {
        // SAFETY: the record is one u32, written by `new`.
        unsafe { BufferArg::from_raw_parts(self.record.clone(), 1) }
    }

    /// The first index that was out of range, once the kernels before have run.
    ///
    /// # Errors
    ///
    /// [`Error::Server`] where one of them failed.
    pub fn read(&self) -> Result<Option<Offence>> {
        let bytes = self.client.read_one(self.record.clone())?;
        let position = u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        if position == NONE {
            return Ok(None);
        }
        let index = self.index(position as usize)?;
        Ok(Some(Offence {
            position: position.into(),
            index,
            axis: self.axis,
            extent: self.extent,
        }))
    }

    /// The entry of the list at that position.
    fn index(&self, position: usize) -> Result<i128> {
        let size = self.list.dtype.size();
        let first = position * self.list.strides()[0] * size;
        let total = self.list.handle.size_in_used() as usize;
        let handle = self.list.handle.clone().offset_start(first as u64);
        let handle = handle.offset_end((total - first - size) as u64);
        let bytes = self.client.read_one(handle)?;
        Ok(integer(self.list.dtype, &bytes))
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
