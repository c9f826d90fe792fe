//! The ops on CubeCL's tensors: girih's launcher.

use burn::backend::cubecl::dtype_to_storage_type;
use burn_cubecl::{CubeBackend, tensor::CubeTensor};
use girih_kernels::{CompactOptions, UniqueOptions, unique};

use super::UniqueBackend;
use crate::cube::{Place, handle, unchecked_call};
use crate::scan::{place_dtype, with_count};

impl UniqueBackend for CubeBackend {
    fn unique_float(tensor: CubeTensor) -> (CubeTensor, CubeTensor) {
        values(tensor)
    }

    fn unique_int(tensor: CubeTensor) -> (CubeTensor, CubeTensor) {
        values(tensor)
    }

    fn unique_all_float(tensor: CubeTensor) -> (CubeTensor, CubeTensor, CubeTensor, CubeTensor) {
        all(tensor)
    }

    fn unique_all_int(tensor: CubeTensor) -> (CubeTensor, CubeTensor, CubeTensor, CubeTensor) {
        all(tensor)
    }
}

fn values(tensor: CubeTensor) -> (CubeTensor, CubeTensor) {
    let out = Place::of(&tensor);
    let (dtype, elements) = (tensor.dtype, tensor.meta.shape().num_elements());
    let found = unique(&out.client, &handle(tensor), UniqueOptions::default());
    let found = found.unwrap_or_else(unchecked_call);
    with_count(out, found.values, dtype, elements)
}

fn all(tensor: CubeTensor) -> (CubeTensor, CubeTensor, CubeTensor, CubeTensor) {
    let out = Place::of(&tensor);
    let (dtype, elements) = (tensor.dtype, tensor.meta.shape().num_elements());
    let index = place_dtype(elements);
    let options = UniqueOptions {
        counts: true,
        inverse: true,
        compact: CompactOptions::default().index(dtype_to_storage_type(index)),
        ..UniqueOptions::default()
    };
    let found = unique(&out.client, &handle(tensor), options).unwrap_or_else(unchecked_call);
    let places = out.clone().of_type(index);
    let counts = found.counts.expect("counts were asked for");
    let counts = places.clone().tensor(counts.room().clone());
    let inverse = places.tensor(found.inverse.expect("an inverse was asked for"));
    let (values, count) = with_count(out, found.values, dtype, elements);
    (values, counts, inverse, count)
}
