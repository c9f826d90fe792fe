//! Histograms as launches.

use super::kernel::{Binning, Counting, bins_kernel, histogram_kernel};
use super::{MOST, PRIVATE, Weights, element};
use crate::bins::zeros;
use crate::check;
use crate::scan::Determinism;
use crate::scatter::{Duplicates, ScatterMode, ScatterOptions, scatter_into};
use cubecl::client::Client;
use cubecl::ir::{ElemType, FloatKind, IntKind, UIntKind};
use cubecl::prelude::*;
use cubecl::std::tensor::{TensorHandle, into_contiguous, is_contiguous};
use girih::device::{Device, Target};
use girih::memory::{AtomicAccess, MemoryOrder, MemoryScope, Operation};
use girih::{Error, Result};

const F32: ElemType = ElemType::Float(FloatKind::F32);
const F64: ElemType = ElemType::Float(FloatKind::F64);

/// The bins of a call.
#[derive(Clone, Copy)]
pub(super) struct Bins {
    binning: Binning,
    pub count: usize,
    /// Low, high, and bins per unit between them.
    range: [f64; 3],
    /// The type that bins are found in.
    of: ElemType,
}

impl Bins {
    /// The bins of integers that are their numbers.
    pub(super) fn of_numbers(call: &'static str, values: ElemType, count: usize) -> Result<Self> {
        if !matches!(values, ElemType::Int(_) | ElemType::UInt(_)) {
            return Err(element(call, values, "an integer type"));
        }
        let of = match values.size() {
            8 => UIntKind::U64,
            _ => UIntKind::U32,
        };
        Self {
            binning: Binning::Value,
            count,
            range: [0.0; 3],
            of: ElemType::UInt(of),
        }
        .no_more_than_most(call)
    }

    /// The equal parts of a range.
    pub(super) fn of_range(
        call: &'static str,
        values: ElemType,
        count: usize,
        [low, high]: [f64; 2],
    ) -> Result<Self> {
        let of = match values {
            ElemType::Float(FloatKind::F64)
            | ElemType::Int(IntKind::I64)
            | ElemType::UInt(UIntKind::U64) => F64,
            ElemType::Float(FloatKind::F16 | FloatKind::BF16 | FloatKind::F32)
            | ElemType::Int(_)
            | ElemType::UInt(_) => F32,
            _ => {
                let allowed = "an integer type, f16, bf16, f32 or f64";
                return Err(element(call, values, allowed));
            }
        };
        // In the type that the device computes in, which may round a range to nothing.
        let range = match of == F32 {
            true => {
                let [low, high] = [low as f32, high as f32];
                let scale = count as f32 / (high - low);
                [low, high, scale].map(f64::from)
            }
            false => [low, high, count as f64 / (high - low)],
        };
        let [first, last, scale] = range;
        let is_sound = first < last && scale.is_finite() && (last - first).is_finite();
        if !is_sound || (count > 0 && scale <= 0.0) {
            return Err(Error::Argument {
                call,
                argument: "range",
                given: format!("{low:?} to {high:?}"),
                allowed: format!(
                    "finite numbers, the first below the second by what {of} tells apart"
                ),
            });
        }
        Self {
            binning: Binning::Range,
            count,
            range,
            of,
        }
        .no_more_than_most(call)
    }

    fn no_more_than_most(self, call: &'static str) -> Result<Self> {
        match self.count <= MOST {
            true => Ok(self),
            false => Err(Error::Size {
                call,
                argument: "bins",
                given: self.count as u64,
                allowed: MOST as u64,
            }),
        }
    }

    /// Low, high and scale as arguments of a kernel, which reads none of them where bins are numbers.
    fn scalars(&self) -> [InputScalar; 3] {
        let of = match self.binning {
            Binning::Range => self.of,
            Binning::Value => F32,
        };
        self.range.map(|number| InputScalar::new(number, of))
    }
}

