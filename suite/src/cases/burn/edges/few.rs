//! The ops on tensors without elements, and of one.

use burn::tensor::Tensor;
use girih_burn::{
    Bounds, Error, ScanOperation, Side, argsort, bincount, cummax, cummin, cumprod, cumsum, gather,
    histogram, mask_select, nonzero, paged_gather, scatter_sum, search_sorted, sort,
    sort_with_indices, sum_along_axis, take_along_axis, top_k, unique, unique_all,
    weighted_bincount, weighted_histogram,
};
use girih_testkit::{Rt, cases, needs};

use super::super::scans::scanned;
use super::super::sort::model;
use super::super::{Host, assert_equals, floats, indices, ints};
use super::{both, mask, vector, whole};

cases! {
    scans_of_nothing_and_of_one,
    sorts_of_nothing_and_of_one,
    lists_of_nothing_and_of_one,
    weights_of_nothing_and_of_one needs [needs::ADD_F32],
    lookups_of_nothing_and_of_one,
}

/// Matrices without elements, and with few.
const SMALL: [[usize; 2]; 6] = [[0, 3], [3, 0], [0, 0], [1, 1], [1, 3], [3, 1]];

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
