//! The ops on CubeCL's tensors: girih's launchers.

use burn::backend::TensorMetadata;
use burn::tensor::{DType, Shape};
use burn_cubecl::{
    CubeBackend, CubeDevice,
    kernel::{into_contiguous, untile},
    ops::numeric::{empty_device_contiguous_dtype, zeros_client},
    tensor::CubeTensor,
};
use cubecl::{client::Client, std::tensor::TensorHandle};
use girih::{Bounds, view::Report};
use girih_kernels::{GatherOptions, ScatterMode, ScatterOptions, gather_backward};

use crate::IndexBackend;

/// The type of a record, which is a position.
pub(crate) const RECORD_DTYPE: DType = DType::U32;

/// A record has one element; where nothing is recorded there is an empty one.
pub(crate) fn record_shape(bounds: Bounds) -> Shape {
    Shape::from([usize::from(bounds == Bounds::Report)])
}

/// `shape` with another extent along `axis`.
pub(crate) fn with_extent(shape: &Shape, axis: usize, extent: usize) -> Shape {
    let mut shape = shape.clone();
    shape[axis] = extent;
    shape
}

impl IndexBackend for CubeBackend {
    fn gather_float(
        table: CubeTensor,
        index: CubeTensor,
        axis: usize,
        options: GatherOptions,
    ) -> (CubeTensor, CubeTensor) {
        gather(table, index, axis, options.bounds)
    }

    fn gather_int(
        table: CubeTensor,
        index: CubeTensor,
        axis: usize,
        bounds: Bounds,
    ) -> (CubeTensor, CubeTensor) {
        gather(table, index, axis, bounds)
    }

    fn scatter_float(
        target: CubeTensor,
        index: CubeTensor,
        updates: CubeTensor,
        axis: usize,
        mode: ScatterMode,
        options: ScatterOptions,
    ) -> (CubeTensor, CubeTensor) {
        scatter(target, index, updates, axis, mode, options)
    }

    fn scatter_int(
        target: CubeTensor,
        index: CubeTensor,
        updates: CubeTensor,
        axis: usize,
        mode: ScatterMode,
        options: ScatterOptions,
    ) -> (CubeTensor, CubeTensor) {
        scatter(target, index, updates, axis, mode, options)
    }

    fn scatter_float_alone(
        target: CubeTensor,
        index: CubeTensor,
        updates: CubeTensor,
        axis: usize,
        mode: ScatterMode,
        options: ScatterOptions,
    ) -> CubeTensor {
        scattered(target, index, updates, axis, mode, options).0
    }

    fn scatter_int_alone(
        target: CubeTensor,
        index: CubeTensor,
        updates: CubeTensor,
        axis: usize,
        mode: ScatterMode,
        options: ScatterOptions,
    ) -> CubeTensor {
        scattered(target, index, updates, axis, mode, options).0
    }

    fn scatter_sum_float(
        updates: CubeTensor,
        index: CubeTensor,
        axis: usize,
        extent: usize,
        options: ScatterOptions,
    ) -> (CubeTensor, CubeTensor) {
        scatter_sum(updates, index, axis, extent, options)
    }

    fn scatter_sum_int(
        updates: CubeTensor,
        index: CubeTensor,
        axis: usize,
        extent: usize,
        options: ScatterOptions,
    ) -> (CubeTensor, CubeTensor) {
        scatter_sum(updates, index, axis, extent, options)
    }

    fn gather_float_alone(
        table: CubeTensor,
        index: CubeTensor,
        axis: usize,
        options: GatherOptions,
    ) -> CubeTensor {
        gathered(table, index, axis, options.bounds).0
    }

    fn gather_backward_float(
        gradient: CubeTensor,
        index: CubeTensor,
        axis: usize,
        extent: usize,
        options: GatherOptions,
    ) -> CubeTensor {
        let out = Place::of(&gradient);
        let [gradient, index] = [gradient, index].map(handle);
        let sums = gather_backward(&out.client, &gradient, &index, axis, extent, options);
        out.tensor(sums.unwrap_or_else(unchecked_call))
    }

    fn gather_int_alone(
        table: CubeTensor,
        index: CubeTensor,
        axis: usize,
        bounds: Bounds,
    ) -> CubeTensor {
        gathered(table, index, axis, bounds).0
    }

    fn scatter_sum_float_alone(
        updates: CubeTensor,
        index: CubeTensor,
        axis: usize,
        extent: usize,
        options: ScatterOptions,
    ) -> CubeTensor {
        summed(updates, index, axis, extent, options).0
    }

    fn scatter_sum_int_alone(
        updates: CubeTensor,
        index: CubeTensor,
        axis: usize,
        extent: usize,
        options: ScatterOptions,
    ) -> CubeTensor {
        summed(updates, index, axis, extent, options).0
    }
}

fn gather(
    table: CubeTensor,
    index: CubeTensor,
    axis: usize,
    bounds: Bounds,
) -> (CubeTensor, CubeTensor) {
    let out = Place::of(&table);
    let (values, report) = gathered(table, index, axis, bounds);
    (values, out.record(report))
}

/// Slices, and what is to be reported.
fn gathered(
    table: CubeTensor,
    index: CubeTensor,
    axis: usize,
    bounds: Bounds,
) -> (CubeTensor, Option<Report>) {
    let out = Place::of(&table);
    let (table, index) = (handle(table), handle(index));
    let checked = girih_kernels::gather(&out.client, &table, &index, axis, bounds);
    out.reported(checked)
}

