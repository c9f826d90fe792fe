//! The ops of lists against Burn's Flex backend, and their gradients against finite differences.

use burn::tensor::{Bool, Device, Tensor, TensorData, kind::Basic};
use girih_burn::{Error, argsort, argwhere, mask_select, sort, sort_with_indices, top_k};
use girih_testkit::{Rt, cases};

use super::host::finite_differences;
use super::sort::{first_of, model};
use super::{Host, assert_equals, assert_matches, device, floats, total};

/// Of values up to 16, weighted and squared, in f32.
const TOLERANCE: f64 = 1e-3;

cases! {
    orders_are_those_of_flex,
    selections_are_those_of_flex,
    gradients_of_orders_and_selections,
}

/// A tensor read back.
fn read<const D: usize, K: Basic>(tensor: Tensor<D, K>) -> Host {
    Host {
        shape: tensor.dims().to_vec(),
        values: tensor.try_to_vec_as().expect("the tensor is read back"),
    }
}

fn orders_are_those_of_flex(rt: &Rt) -> Result<(), Error> {
    let (flex, device) = (Device::flex(), device(rt));
    // No two elements are equal.
    let host = Host::sample(&[4, 25], 80);
    let (theirs, ours) = (|| floats::<2>(&host, &flex), || floats::<2>(&host, &device));
    for axis in [0, 1] {
        assert_equals(sort(ours(), axis, false)?, &read(theirs().sort(axis)));
        let descending = theirs().argsort_descending(axis);
        assert_equals(argsort(ours(), axis, true)?, &read(descending));
        let (sorted, places) = theirs().sort_with_indices(axis);
        let (values, found) = sort_with_indices(ours(), axis, false)?;
        assert_equals(values, &read(sorted));
        assert_equals(found, &read(places));
        let (largest, places) = theirs().topk_with_indices(3, axis);
        let (values, found) = top_k(ours(), axis, 3, true)?;
        assert_equals(values, &read(largest));
        assert_equals(found, &read(places));
    }
    Ok(())
}

fn flags<const D: usize>(shape: [usize; D], device: &Device) -> Tensor<D, Bool> {
    let flags: Vec<bool> = (0..shape.iter().product()).map(kept).collect();
    Tensor::from_data(TensorData::new(flags, shape), device)
}

/// Whether a selection keeps an element.
pub(super) fn kept(at: usize) -> bool {
    at * at % 7 < 3
}

fn selections_are_those_of_flex(rt: &Rt) -> Result<(), Error> {
    let (flex, device) = (Device::flex(), device(rt));
    let host = Host::sample(&[6, 20], 81);
    let selected = floats::<2>(&host, &flex).mask_select(flags([6, 20], &flex));
    let ours = mask_select(floats::<2>(&host, &device), flags([6, 20], &device))?;
    assert_equals(ours, &read(selected));
    let found = argwhere(flags([6, 20], &device))?;
    assert_equals(found, &read(flags([6, 20], &flex).argwhere()));
    Ok(())
}

/// The loss of a result: `sum(weights * (result + 1)^2)`.
fn host_loss(result: &Host, weights: &Host) -> f64 {
    result
        .zip(weights, |result, weight| weight * (result + 1.0).powi(2))
        .sum()
}

/// Checks the gradient of the loss of an op's result against that of the same on the host.
fn gradient<const D: usize>(
    rt: &Rt,
    host: &Host,
    op: impl Fn(Tensor<2>) -> Result<Tensor<D>, Error>,
    model: impl Fn(&Host) -> Host,
) -> Result<(), Error> {
    let device = device(rt).autodiff();
    let weights = Host::sample(&model(host).shape, 83);
    let leaf = floats::<2>(host, &device).require_grad();
    let result = op(leaf.clone())?;
    let loss = total((result + 1.0).powi_scalar(2) * floats::<D>(&weights, &device));
    let gradients = loss.backward();
    let want = finite_differences(host, |host| host_loss(&model(host), &weights));
    assert_matches(leaf.grad(&gradients).expect("a leaf"), &want, TOLERANCE);
    Ok(())
}

fn gradients_of_orders_and_selections(rt: &Rt) -> Result<(), Error> {
    // Elements are further apart than the differences' steps.
    let host = Host::sample(&[4, 15], 84);
    for axis in [0, 1] {
        for descending in [false, true] {
            let ours = |tensor| sort(tensor, axis, descending);
            gradient(rt, &host, ours, |host| model(host, axis, descending).0)?;
            let ours = |tensor| Ok(sort_with_indices(tensor, axis, descending)?.0);
            gradient(rt, &host, ours, |host| model(host, axis, descending).0)?;
        }
    }
    for largest in [false, true] {
        let ours = |tensor| Ok(top_k(tensor, 1, 4, largest)?.0);
        gradient(rt, &host, ours, |host| {
            first_of(&model(host, 1, largest).0, 4)
        })?;
    }
    let tracked = device(rt).autodiff();
    gradient(
        rt,
        &host,
        |tensor| mask_select(tensor, flags([4, 15], &tracked)),
        |host| {
            let values: Vec<f64> = (0..60)
                .filter(|&at| kept(at))
                .map(|at| host.values[at])
                .collect();
            Host {
                shape: vec![values.len()],
                values,
            }
        },
    )
}
