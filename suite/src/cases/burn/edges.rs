//! The ops on tensors without elements and of one, on views, on NaN, and along axes that are counted from the end.

use burn::tensor::{Bool, Device, Tensor, TensorData};
use girih_burn::{
    Bounds, Error, IndexOps, ScanOperation, Scatter, Side, argsort, bincount, cummax, cummin,
    cumprod, cumsum, gather, histogram, mask_select, nonzero, paged_gather, scatter, scatter_sum,
    search_sorted, sort, sort_with_indices, sum_along_axis, take_along_axis, top_k, unique,
    unique_all, weighted_bincount, weighted_histogram,
};
use girih_testkit::{Rt, cases, needs};

use super::scans::scanned;
use super::sort::{first_of, model};
use super::{Host, assert_equals, assert_matches, device, floats, indices, ints, total};

cases! {
    axes_count_from_the_end,
    axes_before_the_first_are_refused,
    scans_of_nothing_and_of_one,
    sorts_of_nothing_and_of_one,
    lists_of_nothing_and_of_one,
    weights_of_nothing_and_of_one needs [needs::ADD_F32],
    lookups_of_nothing_and_of_one,
    scans_keep_nan,
    sorts_put_nan_last,
    searches_among_nan,
    lists_with_nan,
    moves_keep_nan,
    gradients_at_nan,
    orders_of_views,
    counts_of_views needs [needs::ADD_F32],
    sums_of_views,
    scans_and_orders_of_integers,
}

const NAN: f64 = f64::NAN;
const REPEATED: [i64; 3] = [3, 0, 3];
/// Matrices without elements, and with few.
const SMALL: [[usize; 2]; 6] = [[0, 3], [3, 0], [0, 0], [1, 1], [1, 3], [3, 1]];

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

fn scans_of_nothing_and_of_one(rt: &Rt) -> Result<(), Error> {
    use ScanOperation::{Max, Min, Product, Sum};
    for device in both(rt) {
        for shape in SMALL {
            let (host, numbers) = (Host::sample(&shape, 5), whole(&shape, 6));
            let of_floats = || floats::<2>(&host, &device);
            let of_ints = || ints::<2>(&numbers, &device);
            for axis in [0, 1] {
                let wants = [Sum, Product, Min, Max];
                let floats = wants.map(|operation| scanned(&host, axis, operation));
                let ints = wants.map(|operation| scanned(&numbers, axis, operation));
                assert_equals(cumsum(of_floats(), axis)?, &floats[0]);
                assert_equals(cumprod(of_floats(), axis)?, &floats[1]);
                assert_equals(cummin(of_floats(), axis)?, &floats[2]);
                assert_equals(cummax(of_floats(), axis)?, &floats[3]);
                assert_equals(cumsum(of_ints(), axis)?, &ints[0]);
                assert_equals(cumprod(of_ints(), axis)?, &ints[1].map(|value| value + 0.0));
                assert_equals(cummin(of_ints(), axis)?, &ints[2]);
                assert_equals(cummax(of_ints(), axis)?, &ints[3]);
            }
        }
    }
    Ok(())
}

fn sorts_of_nothing_and_of_one(rt: &Rt) -> Result<(), Error> {
    for device in both(rt) {
        for shape in SMALL {
            let (host, numbers) = (Host::sample(&shape, 7), whole(&shape, 8));
            let on = || floats::<2>(&host, &device);
            for axis in [0, 1] {
                let (sorted, places) = model(&host, axis, false);
                assert_equals(sort(on(), axis, false)?, &sorted);
                assert_equals(argsort(on(), axis, false)?, &places);
                let (values, found) = sort_with_indices(on(), axis, false)?;
                assert_equals(values, &sorted);
                assert_equals(found, &places);
                let (sorted, _) = model(&numbers, axis, true);
                assert_equals(sort(ints::<2>(&numbers, &device), axis, true)?, &sorted);
            }
            for k in [0, shape[1]] {
                let (sorted, places) = model(&host, 1, true);
                let (values, found) = top_k(on(), 1, k, true)?;
                let first = |host: &Host| Host {
                    shape: vec![shape[0], k],
                    values: host.values[..shape[0] * k].to_vec(),
                };
                assert_equals(values, &first(&sorted));
                assert_equals(found, &first(&places));
            }
        }
    }
    Ok(())
}

