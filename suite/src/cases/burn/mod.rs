//! girih-burn's ops on each device, against values and gradients that the host computes.

mod against;
mod bags;
mod below;
mod counts;
mod edges;
mod embeddings;
mod forward;
mod fusion;
mod gradients;
mod host;
mod lookups;
mod matmul;
mod misuse;
mod moe;
mod nothing;
mod readme;
mod refusals;
mod report;
mod scans;
mod scatters;
mod segments;
mod sort;
mod sparse;

use burn::tensor::{Device, Int, Tensor, TensorData, kind::Basic};
use girih_testkit::{Rt, case::Case};

use host::Host;

/// Every case of this subject.
pub fn cases() -> Vec<Case> {
    [
        against::cases(),
        bags::cases(),
        below::cases(),
        counts::cases(),
        edges::cases(),
        edges::few::cases(),
        edges::nan::cases(),
        edges::strided::cases(),
        embeddings::cases(),
        forward::cases(),
        fusion::cases(),
        gradients::cases(),
        matmul::cases(),
        misuse::cases(),
        moe::cases(),
        lookups::cases(),
        nothing::cases(),
        readme::cases(),
        refusals::cases(),
        report::cases(),
        scans::cases(),
        scatters::cases(),
        segments::cases(),
        sort::cases(),
        sparse::cases(),
    ]
    .concat()
}

/// The device by Burn's name.
fn device(rt: &Rt) -> Device {
    Device::new(rt.device.clone())
}

/// Host values on a device.
fn floats<const D: usize>(host: &Host, device: &Device) -> Tensor<D> {
    let values: Vec<f32> = host.values.iter().map(|&value| value as f32).collect();
    Tensor::from_data(TensorData::new(values, host.shape.clone()), device)
}

/// Host values on a device, as integers.
fn ints<const D: usize>(host: &Host, device: &Device) -> Tensor<D, Int> {
    let values: Vec<i32> = host.values.iter().map(|&value| value as i32).collect();
    Tensor::from_data(TensorData::new(values, host.shape.clone()), device)
}

/// Indices on a device, in its default integer type.
fn indices(index: &[i64], device: &Device) -> Tensor<1, Int> {
    let values: Vec<i32> = index.iter().map(|&index| index as i32).collect();
    Tensor::from_data(TensorData::new(values, [index.len()]), device)
}

/// The sum of all elements, from their mean: Burn's own `sum` is a kernel on which Mesa 22.3's lavapipe crashes while it
/// compiles the SPIR-V.
fn total<const D: usize>(tensor: Tensor<D>) -> Tensor<1> {
    let count = tensor.shape().num_elements();
    tensor.mean().mul_scalar(count as f32)
}

/// Fails the test unless the tensor has the host's shape and, within `tolerance`, its values.
#[track_caller]
fn assert_matches<const D: usize, K: Basic>(got: Tensor<D, K>, want: &Host, tolerance: f64) {
    assert_eq!(got.dims().to_vec(), want.shape);
    let got = got.try_to_vec_as::<f64>().expect("the tensor is read back");
    girih_testkit::check::assert_close(&got, &want.values, tolerance);
}

/// Fails the test unless the tensor has the host's shape and exactly its values.
#[track_caller]
fn assert_equals<const D: usize, K: Basic>(got: Tensor<D, K>, want: &Host) {
    assert_eq!(got.dims().to_vec(), want.shape);
    let got = got.try_to_vec_as::<f64>().expect("the tensor is read back");
    girih_testkit::check::assert_same(&got, &want.values);
}
