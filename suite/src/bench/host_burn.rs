//! girih's ops on Burn's tensors, and Burn's own, under load.

use burn::tensor::{Device, Int, Tensor};
use girih_bench::host::{Call, POLICIES};
use girih_burn::{Bounds, gather, scatter_sum};
use girih_testkit::Rt;

/// Rows of tiny tensors, and elements of a row.
const TINY: [usize; 2] = [16, 16];

/// Calls on tiny tensors: girih's ops with and without autodiff, and Burn's `select` to hold them against.
pub fn calls(rt: &Rt) -> Vec<Call<'_>> {
    let device = Device::new(rt.device.clone());
    let mut calls = vec![];
    for bounds in POLICIES {
        calls.push(gathers("burn", &device, bounds));
    }
    let tracked = device.clone().autodiff();
    calls.push(gathers("burn autodiff", &tracked, Bounds::Mask));
    let (updates, index) = tiny(&device);
    calls.push(Call::new(
        "scatter_sum",
        "burn",
        Some(Bounds::Mask),
        move || {
            let (updates, index) = (updates.clone(), index.clone());
            scatter_sum(updates, 0, index, TINY[0], Bounds::Mask)
                .map(drop)
                .map_err(|error| error.to_string())
        },
    ));
    let (table, index) = tiny(&device);
    calls.push(Call::new("select", "burn's own", None, move || {
        drop(table.clone().select(0, index.clone()));
        Ok(())
    }));
    calls
}

fn tiny(device: &Device) -> (Tensor<2>, Tensor<1, Int>) {
    (
        Tensor::zeros(TINY, device),
        Tensor::zeros([TINY[0]], device),
    )
}

/// girih's gather.
fn gathers<'a>(way: &'static str, device: &Device, bounds: Bounds) -> Call<'a> {
    let (table, index) = tiny(device);
    let table = match device.is_autodiff() {
        true => table.require_grad(),
        false => table,
    };
    Call::new("gather", way, Some(bounds), move || {
        gather(table.clone(), 0, index.clone(), bounds)
            .map(drop)
            .map_err(|error| error.to_string())
    })
}