fn lists_of_nothing_and_of_one(rt: &Rt) -> Result<(), Error> {
    for device in both(rt) {
        let (none, one) = (vector(&[]), vector(&[3.0]));
        for (host, counts) in [(&none, &none), (&one, &vector(&[1.0]))] {
            let zeros = host.map(|_| 0.0);
            assert_equals(unique(floats::<1>(host, &device))?, host);
            let found = unique_all(ints::<1>(host, &device))?;
            assert_equals(found.values, host);
            assert_equals(found.counts, counts);
            assert_equals(found.inverse, &zeros);
            let count = host.values.len() as f64;
            let bins = vector(&[0.0, 0.0, 0.0, count, 0.0]);
            assert_equals(bincount(ints::<1>(host, &device), 5)?, &bins);
            let bins = histogram(floats::<1>(host, &device), 5, [0.0, 5.0])?;
            assert_equals(bins, &vector(&[0.0, 0.0, 0.0, count, 0.0]));
            // Places in a row without elements, and of no values.
            for side in [Side::Left, Side::Right] {
                let found = search_sorted(
                    floats::<1>(&none, &device),
                    floats::<1>(host, &device),
                    side,
                )?;
                assert_equals(found, &zeros);
                let found = search_sorted(
                    floats::<1>(host, &device),
                    floats::<1>(&none, &device),
                    side,
                )?;
                assert_equals(found, &none);
            }
            for kept in [true, false] {
                let flags = vec![kept; host.values.len()];
                let selected = mask_select(
                    floats::<1>(host, &device),
                    mask(&flags, [flags.len()], &device),
                )?;
                assert_equals(selected, if kept { host } else { &none });
                let found = nonzero(mask(&flags, [flags.len()], &device))?;
                let count = if kept { flags.len() } else { 0 };
                assert_equals(found, &Host::zeros(&[count, 1]));
            }
        }
        assert_eq!(nonzero(mask(&[], [4, 0], &device))?.dims(), [0, 2]);
    }
    Ok(())
}

fn weights_of_nothing_and_of_one(rt: &Rt) -> Result<(), Error> {
    for device in both(rt) {
        for host in [vector(&[]), vector(&[2.0])] {
            let weights = host.map(|_| 0.5);
            let sum = host.values.len() as f64 * 0.5;
            let want = vector(&[0.0, 0.0, sum, 0.0]);
            let on = || floats::<1>(&weights, &device);
            let found = weighted_bincount(ints::<1>(&host, &device), on(), 4)?;
            assert_equals(found, &want);
            let found = weighted_histogram(floats::<1>(&host, &device), on(), 4, [0.0, 4.0])?;
            assert_equals(found, &want);
        }
    }
    Ok(())
}

fn lookups_of_nothing_and_of_one(rt: &Rt) -> Result<(), Error> {
    const MASK: Bounds = Bounds::Mask;
    for device in both(rt) {
        let zeros = |shape: [usize; 2]| ints::<2>(&Host::zeros(&shape), &device);
        let on = |host: &Host| floats::<2>(host, &device);
        let (one, table) = (Host::sample(&[1, 1], 9), Host::sample(&[5, 4], 10));
        let (none, row) = (Host::zeros(&[0, 4]), Host::sample(&[2, 4], 11));
        let take = |table: &Host, shape| take_along_axis(on(table), 0, zeros(shape), MASK)?.check();
        assert_equals(take(&one, [1, 1])?, &one);
        assert_equals(take(&table, [0, 4])?, &none);
        assert_equals(take(&none, [3, 4])?, &Host::zeros(&[3, 4]));
        let sum = |updates: &Host, shape, extent| {
            sum_along_axis(on(updates), 0, zeros(shape), extent, MASK)?.check()
        };
        assert_equals(sum(&one, [1, 1], 1)?, &one);
        assert_equals(sum(&none, [0, 4], 3)?, &Host::zeros(&[3, 4]));
        assert_equals(sum(&row, [2, 4], 0)?, &none);
        let index = indices(&[0, 1], &device);
        let sums = scatter_sum(on(&row), 0, index, 0, MASK)?.check()?;
        assert_equals(sums, &none);
        let rows = gather(on(&one), 0, indices(&[0], &device), MASK)?.check()?;
        assert_equals(rows, &one);

        // Of one sequence of one row, of none, and of pages that are not there.
        let pages = |count| floats::<3>(&Host::sample(&[count, 2, 3], 12), &device);
        let rows = |pages: Tensor<3>, sequences, offsets: &[i64], rows| {
            let table = zeros([sequences, 1]);
            let offsets = indices(offsets, &device);
            paged_gather::<3, 2, _>(pages, table, offsets, rows, MASK)?.check()
        };
        let mut want = Host::sample(&[1, 2, 3], 12);
        want.values.truncate(3);
        want.shape = vec![1, 3];
        assert_equals(rows(pages(1), 1, &[0, 1], 1)?, &want);
        assert_equals(rows(pages(1), 1, &[0, 0], 0)?, &Host::zeros(&[0, 3]));
        assert_equals(rows(pages(1), 0, &[0], 2)?, &Host::zeros(&[2, 3]));
        assert_equals(rows(pages(0), 1, &[0, 1], 1)?, &Host::zeros(&[1, 3]));
    }
    Ok(())
}

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
