//! Scans and compactions of Burn's tensors: values on the host and by Burn's Flex backend, gradients by finite differences.

use burn::tensor::{Bool, Device, Int, Tensor, TensorData};
use girih_burn::{
    Determinism, Error, ScanOperation, cummax, cummin, cumprod, cumsum, mask_select, nonzero, scan,
};
use girih_testkit::{Rt, cases};

use super::{
    Host, assert_equals, assert_matches, device, floats, host::finite_differences, ints, total,
};

/// Of sums and products of values up to 16, weighted and squared, in f32.
const TOLERANCE: f64 = 1e-3;

const OPERATIONS: [ScanOperation; 4] = [
    ScanOperation::Sum,
    ScanOperation::Product,
    ScanOperation::Min,
    ScanOperation::Max,
];

cases! {
    scans_along_every_axis,
    scans_views,
    scans_integers,
    is_what_flex_computes,
    gradients_along_every_axis,
    gradients_of_products_with_zeros,
    gradients_of_ties_go_to_the_first,
    selects_and_finds,
    selects_nothing_and_all,
    gradients_of_what_was_selected,
    refuses_bad_arguments,
}

/// A scan on the host.
pub(super) fn scanned(host: &Host, axis: usize, operation: ScanOperation) -> Host {
    let inner: usize = host.shape[axis + 1..].iter().product();
    let extent = host.shape[axis];
    let mut out = host.clone();
    for at in 0..host.values.len() {
        if !(at / inner).is_multiple_of(extent) {
            let (before, value) = (out.values[at - inner], host.values[at]);
            out.values[at] = match operation {
                ScanOperation::Sum => before + value,
                ScanOperation::Product => before * value,
                ScanOperation::Min => before.min(value),
                ScanOperation::Max => before.max(value),
            };
        }
    }
    out
}

/// The whole part, without the sign of a 0, which integers have not.
fn whole(value: f64) -> f64 {
    value.trunc() + 0.0
}

/// Values near 1, so that products of a few are of a size; no two of a row are equal.
fn factors(shape: &[usize], salt: usize) -> Host {
    Host::sample(shape, salt).map(|value| 1.0 + value / 64.0)
}

fn scans_along_every_axis(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    for (axis, shape) in [[9, 3, 5], [3, 9, 5], [3, 5, 9]].iter().enumerate() {
        let host = Host::sample(shape, axis).map(|value| value / 16.0);
        for operation in OPERATIONS {
            let result = scan(
                floats::<3>(&host, &device),
                axis,
                operation,
                Determinism::RunToRun,
            )?;
            assert_matches(result, &scanned(&host, axis, operation), 1e-5);
        }
    }
    Ok(())
}

fn scans_views(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let host = Host::sample(&[10, 12], 1);
    let view = floats::<2>(&host.transpose(), &device).transpose();
    assert_equals(cumsum(view, 1)?, &scanned(&host, 1, ScanOperation::Sum));
    let view = floats::<2>(&host, &device).slice([0..10, 3..12]);
    let part = host.columns_from(3);
    assert_equals(cummax(view, 0)?, &scanned(&part, 0, ScanOperation::Max));
    Ok(())
}

fn scans_integers(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let host = Host::sample(&[7, 40], 2).map(whole);
    let sums = cumsum(ints::<2>(&host, &device), 1)?;
    assert_equals(sums, &scanned(&host, 1, ScanOperation::Sum));
    let least = cummin(ints::<2>(&host, &device), 0)?;
    assert_equals(least, &scanned(&host, 0, ScanOperation::Min));
    Ok(())
}

fn is_what_flex_computes(rt: &Rt) -> Result<(), Error> {
    let (flex, device) = (Device::flex(), device(rt));
    let host = factors(&[6, 30], 3);
    let on_flex = |tensor: Tensor<2>| Host {
        shape: vec![6, 30],
        values: tensor.into_data().try_to_vec_as().expect("on the host"),
    };
    let of_flex = || floats::<2>(&host, &flex);
    let ours = || floats::<2>(&host, &device);
    assert_matches(cumsum(ours(), 1)?, &on_flex(of_flex().cumsum(1)), 1e-5);
    assert_matches(cumprod(ours(), 1)?, &on_flex(of_flex().cumprod(1)), 1e-5);
    assert_matches(cummin(ours(), 0)?, &on_flex(of_flex().cummin(0)), 0.0);
    assert_matches(cummax(ours(), 0)?, &on_flex(of_flex().cummax(0)), 0.0);
    Ok(())
}

/// Checks the gradient of a weighted sum of squares of a scan against the host's.
fn gradient<const D: usize>(
    rt: &Rt,
    host: &Host,
    axis: usize,
    operation: ScanOperation,
) -> Result<(), Error> {
    let device = device(rt).autodiff();
    let weights = Host::sample(&host.shape, 21).map(|value| value / 16.0);
    let leaf = floats::<D>(host, &device).require_grad();
    let result = scan(leaf.clone(), axis, operation, Determinism::Any)?;
    let loss = total((result + 1.0).powi_scalar(2) * floats::<D>(&weights, &device));
    let gradients = loss.backward();
    let want = finite_differences(host, |host| {
        scanned(host, axis, operation)
            .zip(&weights, |value, weight| weight * (value + 1.0).powi(2))
            .sum()
    });
    assert_matches(leaf.grad(&gradients).expect("a leaf"), &want, TOLERANCE);
    Ok(())
}

