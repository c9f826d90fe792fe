//! Histograms: how many values, or how much weight, there is in each bin.
// CubeCL's macro writes undocumented twins of the kernel.
#![allow(missing_docs)]

use crate::check;
use cubecl::client::Client;
use cubecl::ir::{ElemType, FloatKind, IntKind, UIntKind};
use cubecl::prelude::*;
use cubecl::std::tensor::{TensorHandle, into_contiguous, is_contiguous};
use girih::device::{self, Target};
use girih::memory::{AtomicAccess, MemoryOrder, MemoryScope, Operation};
use girih::prelude::*;
use girih::{Error, Result};

/// Bins that a cube counts in its shared memory; more are counted in the output.
const PRIVATE: usize = 2048;
/// Most bins.
const MOST: usize = 1 << 31;

/// Which bin a value is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binning {
    /// That of its number.
    Value,
    /// That of the equal part of a range that it is in.
    Range,
}

/// How the kernel goes through the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Counting {
    /// Which bin a value is in.
    pub binning: Binning,
    /// Bins in shared memory, 0 for none.
    pub private: usize,
    /// Whether values have weights.
    pub is_weighted: bool,
    /// Units of the cube.
    pub units: u32,
}

/// Adds up the weights of the values of each bin, or counts them. `B` is the type that bins are found in.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn histogram_kernel<E: Numeric, A: Numeric, B: Numeric, N: Size>(
    values: &[Vector<E, N>],
    weights: &[Vector<A, N>],
    out: &[Atomic<A>],
    bins: u32,
    low: f32,
    high: f32,
    scale: f32,
    #[comptime] counting: Counting,
    #[define(E, A, B)] _types: [ElemType; 3],
) {
    let private = shared::<Atomic<A>>(comptime!(counting.private.max(1)));
    let units = comptime!(counting.units as usize);
    if comptime!(counting.private > 0) {
        let mut bin = UNIT_POS as usize;
        while bin < counting.private {
            private[bin].at::<Cube>().store::<Relaxed>(A::from_int(0));
            bin += units;
        }
        sync_cube();
    }
    let mut at = CUBE_POS * units + UNIT_POS as usize;
    let step = CUBE_COUNT * units;
    while at < values.len() {
        let several = values[at];
        #[unroll]
        for lane in 0..N::value() {
            let (bin, is_in) = bin_of::<E, B>(
                several.extract(lane),
                bins,
                low,
                high,
                scale,
                counting.binning,
            );
            if is_in {
                let mut weight = A::from_int(1);
                if comptime!(counting.is_weighted) {
                    weight = weights[at].extract(lane);
                }
                if comptime!(counting.private > 0) {
                    private[bin as usize]
                        .at::<Cube>()
                        .fetch_add::<Relaxed>(weight);
                } else {
                    out[bin as usize]
                        .at::<Device>()
                        .fetch_add::<Relaxed>(weight);
                }
            }
        }
        at += step;
    }
    if comptime!(counting.private > 0) {
        sync_cube();
        let mut bin = UNIT_POS as usize;
        while bin < bins as usize {
            let sum = private[bin].at::<Cube>().load::<Relaxed>();
            if sum != A::from_int(0) {
                out[bin].at::<Device>().fetch_add::<Relaxed>(sum);
            }
            bin += units;
        }
    }
}

/// A value's bin, and whether it has one.
#[cube]
fn bin_of<E: Numeric, B: Numeric>(
    value: E,
    bins: u32,
    low: f32,
    high: f32,
    scale: f32,
    #[comptime] binning: Binning,
) -> (u32, bool) {
    if comptime!(binning == Binning::Value) {
        // A negative number becomes one that is larger than there are bins.
        let number = B::cast_from(value);
        (u32::cast_from(number), number < B::cast_from(bins))
    } else {
        let number = f32::cast_from(value);
        let bin = u32::cast_from((number - low) * scale);
        // The last bin has its end.
        (bin.min(bins - 1u32), number >= low && number <= high)
    }
}

