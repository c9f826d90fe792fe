//! Sorts, selections, counts and searches.

use burn::tensor::{Int, Tensor, TensorData};
use girih_burn::{Error, Side, argsort, bincount, search_sorted, sort, sort_with_indices, top_k};
use girih_testkit::{Rt, cases};

use super::{Host, assert_equals, assert_matches, device, floats, ints, total};

cases! {
    sorts_along_every_axis,
    sorts_integers_and_tells_where_they_were,
    takes_the_largest,
    counts_numbers,
    finds_places,
    passes_gradients_to_where_elements_were,
    refuses,
}

/// The places of the sorted elements of each row along an axis, and the sorted elements.
pub(super) fn model(host: &Host, axis: usize, descending: bool) -> (Host, Host) {
    let step: usize = host.shape[axis + 1..].iter().product();
    let extent = host.shape[axis];
    let (mut sorted, mut places) = (host.clone(), host.clone());
    for first in (0..host.values.len()).filter(|at| (at / step).is_multiple_of(extent)) {
        let value = |place: usize| host.values[first + place * step];
        let mut order: Vec<usize> = (0..extent).collect();
        order.sort_by(|&a, &b| match descending {
            true => value(b).total_cmp(&value(a)),
            false => value(a).total_cmp(&value(b)),
        });
        for (at, place) in order.into_iter().enumerate() {
            sorted.values[first + at * step] = value(place);
            places.values[first + at * step] = place as f64;
        }
    }
    (sorted, places)
}

/// The first `k` along the last axis.
pub(super) fn first_of(host: &Host, k: usize) -> Host {
    let columns = *host.shape.last().expect("a matrix");
    let mut shape = host.shape.clone();
    *shape.last_mut().expect("a matrix") = k;
    Host {
        shape,
        values: host
            .values
            .chunks(columns)
            .flat_map(|row| row[..k].to_vec())
            .collect(),
    }
}

fn sorts_along_every_axis(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    for axis in 0..3 {
        for descending in [false, true] {
            let host = Host::sample(&[4, 30, 5], axis);
            let (want, places) = model(&host, axis, descending);
            let tensor = floats::<3>(&host, &device);
            assert_equals(sort(tensor.clone(), axis, descending)?, &want);
            assert_equals(argsort(tensor, axis, descending)?, &places);
        }
    }
    Ok(())
}

fn sorts_integers_and_tells_where_they_were(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let host = Host::sample(&[3, 200], 1).map(|value| value.trunc() + 0.0);
    let (want, places) = model(&host, 1, false);
    let (sorted, found) = sort_with_indices(ints::<2>(&host, &device), 1, false)?;
    assert_equals(sorted, &want);
    assert_equals(found, &places);
    Ok(())
}

fn takes_the_largest(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    for largest in [true, false] {
        let host = Host::sample(&[3, 50], 2);
        let (want, places) = model(&host, 1, largest);
        let (values, found) = top_k(floats::<2>(&host, &device), 1, 7, largest)?;
        assert_equals(values, &first_of(&want, 7));
        assert_equals(found, &first_of(&places, 7));
    }
    Ok(())
}

fn counts_numbers(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let host = Host::sample(&[10, 30], 3).map(|value| value.trunc() + 0.0);
    let mut want = Host::zeros(&[12]);
    for &value in host
        .values
        .iter()
        .filter(|value| (0.0..12.0).contains(*value))
    {
        want.values[value as usize] += 1.0;
    }
    assert_equals(bincount(ints::<2>(&host, &device), 12)?, &want);
    Ok(())
}

fn finds_places(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let (rows, _) = model(&Host::sample(&[3, 40], 4), 1, false);
    let values = Host::sample(&[3, 9], 5);
    for side in [Side::Left, Side::Right] {
        let place = |at: usize| {
            let row = &rows.values[at / 9 * 40..][..40];
            let value = values.values[at];
            let is_before = |element: &f64| match side {
                Side::Left => *element < value,
                Side::Right => *element <= value,
            };
            row.partition_point(is_before) as f64
        };
        let want = Host {
            shape: vec![3, 9],
            values: (0..27).map(place).collect(),
        };
        let (rows, values) = (floats::<2>(&rows, &device), floats::<2>(&values, &device));
        assert_equals(search_sorted(rows, values, side)?, &want);
    }
    Ok(())
}

fn passes_gradients_to_where_elements_were(rt: &Rt) -> Result<(), Error> {
    let device = device(rt).autodiff();
    let (host, weights) = (Host::sample(&[3, 20], 6), Host::sample(&[3, 20], 7));
    let (_, places) = model(&host, 1, true);
    for k in [20, 6] {
        let tensor = floats::<2>(&host, &device).require_grad();
        let weights_of_k = first_of(&weights, k);
        let values = match k {
            20 => sort(tensor.clone(), 1, true)?,
            _ => top_k(tensor.clone(), 1, k, true)?.0,
        };
        let loss = total(values * floats::<2>(&weights_of_k, &device));
        let gradient = tensor
            .grad(&loss.backward())
            .expect("the tensor is tracked");
        let mut want = Host::zeros(&[3, 20]);
        for row in 0..3 {
            for at in 0..k {
                let place = places.values[20 * row + at] as usize;
                want.values[20 * row + place] += weights_of_k.values[k * row + at];
            }
        }
        // The loss is a mean times a count.
        assert_matches(gradient, &want, 1e-5);
    }
    Ok(())
}

fn refuses(rt: &Rt) {
    let device = device(rt);
    let tensor = || Tensor::<1>::from_data(TensorData::from([1.0f32, 2.0]), &device);
    let texts = [
        sort(tensor(), 1, false).map(drop),
        top_k(tensor(), 0, 3, true).map(drop),
        bincount(Tensor::<1, Int>::from_ints([1], &device), 1 << 32).map(drop),
    ]
    .map(|refused| refused.expect_err("refused").to_string());
    let want = [
        "axis 1 of tensor, which has rank 1; sort needs an axis in 0..1",
        "k counts 3; top_k takes up to 2",
        "bins counts 4294967296; bincount takes up to 2147483648",
    ];
    assert_eq!(texts, want);
}
