//! The ops on NaN.

use burn::tensor::Tensor;
use girih_burn::{
    Bounds, Error, ScanOperation, Scatter, Side, argsort, cummax, cummin, cumprod, cumsum, gather,
    histogram, mask_select, scatter, search_sorted, sort, sum_along_axis, take_along_axis, top_k,
    unique_all,
};
use girih_testkit::{Rt, cases};

use super::super::scans::scanned;
use super::super::sort::{first_of, model};
use super::super::{Host, assert_equals, assert_matches, device, floats, indices, total};
use super::{mask, vector};

cases! {
    scans_keep_nan,
    sorts_put_nan_last,
    searches_among_nan,
    lists_with_nan,
    moves_keep_nan,
    gradients_at_nan,
}

const NAN: f64 = f64::NAN;

fn scans_keep_nan(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let mut host = Host::sample(&[1, 5000], 13).map(|value| 1.0 + value / 4096.0);
    host.values[3000] = NAN;
    let on = || floats::<2>(&host, &device);
    let from = |mut want: Host| {
        want.values[3000..].fill(NAN);
        want
    };
    use ScanOperation::{Max, Min};
    assert_equals(cummin(on(), 1)?, &from(scanned(&host, 1, Min)));
    assert_equals(cummax(on(), 1)?, &from(scanned(&host, 1, Max)));
    // Sums of multiples of 1/4 are exact.
    let mut quarters = Host::sample(&[1, 5000], 13);
    quarters.values[3000] = NAN;
    let sums = cumsum(floats::<2>(&quarters, &device), 1)?;
    assert_equals(sums, &from(scanned(&quarters, 1, ScanOperation::Sum)));
    let products = cumprod(on(), 1)?.try_to_vec_as::<f64>().expect("read");
    assert!(products[..3000].iter().all(|product| product.is_finite()));
    assert!(products[3000..].iter().all(|product| product.is_nan()));
    Ok(())
}

/// Every kind of float, out of order.
fn mixed() -> Host {
    vector(&[
        NAN,
        1.0,
        f64::INFINITY,
        0.0,
        -0.0,
        NAN,
        f64::NEG_INFINITY,
        -2.5,
        0.0,
        1.0,
    ])
}

fn sorts_put_nan_last(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let host = mixed();
    for descending in [false, true] {
        let (sorted, places) = model(&host, 0, descending);
        let on = || floats::<1>(&host, &device);
        assert_equals(sort(on(), 0, descending)?, &sorted);
        assert_equals(argsort(on(), 0, descending)?, &places);
        let (values, found) = top_k(on(), 0, 4, descending)?;
        assert_equals(values, &first_of(&sorted, 4));
        assert_equals(found, &first_of(&places, 4));
    }
    Ok(())
}

fn searches_among_nan(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let (sorted, _) = model(&mixed(), 0, false);
    let values = vector(&[NAN, 0.0, -0.0, 2.0, f64::NEG_INFINITY, f64::INFINITY, -3.0]);
    for side in [Side::Left, Side::Right] {
        let place = |value: &f64| {
            let before = sorted
                .values
                .iter()
                .filter(|element| match side {
                    Side::Left => element.total_cmp(value).is_lt(),
                    Side::Right => element.total_cmp(value).is_le(),
                })
                .count();
            before as f64
        };
        let want: Vec<f64> = values.values.iter().map(place).collect();
        let found = search_sorted(
            floats::<1>(&sorted, &device),
            floats::<1>(&values, &device),
            side,
        )?;
        assert_equals(found, &vector(&want));
    }
    Ok(())
}

fn lists_with_nan(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let host = vector(&[NAN, 1.0, 2.0, NAN, 1.0, -3.0]);
    let found = unique_all(floats::<1>(&host, &device))?;
    assert_equals(found.values, &vector(&[-3.0, 1.0, 2.0, NAN, NAN]));
    assert_equals(found.counts, &vector(&[1.0, 2.0, 1.0, 1.0, 1.0]));
    let inverse = found.inverse.try_to_vec_as::<i64>().expect("read");
    assert_eq!((&inverse[1..3], &inverse[4..]), (&[1, 2][..], &[1, 0][..]));
    let mut of_nan = [inverse[0], inverse[3]];
    of_nan.sort_unstable();
    assert_eq!(of_nan, [3, 4]);
    let counts = histogram(floats::<1>(&host, &device), 2, [0.0, 2.0])?;
    assert_equals(counts, &vector(&[0.0, 3.0]));
    let flags = [true, false, true, true, false, false];
    let kept = mask_select(floats::<1>(&host, &device), mask(&flags, [6], &device))?;
    assert_equals(kept, &vector(&[NAN, 2.0, NAN]));
    Ok(())
}

fn moves_keep_nan(rt: &Rt) -> Result<(), Error> {
    const MASK: Bounds = Bounds::Mask;
    let device = device(rt);
    let host = vector(&[NAN, 1.0, f64::INFINITY]);
    let on = || floats::<1>(&host, &device);
    let index = |index: &[i64]| indices(index, &device);
    let rows = gather(on(), 0, index(&[2, 0]), MASK)?.into_inner();
    assert_equals(rows, &vector(&[f64::INFINITY, NAN]));
    let rows = take_along_axis(on(), 0, index(&[0, 1]), MASK)?.into_inner();
    assert_equals(rows, &vector(&[NAN, 1.0]));
    let sums = sum_along_axis(on(), 0, index(&[0, 0, 1]), 2, MASK)?.into_inner();
    assert_equals(sums, &vector(&[NAN, f64::INFINITY]));
    let target = || Tensor::<1>::from_floats([5.0, 6.0], &device);
    let into = |mode| {
        Ok::<_, Error>(scatter(target(), 0, index(&[1, 1, 0]), on(), mode, MASK)?.into_inner())
    };
    assert_equals(into(Scatter::Add)?, &vector(&[f64::INFINITY, NAN]));
    // A NaN yields to a number.
    assert_equals(into(Scatter::Min)?, &vector(&[5.0, 1.0]));
    assert_equals(into(Scatter::Max)?, &vector(&[f64::INFINITY, 6.0]));
    Ok(())
}

fn gradients_at_nan(rt: &Rt) -> Result<(), Error> {
    let device = device(rt).autodiff();
    let host = vector(&[1.0, 0.5, NAN, 3.0, NAN]);
    let weights = vector(&[1.0, 2.0, 4.0, 8.0, 16.0]);
    let gradient = |op: &dyn Fn(Tensor<1>) -> Result<Tensor<1>, Error>| {
        let leaf = floats::<1>(&host, &device).require_grad();
        let loss = total(op(leaf.clone())? * floats::<1>(&weights, &device));
        Ok::<_, Error>(leaf.grad(&loss.backward()).expect("a leaf"))
    };
    // What follows a NaN is its.
    let largest = gradient(&|tensor| cummax(tensor, 0))?;
    assert_matches(largest, &vector(&[3.0, 0.0, 28.0, 0.0, 0.0]), 1e-5);
    let sums = gradient(&|tensor| cumsum(tensor, 0))?;
    assert_matches(sums, &vector(&[31.0, 30.0, 28.0, 24.0, 16.0]), 1e-5);
    // In order: the second, the first, the fourth, the third, the fifth.
    let sorted = gradient(&|tensor| sort(tensor, 0, false))?;
    assert_matches(sorted, &vector(&[2.0, 1.0, 8.0, 4.0, 16.0]), 1e-5);
    Ok(())
}
