//! The ops on tensors without elements and of one, on views, on NaN, and along axes that are counted from the end.

pub(super) mod few;
pub(super) mod nan;
pub(super) mod strided;

use burn::tensor::{Bool, Device, Tensor, TensorData};
use girih_burn::{
    Bounds, Error, IndexOps, ScanOperation, Scatter, argsort, cumsum, gather, scatter, scatter_sum,
    sort, sort_with_indices, sum_along_axis, take_along_axis, top_k,
};
use girih_testkit::{Rt, cases};

use super::scans::scanned;
use super::sort::{first_of, model};
use super::{Host, assert_equals, device, floats, indices, ints};

cases! {
    axes_count_from_the_end,
    axes_before_the_first_are_refused,
}
const REPEATED: [i64; 3] = [3, 0, 3];

fn vector(values: &[f64]) -> Host {
    Host {
        shape: vec![values.len()],
        values: values.to_vec(),
    }
}

/// On the device and under autodiff.
fn both(rt: &Rt) -> [Device; 2] {
    let plain = device(rt);
    [plain.clone(), plain.autodiff()]
}

fn mask<const D: usize>(flags: &[bool], shape: [usize; D], device: &Device) -> Tensor<D, Bool> {
    Tensor::from_data(TensorData::new(flags.to_vec(), shape), device)
}

/// Whole numbers of a sample.
fn whole(shape: &[usize], salt: usize) -> Host {
    Host::sample(shape, salt).map(|value| value.trunc() + 0.0)
}

/// Places in rows of so many elements.
fn places(shape: [usize; 2], extent: usize) -> Host {
    let count = shape[0] * shape[1];
    Host {
        shape: shape.to_vec(),
        values: (0..count).map(|at| (at * 7 % extent) as f64).collect(),
    }
}

/// The elements of rows that places name.
fn taken(table: &Host, places: &Host) -> Host {
    let [columns, wanted] = [table.shape[1], places.shape[1]];
    let element =
        |(at, place): (usize, &f64)| table.values[at / wanted * columns + *place as usize];
    Host {
        shape: places.shape.clone(),
        values: places.values.iter().enumerate().map(element).collect(),
    }
}

/// Sums in rows of so many elements at the places.
fn summed(updates: &Host, places: &Host, extent: usize) -> Host {
    let [rows, columns] = updates.shape[..] else {
        panic!("a matrix")
    };
    let mut sums = Host::zeros(&[rows, extent]);
    for (at, (value, place)) in updates.values.iter().zip(&places.values).enumerate() {
        sums.values[at / columns * extent + *place as usize] += value;
    }
    sums
}

fn axes_count_from_the_end(rt: &Rt) -> Result<(), Error> {
    const MASK: Bounds = Bounds::Mask;
    let device = device(rt);
    let (host, updates) = (Host::sample(&[10, 6], 1), Host::sample(&[3, 6], 2));
    let on = || floats::<2>(&host, &device);
    let index = || indices(&REPEATED, &device);
    let added = || floats::<2>(&updates, &device);
    let columns = host.gather(1, &REPEATED, MASK);
    assert_equals(gather(on(), -1, index(), MASK)?.into_inner(), &columns);
    let sums = scatter(on(), -2, index(), added(), Scatter::Add, MASK)?.into_inner();
    let want = host.scatter(0, &REPEATED, &updates, Scatter::Add, MASK);
    assert_equals(sums, &want);
    let sums = scatter_sum(added(), -2, index(), 5, MASK)?.into_inner();
    let zeros = Host::zeros(&[5, 6]);
    let summed_rows = zeros.scatter(0, &REPEATED, &updates, Scatter::Add, MASK);
    assert_equals(sums, &summed_rows);
    assert_equals(on().gather_along(-1, index(), MASK)?.into_inner(), &columns);
    let sums = added()
        .scatter_sum_along(-2, index(), 5, MASK)?
        .into_inner();
    assert_equals(sums, &summed_rows);

    let by = places([10, 4], 6);
    let at = || ints::<2>(&by, &device);
    let found = take_along_axis(on(), -1, at(), MASK)?.into_inner();
    assert_equals(found, &taken(&host, &by));
    let given = Host::sample(&[10, 4], 3);
    let sums = sum_along_axis(floats::<2>(&given, &device), -1, at(), 6, MASK)?.into_inner();
    assert_equals(sums, &summed(&given, &by, 6));

    for axis in [-1, -2] {
        let from_first = (axis + 2) as usize;
        let sums = scanned(&host, from_first, ScanOperation::Sum);
        assert_equals(cumsum(on(), axis)?, &sums);
        let (sorted, places) = model(&host, from_first, true);
        assert_equals(sort(on(), axis, true)?, &sorted);
        assert_equals(argsort(on(), axis, true)?, &places);
        let (values, found) = sort_with_indices(on(), axis, true)?;
        assert_equals(values, &sorted);
        assert_equals(found, &places);
    }
    let (sorted, places) = model(&host, 1, true);
    let (values, found) = top_k(on(), -1, 2, true)?;
    assert_equals(values, &first_of(&sorted, 2));
    assert_equals(found, &first_of(&places, 2));
    Ok(())
}

fn axes_before_the_first_are_refused(rt: &Rt) {
    let device = device(rt);
    let on = || floats::<2>(&Host::sample(&[3, 4], 4), &device);
    let texts = [
        gather(on(), -3, indices(&[0], &device), Bounds::Mask).map(drop),
        cumsum(on(), -3).map(drop),
        argsort(on(), i64::MIN, false).map(drop),
    ]
    .map(|refused| refused.expect_err("refused").to_string());
    let want = [
        "axis is -3; gather needs an axis of table, in -2..2",
        "axis is -3; scan needs an axis of tensor, in -2..2",
        "axis is -9223372036854775808; argsort needs an axis of tensor, in -2..2",
    ];
    assert_eq!(texts, want);
}