fn scatter_sum(
    updates: CubeTensor,
    index: CubeTensor,
    axis: usize,
    extent: usize,
    options: ScatterOptions,
) -> (CubeTensor, CubeTensor) {
    let out = Place::of(&updates);
    let (sums, report) = summed(updates, index, axis, extent, options);
    (sums, out.record(report))
}

/// The launcher on a target that nothing else uses.
fn scatter(
    target: CubeTensor,
    index: CubeTensor,
    updates: CubeTensor,
    axis: usize,
    mode: ScatterMode,
    options: ScatterOptions,
) -> (CubeTensor, CubeTensor) {
    let out = Place::of(&target);
    let (values, report) = scattered(target, index, updates, axis, mode, options);
    (values, out.record(report))
}

/// Sums of slices, and what is to be reported.
fn summed(
    updates: CubeTensor,
    index: CubeTensor,
    axis: usize,
    extent: usize,
    options: ScatterOptions,
) -> (CubeTensor, Option<Report>) {
    let zeros = Place::of(&updates).zeros(with_extent(updates.meta.shape(), axis, extent));
    scattered(zeros, index, updates, axis, ScatterMode::Add, options)
}

/// The target with the updates in it, and what is to be reported.
fn scattered(
    target: CubeTensor,
    index: CubeTensor,
    updates: CubeTensor,
    axis: usize,
    mode: ScatterMode,
    options: ScatterOptions,
) -> (CubeTensor, Option<Report>) {
    let target = writable(target);
    let out = Place::of(&target);
    let [into, index, updates] = [target.clone(), index, updates].map(handle);
    let checked =
        girih_kernels::scatter_into(&out.client, &into, &index, &updates, axis, mode, options);
    let ((), report) = checked.unwrap_or_else(unchecked_call).into_parts();
    (target, report)
}

/// An op's public function has checked its call, so that nothing is left for the launcher to refuse.
pub(crate) fn unchecked_call<T>(refused: girih::Error) -> T {
    panic!("girih-burn: an op of IndexBackend was called with what its function refuses: {refused}")
}

/// A tensor that may be written: the target itself where nothing else uses its memory and the kernels
/// walk its strides, else a copy.
pub(crate) fn writable(target: CubeTensor) -> CubeTensor {
    let target = rows(target);
    // Burn's own look at strides is not for tensors without elements, which nobody writes to.
    if target.meta.shape().contains(&0) {
        return target;
    }
    // Three axes leave at most two on either side of the indexed one, which is what the kernels walk.
    let walked = target.is_contiguous() || target.rank() <= 3;
    match target.can_mut() && target.is_nonoverlapping() && walked {
        true => target,
        false if target.is_contiguous() => target.copy(),
        false => into_contiguous(target),
    }
}

/// A tensor whose strides say all about where its elements lie.
fn rows(tensor: CubeTensor) -> CubeTensor {
    match tensor.meta.is_tiled() {
        true => untile(tensor),
        false => tensor,
    }
}

pub(crate) fn handle(tensor: CubeTensor) -> TensorHandle {
    rows(tensor).into()
}

/// What a new tensor takes from an op's first argument.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) client: Client,
    device: CubeDevice,
    dtype: DType,
}

impl Place {
    pub(crate) fn of(tensor: &CubeTensor) -> Self {
        Self {
            client: tensor.client.clone(),
            device: tensor.device.clone(),
            dtype: tensor.dtype,
        }
    }

    /// A report's record as a tensor, or an empty one.
    pub(crate) fn record(&self, report: Option<Report>) -> CubeTensor {
        let (client, device) = (self.client.clone(), self.device.clone());
        match report {
            Some(report) => {
                let (shape, record) = (record_shape(Bounds::Report), report.record().clone());
                CubeTensor::new_contiguous(client, device, shape, record, RECORD_DTYPE)
            }
            None => {
                let shape = record_shape(Bounds::Assume);
                empty_device_contiguous_dtype(client, device, shape, RECORD_DTYPE)
            }
        }
    }

    /// What a launcher gave as a tensor, and what is to be reported.
    pub(crate) fn reported(
        self,
        checked: girih::Result<girih::Checked<TensorHandle>>,
    ) -> (CubeTensor, Option<Report>) {
        let (values, report) = checked.unwrap_or_else(unchecked_call).into_parts();
        (self.tensor(values), report)
    }

    /// Zeros of that shape.
    pub(crate) fn zeros(&self, shape: Shape) -> CubeTensor {
        let (client, device) = (self.client.clone(), self.device.clone());
        zeros_client(client, device, shape, self.dtype)
    }

    /// The same with elements of another type.
    pub(crate) fn of_type(self, dtype: DType) -> Self {
        Self { dtype, ..self }
    }

    /// A tensor without elements.
    pub(crate) fn empty(self) -> CubeTensor {
        let none = burn::tensor::Shape::from([0]);
        empty_device_contiguous_dtype(self.client, self.device, none, self.dtype)
    }

    pub(crate) fn tensor(self, values: TensorHandle) -> CubeTensor {
        CubeTensor::new(
            self.client,
            values.handle,
            *values.metadata,
            self.device,
            self.dtype,
        )
    }
}
