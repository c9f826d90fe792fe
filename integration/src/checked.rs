//! A result whose indices can be asked about.

use burn::backend::DispatchTensor;
use burn::tensor::{DType, Int, Tensor, TensorData, kind::Basic};
use girih::{Bounds, view::Offence};

use crate::Error;

/// The result of an op, and under [`Bounds::Report`](crate::Bounds::Report) the record of the first
/// index that was out of range. Both are on the device; only [`check`](Self::check) reads the record
/// back.
#[derive(Debug, Clone)]
#[must_use = "the result of an op is inside"]
pub struct Checked<T> {
    value: T,
    /// What names an offence, and its position on the device.
    report: Option<(Report, Tensor<1, Int>)>,
}

/// What names an offence, once its position is known.
#[derive(Debug, Clone)]
pub(crate) struct Report {
    /// The indices, of which only the offender is read back.
    index: Tensor<1, Int>,
    /// The axis they index.
    axis: usize,
    /// Its extent.
    extent: usize,
}

/// What a record holds where every index was in range.
const IN_RANGE: u32 = u32::MAX;

impl<T> Checked<T> {
    pub(crate) fn new(value: T, report: Option<(Report, Tensor<1, Int>)>) -> Self {
        Self { value, report }
    }

    /// The result, whatever the indices were.
    pub fn value(&self) -> &T {
        &self.value
    }

    /// The result, whatever the indices were.
    pub fn into_inner(self) -> T {
        self.value
    }

    /// The result if every index was in range. Under
    /// [`Bounds::Report`](crate::Bounds::Report) this waits for the device; under another policy
    /// nothing was recorded, and it does not.
    ///
    /// # Errors
    /// [`girih::Error::OutOfRange`] with the position, the value, the axis and the extent of the first
    /// offence; [`Error::Read`] where the device failed before it could say.
    pub fn check(self) -> Result<T, Error> {
        if let Some((report, record)) = self.report {
            let first = read(record, |data| data.iter::<u32>().next())?;
            if first != IN_RANGE {
                let offence = report.offence(first)?;
                return Err(Error::Kernel(girih::Error::OutOfRange(offence)));
            }
        }
        Ok(self.value)
    }
}

/// An op's outputs as tensors; the record means something only where there is a report.
pub(crate) fn checked<const D: usize, K: Basic>(
    (values, record): (DispatchTensor, Option<DispatchTensor>),
    report: Option<Report>,
) -> Checked<Tensor<D, K>> {
    let report = report.zip(record.map(Tensor::from_dispatch));
    Checked::new(Tensor::from_dispatch(values), report)
}

impl Report {
    /// What a report needs, if `bounds` asks for one.
    pub(crate) fn new(
        index: &Tensor<1, Int>,
        axis: usize,
        extent: usize,
        bounds: Bounds,
    ) -> Option<Self> {
        (bounds == Bounds::Report).then(|| Self {
            index: index.clone(),
            axis,
            extent,
        })
    }

    /// The offence at a position.
    fn offence(self, position: u32) -> Result<Offence, Error> {
        let start = position as usize;
        let offender = self.index.narrow(0, start, 1);
        let index = read(offender, |data| match data.dtype() {
            DType::U64 => data.iter::<u64>().next().map(i128::from),
            _ => data.iter::<i64>().next().map(i128::from),
        })?;
        Ok(Offence {
            position: u64::from(position),
            index,
            axis: self.axis,
            extent: self.extent,
        })
    }
}

/// The element that `take` finds in a tensor of one.
fn read<T>(
    tensor: Tensor<1, Int>,
    take: impl FnOnce(&TensorData) -> Option<T>,
) -> Result<T, Error> {
    let data = tensor.try_into_data()?;
    Ok(take(&data).expect("the tensor has one element, of an integer type"))
}
