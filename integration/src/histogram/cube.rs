//! The ops on CubeCL's tensors: girih's launchers.

use burn::tensor::DType;
use burn_cubecl::{CubeBackend, tensor::CubeTensor};
use cubecl::std::tensor::TensorHandle;
use girih_kernels::{bincount, bins_of, histogram};

use super::HistogramBackend;
use super::backend::Range;
use crate::cube::{Place, handle, unchecked_call};
use crate::sort::COUNT;

impl HistogramBackend for CubeBackend {
    fn histogram_float(values: CubeTensor, bins: usize, range: Range) -> CubeTensor {
        counted(values, None, bins, range)
    }

    fn histogram_int(values: CubeTensor, bins: usize, range: Range) -> CubeTensor {
        counted(values, None, bins, range)
    }

    fn weigh_float(
        values: CubeTensor,
        weights: CubeTensor,
        bins: usize,
        range: Range,
    ) -> CubeTensor {
        counted(values, Some(weights), bins, range)
    }

    fn weigh_int(values: CubeTensor, weights: CubeTensor, bins: usize, range: Range) -> CubeTensor {
        counted(values, Some(weights), bins, range)
    }

    fn bins_float(values: CubeTensor, bins: usize, range: Range) -> CubeTensor {
        places(values, bins, range)
    }

    fn bins_int(values: CubeTensor, bins: usize, range: Range) -> CubeTensor {
        places(values, bins, range)
    }
}

fn counted(
    values: CubeTensor,
    weights: Option<CubeTensor>,
    bins: usize,
    range: Range,
) -> CubeTensor {
    let out = Place::of(&values);
    let dtype = weights.as_ref().map_or(COUNT, |weights| weights.dtype);
    let (values, weights): (_, Option<TensorHandle>) = (handle(values), weights.map(handle));
    let (client, weights) = (&out.client, weights.as_ref());
    let sums = match range {
        Some(range) => histogram(client, &values, weights, bins, range),
        None => bincount(client, &values, weights, bins),
    };
    let sums = sums.unwrap_or_else(unchecked_call);
    out.of_type(dtype).tensor(sums)
}

fn places(values: CubeTensor, bins: usize, range: Range) -> CubeTensor {
    let out = Place::of(&values);
    let places = bins_of(&out.client, &handle(values), bins, range);
    let places = places.unwrap_or_else(unchecked_call);
    out.of_type(DType::I32).tensor(places)
}