/// What so many values of these weights are added up in.
pub(super) fn sum_of(
    call: &'static str,
    weights: Option<ElemType>,
    count: usize,
) -> Result<ElemType> {
    match weights {
        // All of them may be in one bin.
        None => Ok(ElemType::UInt(match u32::try_from(count) {
            Ok(_) => UIntKind::U32,
            Err(_) => UIntKind::U64,
        })),
        Some(sum) if [F32, F64].contains(&sum) => Ok(sum),
        Some(given) => Err(Error::Element {
            call,
            argument: "weights",
            given,
            allowed: format!("{F32} or {F64}"),
        }),
    }
}

/// How many bins a cube counts in its shared memory, on a device that finds them and adds up the type.
pub(super) fn supports(
    device: &Device,
    call: &'static str,
    values: ElemType,
    sum: ElemType,
    bins: &Bins,
) -> Result<usize> {
    for element in [values, bins.of, sum] {
        check::element(call, device, element)?;
    }
    // CubeCL's WGSL has no addition of floats in shared memory.
    let is_lacking = device.target() == Target::Wgsl && matches!(sum, ElemType::Float(_));
    let private = if bins.count <= PRIVATE && !is_lacking {
        bins.count
    } else {
        0
    };
    for (scope, is_needed) in [
        (MemoryScope::Device, true),
        (MemoryScope::Cube, private > 0),
    ] {
        let add = AtomicAccess::new(Operation::Add, sum).ordered(MemoryOrder::Relaxed, scope);
        if is_needed {
            device.require_atomic(call, &add)?;
        }
    }
    Ok(private)
}

/// The tensor itself, or a copy with its elements one after another.
fn dense(client: &Client, tensor: &TensorHandle) -> TensorHandle {
    let (shape, strides) = check::dims(tensor);
    match is_contiguous(&shape, &strides) {
        true => tensor.clone(),
        false => into_contiguous(client, tensor.clone().binding(), tensor.dtype),
    }
}

/// Counts values, or adds up their weights.
pub(super) fn run(
    call: &'static str,
    client: &Client,
    values: &TensorHandle,
    weights: Weights<'_>,
    bins: Bins,
) -> Result<TensorHandle> {
    let Weights {
        tensor: weights,
        determinism,
    } = weights;
    let device = Device::of(client);
    check::within(call, client, "values", values)?;
    let (shape, _) = check::dims(values);
    if let Some(weights) = weights {
        check::shape(call, "weights", weights, &shape)?;
        check::within(call, client, "weights", weights)?;
    }
    let count: usize = shape.iter().product();
    let sum = sum_of(call, weights.map(|weights| weights.dtype), count)?;
    if let (Some(weights), Determinism::RunToRun) = (weights, determinism) {
        return in_order(call, &device, values, weights, bins);
    }
    let private = supports(&device, call, values.dtype, sum, &bins)?;
    let out = zeros(&device, bins.count * sum.size() / 4);
    if count > 0 && bins.count > 0 {
        launch(&device, values, weights, &out, &bins, private, sum);
    }
    Ok(TensorHandle::new_contiguous(vec![bins.count], out, sum))
}

/// Adds up the weights of each bin in one order.
fn in_order(
    call: &'static str,
    device: &Device,
    values: &TensorHandle,
    weights: &TensorHandle,
    bins: Bins,
) -> Result<TensorHandle> {
    let client = device.client();
    check::element(call, device, weights.dtype)?;
    let count = bins.count;
    let list = |tensor: &TensorHandle| {
        let count = tensor.shape().iter().product::<usize>();
        TensorHandle::new_contiguous(vec![count], dense(client, tensor).handle, tensor.dtype)
    };
    let places = list(&places(call, client, values, bins)?);
    let sums = zeros(device, count * weights.dtype.size() / 4);
    let sums = TensorHandle::new_contiguous(vec![count], sums, weights.dtype);
    // A value without a bin is at -1, which is masked.
    let options = ScatterOptions::from(Duplicates::Deterministic);
    scatter_into(
        client,
        &sums,
        &places,
        &list(weights),
        0,
        ScatterMode::Add,
        options,
    )?
    .into_inner();
    Ok(sums)
}