fn gradients_along_every_axis(rt: &Rt) -> Result<(), Error> {
    for (axis, shape) in [[6, 2, 3], [2, 6, 3], [2, 3, 6]].into_iter().enumerate() {
        for operation in OPERATIONS {
            gradient::<3>(rt, &factors(&shape, 20), axis, operation)?;
        }
    }
    Ok(())
}

fn gradients_of_products_with_zeros(rt: &Rt) -> Result<(), Error> {
    let mut host = factors(&[4, 6], 22);
    // A row with one 0, one with two, one that begins with it, and one without.
    for at in [2, 6 + 1, 6 + 4, 12] {
        host.values[at] = 0.0;
    }
    gradient::<2>(rt, &host, 1, ScanOperation::Product)
}

fn gradients_of_ties_go_to_the_first(rt: &Rt) -> Result<(), Error> {
    let device = device(rt).autodiff();
    let leaf = Tensor::<1>::from_floats([1.0, 3.0, 3.0, 2.0, 3.0, 4.0], &device).require_grad();
    let gradients = total(cummax(leaf.clone(), 0)?).backward();
    let want = Host {
        shape: vec![6],
        values: vec![1.0, 4.0, 0.0, 0.0, 0.0, 1.0],
    };
    assert_matches(leaf.grad(&gradients).expect("a leaf"), &want, 1e-5);
    Ok(())
}

/// A mask on a device.
fn mask<const D: usize>(flags: &[bool], shape: [usize; D], device: &Device) -> Tensor<D, Bool> {
    Tensor::from_data(TensorData::new(flags.to_vec(), shape), device)
}

fn pattern(count: usize) -> Vec<bool> {
    (0..count).map(|at| at * at % 7 < 3).collect()
}

fn selects_and_finds(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let (shape, flags) = ([30, 50], pattern(1500));
    let host = Host::sample(&shape, 4);
    let kept: Vec<usize> = (0..1500).filter(|&at| flags[at]).collect();
    let want = Host {
        shape: vec![kept.len()],
        values: kept.iter().map(|&at| host.values[at]).collect(),
    };
    let selected = mask_select(floats::<2>(&host, &device), mask(&flags, shape, &device))?;
    assert_equals(selected, &want);
    let integers = host.map(whole);
    let selected = mask_select(ints::<2>(&integers, &device), mask(&flags, shape, &device))?;
    assert_equals(selected, &want.map(whole));
    let places: Tensor<2, Int> = nonzero(mask(&flags, shape, &device))?;
    let coordinates = kept.iter().flat_map(|&at| [at / 50, at % 50]);
    let want = Host {
        shape: vec![kept.len(), 2],
        values: coordinates.map(|index| index as f64).collect(),
    };
    assert_equals(places, &want);
    Ok(())
}

fn selects_nothing_and_all(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let host = Host::sample(&[5, 4], 5);
    let none = mask_select(
        floats::<2>(&host, &device),
        mask(&[false; 20], [5, 4], &device),
    )?;
    assert_eq!(none.dims(), [0]);
    let all = mask_select(
        floats::<2>(&host, &device),
        mask(&[true; 20], [5, 4], &device),
    )?;
    let want = Host {
        shape: vec![20],
        values: host.values,
    };
    assert_equals(all, &want);
    assert_eq!(nonzero(mask(&[false; 20], [5, 4], &device))?.dims(), [0, 2]);
    Ok(())
}

fn gradients_of_what_was_selected(rt: &Rt) -> Result<(), Error> {
    let device = device(rt).autodiff();
    let (shape, flags) = ([6, 10], pattern(60));
    let host = Host::sample(&shape, 6);
    let leaf = floats::<2>(&host, &device).require_grad();
    let selected = mask_select(leaf.clone(), mask(&flags, shape, &device))?;
    let gradients = total(selected.powi_scalar(2)).backward();
    let mut want = host.map(|value| 2.0 * value);
    for (value, kept) in want.values.iter_mut().zip(&flags) {
        *value *= f64::from(u8::from(*kept));
    }
    assert_matches(leaf.grad(&gradients).expect("a leaf"), &want, TOLERANCE);
    Ok(())
}

fn refuses_bad_arguments(rt: &Rt) {
    let device = device(rt);
    let host = Host::sample(&[5, 4], 7);
    let tensor = || floats::<2>(&host, &device);
    let refused = cumsum(tensor(), 2).expect_err("an axis").to_string();
    assert_eq!(
        refused,
        "axis 2 of tensor, which has rank 2; scan needs an axis in 0..2"
    );
    let refused = mask_select(tensor(), mask(&[true; 20], [4, 5], &device))
        .expect_err("a shape")
        .to_string();
    assert_eq!(refused, "mask has shape [4, 5]; mask_select needs [5, 4]");
}