/// Counts how often each of the numbers 0, 1, .. is there: `out[b] = #{n : values[n] = b}`, or with weights the sum of those.
///
/// `values` are integers of any shape and strides; `weights`, of the same shape, are f32. The result has `bins` elements: u32,
/// or f32 of weights. Numbers that are negative, or `bins` or more, are in no bin.
///
/// Counts are the same in every run. Sums of weights are taken in no fixed order, so that their last bits may differ.
///
/// | backend | how |
/// |---|---|
/// | all | up to 2048 bins are counted by each cube in shared memory, and added up; more of them straight in the output |
///
/// ```
/// use cubecl::{client::Client, prelude::*, std::tensor::TensorHandle};
/// use girih_kernels::{Result, bincount};
///
/// fn counts(client: &Client) -> Result<()> {
///     let handle = client.create_from_slice(i32::as_bytes(&[2, 0, 2, -1, 7, 1]));
///     let values = TensorHandle::new_contiguous(vec![6], handle, i32::elem_type_native());
///     let counts = bincount(client, &values, None, 3)?;
///     let bytes = client.read_one(counts.handle)?;
///     assert_eq!(u32::from_bytes(&bytes), [1, 1, 2]);
///     Ok(())
/// }
/// # #[cfg(feature = "cpu")]
/// # counts(&cubecl::Device::Cpu(Default::default()).client()).unwrap();
/// ```
///
/// # Errors
///
/// [`Error::Element`], [`Error::Shape`], [`Error::Strides`]; [`Error::Size`] of more than 2^31 bins; [`Error::Device`] where the
/// device does not store a type, or adds it not atomically.
pub fn bincount(
    client: &Client,
    values: &TensorHandle,
    weights: Option<&TensorHandle>,
    bins: usize,
) -> Result<TensorHandle> {
    const CALL: &str = "bincount";
    if !matches!(values.dtype, ElemType::Int(_) | ElemType::UInt(_)) {
        return Err(element(CALL, values, "an integer type"));
    }
    let of = Bins {
        binning: Binning::Value,
        count: bins,
        range: [0.0, 0.0],
    };
    run(CALL, client, values, weights, of)
}

/// Counts the values in each of `bins` equal parts of the range from `low` to `high`, both of which are in it; with weights, the
/// sum of those.
///
/// `values` are f16, bf16, f32 or integers of up to 32 bits, of any shape and strides. A value's bin is
/// `(value - low) * (bins / (high - low))`, computed in f32 and cut off to an integer; `high` is in the last one. Values out of
/// the range, and NaN, are in no bin. All else is as of [`bincount`].
///
/// ```
/// use cubecl::{client::Client, prelude::*, std::tensor::TensorHandle};
/// use girih_kernels::{Result, histogram};
///
/// fn counts(client: &Client) -> Result<()> {
///     let handle = client.create_from_slice(f32::as_bytes(&[0.0, 0.4, 0.5, 1.0, 1.1, f32::NAN]));
///     let values = TensorHandle::new_contiguous(vec![6], handle, f32::elem_type_native());
///     let counts = histogram(client, &values, None, 2, [0.0, 1.0])?;
///     let bytes = client.read_one(counts.handle)?;
///     assert_eq!(u32::from_bytes(&bytes), [2, 2]);
///     Ok(())
/// }
/// # #[cfg(feature = "cpu")]
/// # counts(&cubecl::Device::Cpu(Default::default()).client()).unwrap();
/// ```
///
/// # Errors
///
/// As [`bincount`]; [`Error::Size`] of a range that is empty or not finite.
pub fn histogram(
    client: &Client,
    values: &TensorHandle,
    weights: Option<&TensorHandle>,
    bins: usize,
    [low, high]: [f32; 2],
) -> Result<TensorHandle> {
    const CALL: &str = "histogram";
    let wide = matches!(
        values.dtype,
        ElemType::Int(IntKind::I64) | ElemType::UInt(UIntKind::U64)
    );
    let exact = matches!(
        values.dtype,
        ElemType::Float(FloatKind::F16 | FloatKind::BF16 | FloatKind::F32)
            | ElemType::Int(_)
            | ElemType::UInt(_)
    );
    if wide || !exact {
        return Err(element(
            CALL,
            values,
            "f16, bf16, f32 or an integer type of up to 32 bits",
        ));
    }
    if low >= high || !(high - low).is_finite() {
        return Err(Error::Size {
            call: CALL,
            argument: "the ranges that are empty or not finite",
            given: 1,
            allowed: 0,
        });
    }
    let of = Bins {
        binning: Binning::Range,
        count: bins,
        range: [low, high],
    };
    run(CALL, client, values, weights, of)
}

/// Whether a device counts elements of a type in so many bins: what [`bincount`] refuses beside shapes.
///
/// # Errors
///
/// As [`bincount`].
pub fn supports_bincount(client: &Client, values: ElemType, bins: usize) -> Result<()> {
    const CALL: &str = "bincount";
    if !matches!(values, ElemType::Int(_) | ElemType::UInt(_)) {
        return Err(Error::Element {
            call: CALL,
            argument: "values",
            given: values,
            allowed: "an integer type".into(),
        });
    }
    let device = device::Device::of(client);
    check::element(CALL, &device, values)?;
    adds(&device, CALL, ElemType::UInt(UIntKind::U32), bins).map(|_| ())
}

