//! Calls that are refused, each by name and before anything is launched.

use burn::tensor::{DType, Device, Int, Tensor};
use girih_burn::{Bounds, Error, Scatter, gather, scatter, scatter_sum};
use girih_testkit::{DeviceKind, Rt, case::Need, cases, needs};

use super::{Host, device, floats, indices};

/// bf16 that CubeCL claims and girih knows to be broken.
const BROKEN_BF16: Need = Need {
    what: "broken bf16",
    met: |rt| rt.kind == DeviceKind::Cpu,
};

cases! {
    an_axis_past_the_rank,
    updates_of_another_shape,
    updates_of_another_type needs [needs::F16],
    an_index_of_another_length,
    a_tensor_on_another_device,
    a_device_without_cubecl,
    bf16_where_it_is_broken needs [BROKEN_BF16],
}

fn table(device: &Device) -> Tensor<2> {
    floats(&Host::sample(&[10, 4], 70), device)
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, Error>, message: &str) {
    let error = result.expect_err("the call is refused").to_string();
    assert!(
        error.contains(message),
        "`{error}` does not say `{message}`"
    );
}

fn an_axis_past_the_rank(rt: &Rt) {
    let device = device(rt);
    let index = || indices(&[0, 1], &device);
    let message = |argument| format!("axis 2 of {argument}, which has rank 2");
    refused(
        gather(table(&device), 2, index(), Bounds::Mask),
        &message("table"),
    );
    let updates = table(&device);
    let result = scatter(
        table(&device),
        2,
        index(),
        updates.clone(),
        Scatter::Add,
        Bounds::Mask,
    );
    refused(result, &message("target"));
    refused(
        scatter_sum(updates, 2, index(), 3, Bounds::Mask),
        &message("updates"),
    );
}

fn updates_of_another_shape(rt: &Rt) {
    let device = device(rt);
    let updates = floats::<2>(&Host::sample(&[2, 5], 71), &device);
    let index = indices(&[0, 1], &device);
    let result = scatter(
        table(&device),
        0,
        index,
        updates,
        Scatter::Set,
        Bounds::Mask,
    );
    refused(result, "updates has shape [2, 5]; scatter needs [2, 4]");
}

fn updates_of_another_type(rt: &Rt) {
    let device = device(rt);
    let updates = floats::<2>(&Host::sample(&[2, 4], 72), &device).cast(DType::F16);
    let index = indices(&[0, 1], &device);
    let result = scatter(
        table(&device),
        0,
        index,
        updates,
        Scatter::Set,
        Bounds::Mask,
    );
    refused(
        result,
        "updates has elements of type f16; scatter needs f32, as target has",
    );
}

fn an_index_of_another_length(rt: &Rt) {
    let device = device(rt);
    let index = indices(&[0, 1, 2], &device);
    let result = scatter_sum(table(&device), 0, index, 5, Bounds::Mask);
    refused(
        result,
        "updates has shape [10, 4]; scatter_sum needs [3, 4]",
    );
}

fn a_tensor_on_another_device(rt: &Rt) {
    let (device, flex) = (device(rt), Device::flex());
    let elsewhere: Tensor<1, Int> = indices(&[0, 1], &flex);
    let result = gather(table(&device), 0, elsewhere, Bounds::Mask);
    refused(result, "index is on Device<Flex");
    let updates = floats::<2>(&Host::sample(&[2, 4], 73), &flex);
    let index = indices(&[0, 1], &device);
    let result = scatter(
        table(&device),
        0,
        index,
        updates,
        Scatter::Add,
        Bounds::Mask,
    );
    refused(result, "updates is on Device<Flex");
}

fn a_device_without_cubecl(rt: &Rt) {
    let flex = Device::flex();
    let index = || indices(&[0, 1], &flex);
    let result = gather(table(&flex), 0, index(), Bounds::Mask);
    refused(
        result,
        "gather runs on CubeCL's devices that this build has: ",
    );
    let result = gather(table(&flex.clone().autodiff()), 0, index(), Bounds::Mask);
    refused(result, rt.name());
}

fn bf16_where_it_is_broken(rt: &Rt) {
    let device = device(rt);
    let index = || indices(&[0, 1], &device);
    let half = || Tensor::<2>::empty([10, 4], (&device, DType::BF16));
    refused(
        gather(half(), 0, index(), Bounds::Mask),
        "has no buffers of bf16; gather needs it",
    );
    let updates = Tensor::<2>::empty([2, 4], (&device, DType::BF16));
    let result = scatter(half(), 0, index(), updates, Scatter::Add, Bounds::Mask);
    refused(result, "has no buffers of bf16; scatter needs it");
}
