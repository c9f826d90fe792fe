//! The ops on CubeCL's tensors: girih's launchers.

use burn::backend::cubecl::dtype_to_storage_type;
use burn::tensor::DType;
use burn_cubecl::{CubeBackend, CubeDevice, tensor::CubeTensor};
use cubecl::{client::Client, std::tensor::TensorHandle};
use girih_kernels::{
    Side, SortOptions, argsort, bincount, search_sorted, sort, sort_with_indices, top_k,
};

use super::{COUNT, SortBackend, index_of};
use crate::cube::{handle, unchecked_call};

impl SortBackend for CubeBackend {
    fn sort_alone_float(tensor: CubeTensor, axis: usize, descending: bool) -> CubeTensor {
        alone(tensor, axis, descending)
    }

    fn sort_alone_int(tensor: CubeTensor, axis: usize, descending: bool) -> CubeTensor {
        alone(tensor, axis, descending)
    }

    fn sort_with_places_float(
        tensor: CubeTensor,
        axis: usize,
        descending: bool,
    ) -> (CubeTensor, CubeTensor) {
        sorted(tensor, axis, descending)
    }

    fn sort_with_places_int(
        tensor: CubeTensor,
        axis: usize,
        descending: bool,
    ) -> (CubeTensor, CubeTensor) {
        sorted(tensor, axis, descending)
    }

    fn places_of_sorted_float(tensor: CubeTensor, axis: usize, descending: bool) -> CubeTensor {
        places(tensor, axis, descending)
    }

    fn places_of_sorted_int(tensor: CubeTensor, axis: usize, descending: bool) -> CubeTensor {
        places(tensor, axis, descending)
    }

    fn top_k_float(
        tensor: CubeTensor,
        axis: usize,
        k: usize,
        largest: bool,
    ) -> (CubeTensor, CubeTensor) {
        selected(tensor, axis, k, largest)
    }

    fn top_k_int(
        tensor: CubeTensor,
        axis: usize,
        k: usize,
        largest: bool,
    ) -> (CubeTensor, CubeTensor) {
        selected(tensor, axis, k, largest)
    }

    fn bincount_int(values: CubeTensor, bins: usize) -> CubeTensor {
        let out = Out::of(&values);
        let counts = bincount(&out.client, &handle(values), None, bins);
        out.tensor(counts.unwrap_or_else(unchecked_call), COUNT)
    }

    fn search_sorted_float(sorted: CubeTensor, values: CubeTensor, side: Side) -> CubeTensor {
        found(sorted, values, side)
    }

    fn search_sorted_int(sorted: CubeTensor, values: CubeTensor, side: Side) -> CubeTensor {
        found(sorted, values, side)
    }
}

fn options(descending: bool) -> SortOptions {
    SortOptions {
        descending,
        ..SortOptions::default()
    }
}

fn alone(tensor: CubeTensor, axis: usize, descending: bool) -> CubeTensor {
    let (out, dtype) = (Out::of(&tensor), tensor.dtype);
    let sorted = sort(&out.client, &handle(tensor), axis, &options(descending));
    out.tensor(sorted.unwrap_or_else(unchecked_call), dtype)
}

fn sorted(tensor: CubeTensor, axis: usize, descending: bool) -> (CubeTensor, CubeTensor) {
    let out = Out::of(&tensor);
    let (dtype, index) = (tensor.dtype, index_of(tensor.meta.shape()[axis]));
    let (keys, element) = (handle(tensor), dtype_to_storage_type(index));
    let sorted = sort_with_indices(&out.client, &keys, axis, element, &options(descending));
    let (keys, places) = sorted.unwrap_or_else(unchecked_call);
    (out.tensor(keys, dtype), out.tensor(places, index))
}

fn places(tensor: CubeTensor, axis: usize, descending: bool) -> CubeTensor {
    let out = Out::of(&tensor);
    let index = index_of(tensor.meta.shape()[axis]);
    let (keys, element) = (handle(tensor), dtype_to_storage_type(index));
    let places = argsort(&out.client, &keys, axis, element, &options(descending));
    out.tensor(places.unwrap_or_else(unchecked_call), index)
}

fn selected(tensor: CubeTensor, axis: usize, k: usize, largest: bool) -> (CubeTensor, CubeTensor) {
    let out = Out::of(&tensor);
    let (dtype, index) = (tensor.dtype, index_of(tensor.meta.shape()[axis]));
    let (keys, element) = (handle(tensor), dtype_to_storage_type(index));
    let selected = top_k(&out.client, &keys, axis, k, largest, element);
    let (keys, places) = selected.unwrap_or_else(unchecked_call);
    (out.tensor(keys, dtype), out.tensor(places, index))
}

fn found(sorted: CubeTensor, values: CubeTensor, side: Side) -> CubeTensor {
    let out = Out::of(&sorted);
    let shape = sorted.meta.shape();
    let index = index_of(shape[shape.num_dims() - 1]);
    let element = dtype_to_storage_type(index);
    let places = search_sorted(&out.client, &handle(sorted), &handle(values), side, element);
    out.tensor(places.unwrap_or_else(unchecked_call), index)
}

/// Where an op's results are.
struct Out {
    client: Client,
    device: CubeDevice,
}

impl Out {
    fn of(tensor: &CubeTensor) -> Self {
        Self {
            client: tensor.client.clone(),
            device: tensor.device.clone(),
        }
    }

    fn tensor(&self, values: TensorHandle, dtype: DType) -> CubeTensor {
        let (client, device) = (self.client.clone(), self.device.clone());
        CubeTensor::new(client, values.handle, *values.metadata, device, dtype)
    }
}