fn launch(
    device: &Device,
    values: &TensorHandle,
    weights: Option<&TensorHandle>,
    out: &cubecl::server::Handle,
    bins: &Bins,
    private: usize,
    sum: ElemType,
) {
    let client = device.client();
    let values = dense(client, values);
    let weights = weights.map(|weights| dense(client, weights));
    let count: usize = values.shape().iter().product();
    let starts = [Some(&values), weights.as_ref()];
    let fits = |width: &usize| {
        let starts_well = |tensor: &TensorHandle| {
            let start = tensor.handle.offset_start.unwrap_or(0) as usize;
            start.is_multiple_of(width * tensor.dtype.size())
        };
        count.is_multiple_of(*width) && starts.into_iter().flatten().all(starts_well)
    };
    let of_weight = weights.as_ref().map_or(0, |weights| weights.dtype.size());
    let width = device
        .vector_widths(values.dtype.size().max(of_weight))
        .into_iter()
        .find(fits)
        .unwrap_or(1);
    let hardware = &client.properties().hardware;
    let units = 1 << hardware.max_units_per_cube.clamp(1, 512).ilog2();
    let vectors = count / width;
    // Each cube adds its bins to the output: so many cubes as keep the processors busy, no more, and none with more bins than vectors.
    let most = match device.target() {
        Target::Cpu => 1,
        _ => 4 * device.processors(),
    };
    let least = private.max(2 * units as usize);
    let cubes = vectors.div_ceil(least).clamp(1, most);
    let counting = Counting {
        binning: bins.binning,
        private,
        is_weighted: weights.is_some(),
        units,
    };
    // Nobody reads the weights of values that are counted, but a device may ask for a buffer of one vector.
    let unread = || (client.empty(width * sum.size()), 1);
    let weights = weights.map_or_else(unread, |weights| (weights.handle, vectors));
    let [low, high, scale] = bins.scalars();
    // SAFETY: vectors are masked by their number, which is that of the weights' where there are any; bins are below that of the
    // output.
    unsafe {
        histogram_kernel::launch_unchecked(
            client,
            CubeCount::new_1d(cubes as u32),
            CubeDim::new_1d(units),
            AddressType::from_len(count.max(bins.count)),
            width,
            BufferArg::from_raw_parts(values.handle.clone(), vectors),
            BufferArg::from_raw_parts(weights.0, weights.1),
            BufferArg::from_raw_parts(out.clone(), bins.count),
            vectors,
            bins.count as u32,
            low,
            high,
            scale,
            counting,
            [values.dtype, sum, bins.of],
        );
    }
}

/// The bin of every value, -1 where it has none.
pub(super) fn places(
    call: &'static str,
    client: &Client,
    values: &TensorHandle,
    bins: Bins,
) -> Result<TensorHandle> {
    let device = Device::of(client);
    for element in [values.dtype, bins.of, ElemType::Int(IntKind::I32)] {
        check::element(call, &device, element)?;
    }
    check::within(call, client, "values", values)?;
    let (shape, _) = check::dims(values);
    let count: usize = shape.iter().product();
    let out = check::output(call, client, shape, ElemType::Int(IntKind::I32))?;
    if count > 0 {
        let values = dense(client, values);
        let units = 1
            << client
                .properties()
                .hardware
                .max_units_per_cube
                .clamp(1, 256)
                .ilog2();
        let [low, high, scale] = bins.scalars();
        // SAFETY: a unit has one of the values and its bin, if there is one for it.
        unsafe {
            bins_kernel::launch_unchecked(
                client,
                crate::scan::cubes(&device, count.div_ceil(units as usize)),
                CubeDim::new_1d(units),
                AddressType::from_len(count + (1 << 20)),
                BufferArg::from_raw_parts(values.handle.clone(), count),
                BufferArg::from_raw_parts(out.handle.clone(), count),
                count,
                bins.count as u32,
                low,
                high,
                scale,
                bins.binning,
                [values.dtype, bins.of],
            );
        }
    }
    Ok(out)
}
