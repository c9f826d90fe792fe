//! The ops on views, and on integers.

use girih_burn::{
    Bounds, Error, ScanOperation, Scatter, Side, argsort, bincount, cummax, cumprod, histogram,
    mask_select, nonzero, scatter_sum, search_sorted, sort, sort_with_indices, sum_along_axis,
    top_k, weighted_bincount, weighted_histogram,
};
use girih_testkit::{Rt, cases, needs};

use super::super::scans::scanned;
use super::super::sort::{first_of, model};
use super::super::{Host, assert_equals, device, floats, indices, ints};
use super::{mask, places, summed, vector, whole};

cases! {
    orders_of_views,
    counts_of_views needs [needs::ADD_F32],
    sums_of_views,
    scans_and_orders_of_integers,
}

fn orders_of_views(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let host = Host::sample(&[6, 20], 14);
    let view = || floats::<2>(&host.transpose(), &device).transpose();
    for axis in [0, 1] {
        let (sorted, places) = model(&host, axis, false);
        assert_equals(sort(view(), axis, false)?, &sorted);
        assert_equals(argsort(view(), axis, false)?, &places);
        let (values, found) = sort_with_indices(view(), axis, false)?;
        assert_equals(values, &sorted);
        assert_equals(found, &places);
    }
    let (sorted, places) = model(&host, 1, false);
    let (values, found) = top_k(view(), 1, 3, false)?;
    assert_equals(values, &first_of(&sorted, 3));
    assert_equals(found, &first_of(&places, 3));
    let wanted = Host::sample(&[6, 5], 15);
    let row_of = |at: usize| &sorted.values[at / 5 * 20..][..20];
    let place = |at: usize| row_of(at).partition_point(|element| *element < wanted.values[at]);
    let want = Host {
        shape: vec![6, 5],
        values: (0..30).map(|at| place(at) as f64).collect(),
    };
    let rows = floats::<2>(&sorted.transpose(), &device).transpose();
    let values = floats::<2>(&wanted.transpose(), &device).transpose();
    assert_equals(search_sorted(rows, values, Side::Left)?, &want);
    let part = Host::sample(&[6, 20], 14).columns_from(7);
    let view = floats::<2>(&host, &device).slice([0..6, 7..20]);
    assert_equals(sort(view, 1, true)?, &model(&part, 1, true).0);
    Ok(())
}

fn counts_of_views(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let (host, weights) = (whole(&[8, 15], 16), Host::sample(&[8, 15], 17));
    let turned = |host: &Host| floats::<2>(&host.transpose(), &device).transpose();
    let numbers = || ints::<2>(&host.transpose(), &device).transpose();
    let sums = |weight: &dyn Fn(usize) -> f64| {
        let mut sums = Host::zeros(&[10]);
        for (at, &value) in host.values.iter().enumerate() {
            if (0.0..10.0).contains(&value) {
                sums.values[value as usize] += weight(at);
            }
        }
        sums
    };
    let (ones, weighed) = (sums(&|_| 1.0), sums(&|at| weights.values[at]));
    assert_equals(bincount(numbers(), 10)?, &ones);
    // Numbers are at the lower ends of bins, so that 10 itself is in none but the last's upper end.
    let below = host.map(|value| if value == 10.0 { -1.0 } else { value });
    let counts = histogram(turned(&below), 10, [0.0, 10.0])?;
    assert_equals(counts, &ones);
    assert_equals(
        weighted_bincount(numbers(), turned(&weights), 10)?,
        &weighed,
    );
    let found = weighted_histogram(turned(&below), turned(&weights), 10, [0.0, 10.0])?;
    assert_equals(found, &weighed);

    let flags: Vec<bool> = host.values.iter().map(|value| *value > 2.0).collect();
    let across: Vec<bool> = (0..120).map(|at| flags[at % 8 * 15 + at / 8]).collect();
    let turned_mask = || mask(&across, [15, 8], &device).transpose();
    let kept: Vec<usize> = (0..120).filter(|&at| flags[at]).collect();
    let want: Vec<f64> = kept.iter().map(|&at| weights.values[at]).collect();
    assert_equals(
        mask_select(turned(&weights), turned_mask())?,
        &vector(&want),
    );
    let coordinates = kept.iter().flat_map(|at| [at / 15, at % 15]);
    let want = Host {
        shape: vec![kept.len(), 2],
        values: coordinates.map(|place| place as f64).collect(),
    };
    assert_equals(nonzero(turned_mask())?, &want);
    Ok(())
}

fn sums_of_views(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let (updates, by) = (Host::sample(&[6, 9], 18), places([6, 9], 5));
    let given = || floats::<2>(&updates.transpose(), &device).transpose();
    let at = || ints::<2>(&by.transpose(), &device).transpose();
    let sums = sum_along_axis(given(), 1, at(), 5, Bounds::Mask)?.into_inner();
    assert_equals(sums, &summed(&updates, &by, 5));
    let index: Vec<i64> = (0..9).map(|at| at * 2 % 5).collect();
    let sums = scatter_sum(given(), 1, indices(&index, &device), 5, Bounds::Mask)?.into_inner();
    let zeros = Host::zeros(&[6, 5]);
    let want = zeros.scatter(1, &index, &updates, Scatter::Add, Bounds::Mask);
    assert_equals(sums, &want);
    let whole = updates.map(|value| value * 4.0);
    let sums = sum_along_axis(
        ints::<2>(&whole.transpose(), &device).transpose(),
        1,
        at(),
        5,
        Bounds::Mask,
    )?;
    assert_equals(sums.into_inner(), &summed(&whole, &by, 5));
    Ok(())
}

fn scans_and_orders_of_integers(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let host = whole(&[5, 30], 19);
    let on = || ints::<2>(&host, &device);
    // Products that fit: of 1, -1 and 2.
    let factors = host.map(|value| [1.0, -1.0, 2.0, 1.0][value.abs() as usize % 4]);
    let products = cumprod(ints::<2>(&factors, &device), 0)?;
    assert_equals(products, &scanned(&factors, 0, ScanOperation::Product));
    let largest = cummax(on(), 1)?;
    assert_equals(largest, &scanned(&host, 1, ScanOperation::Max));
    let (sorted, places) = model(&host, 1, true);
    assert_equals(argsort(on(), 1, true)?, &places);
    let (values, found) = top_k(on(), 1, 6, true)?;
    assert_equals(values, &first_of(&sorted, 6));
    assert_equals(found, &first_of(&places, 6));
    let (sorted, _) = model(&host, 1, false);
    let values = whole(&[5, 4], 20);
    for side in [Side::Left, Side::Right] {
        let place = |at: usize| {
            let row = &sorted.values[at / 4 * 30..][..30];
            row.partition_point(|element| match side {
                Side::Left => *element < values.values[at],
                Side::Right => *element <= values.values[at],
            })
        };
        let want = Host {
            shape: vec![5, 4],
            values: (0..20).map(|at| place(at) as f64).collect(),
        };
        let found = search_sorted(
            ints::<2>(&sorted, &device),
            ints::<2>(&values, &device),
            side,
        )?;
        assert_equals(found, &want);
    }
    Ok(())
}