/// How many bins a cube counts in its shared memory, on a device that adds up the type.
fn adds(device: &device::Device, call: &'static str, sum: ElemType, bins: usize) -> Result<usize> {
    if bins > MOST {
        return Err(Error::Size {
            call,
            argument: "bins",
            given: bins as u64,
            allowed: MOST as u64,
        });
    }
    // CubeCL's WGSL has no addition of floats in shared memory.
    let is_lacking = device.target() == Target::Wgsl && matches!(sum, ElemType::Float(_));
    let private = if bins <= PRIVATE && !is_lacking {
        bins
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

fn element(call: &'static str, values: &TensorHandle, allowed: &str) -> Error {
    Error::Element {
        call,
        argument: "values",
        given: values.dtype,
        allowed: allowed.into(),
    }
}

/// The bins of a histogram.
struct Bins {
    binning: Binning,
    count: usize,
    range: [f32; 2],
}

fn run(
    call: &'static str,
    client: &Client,
    values: &TensorHandle,
    weights: Option<&TensorHandle>,
    bins: Bins,
) -> Result<TensorHandle> {
    let device = device::Device::of(client);
    check::element(call, &device, values.dtype)?;
    check::within(call, "values", values)?;
    let (shape, _) = check::dims(values);
    let float = ElemType::Float(FloatKind::F32);
    if let Some(weights) = weights {
        check::shape(call, "weights", weights, &shape)?;
        check::same_type(call, "weights", weights.dtype, float)?;
        check::within(call, "weights", weights)?;
    }
    let sum = weights.map_or(ElemType::UInt(UIntKind::U32), |_| float);
    let private = adds(&device, call, sum, bins.count)?;
    let zeros = vec![0u32; bins.count.max(1)];
    let out = client.create_from_slice(u32::as_bytes(&zeros));
    let count: usize = shape.iter().product();
    if count > 0 && bins.count > 0 {
        launch(&device, values, weights, &out, &bins, private, sum);
    }
    Ok(TensorHandle::new_contiguous(vec![bins.count], out, sum))
}

fn launch(
    device: &device::Device,
    values: &TensorHandle,
    weights: Option<&TensorHandle>,
    out: &cubecl::server::Handle,
    bins: &Bins,
    private: usize,
    sum: ElemType,
) {
    let client = device.client();
    let dense = |tensor: &TensorHandle| {
        let (shape, strides) = check::dims(tensor);
        match is_contiguous(&shape, &strides) {
            true => tensor.clone(),
            false => into_contiguous(client, tensor.clone().binding(), tensor.dtype),
        }
    };
    let values = dense(values);
    let weights = weights.map(dense);
    let count: usize = values.shape().iter().product();
    let starts = [Some(&values), weights.as_ref()];
    let fits = |width: &usize| {
        let starts_well = |tensor: &TensorHandle| {
            let start = tensor.handle.offset_start.unwrap_or(0) as usize;
            start.is_multiple_of(width * tensor.dtype.size())
        };
        count.is_multiple_of(*width) && starts.into_iter().flatten().all(starts_well)
    };
    let width = device
        .vector_widths(values.dtype.size().max(weights.as_ref().map_or(0, |_| 4)))
        .into_iter()
        .find(fits)
        .unwrap_or(1);
    let hardware = &client.properties().hardware;
    let units = 1 << hardware.max_units_per_cube.clamp(1, 512).ilog2();
    let vectors = count / width;
    // Each cube adds its bins to the output: so many cubes as keep the processors busy, no more.
    let most = match device.target() {
        Target::Cpu => 1,
        _ => 4 * hardware.num_streaming_multiprocessors.unwrap_or(16) as usize,
    };
    let cubes = vectors.div_ceil(units as usize * 8).clamp(1, most);
    let [low, high] = bins.range;
    let counting = Counting {
        binning: bins.binning,
        private,
        is_weighted: weights.is_some(),
        units,
    };
    let wide = if values.dtype.size() == 8 {
        UIntKind::U64
    } else {
        UIntKind::U32
    };
    let weights =
        weights.unwrap_or_else(|| TensorHandle::new_contiguous(vec![4], client.empty(16), sum));
    let weights_len = weights.shape().iter().product::<usize>() / width.min(4);
    // SAFETY: vectors are masked by their number; bins are below that of the output.
    unsafe {
        histogram_kernel::launch_unchecked(
            client,
            CubeCount::new_1d(cubes as u32),
            CubeDim::new_1d(units),
            AddressType::from_len(count.max(bins.count)),
            width,
            BufferArg::from_raw_parts(values.handle.clone(), vectors),
            BufferArg::from_raw_parts(weights.handle.clone(), weights_len.max(1)),
            BufferArg::from_raw_parts(out.clone(), bins.count),
            bins.count as u32,
            low,
            high,
            bins.count as f32 / (high - low),
            counting,
            [values.dtype, sum, ElemType::UInt(wide)],
        );
    }
}
