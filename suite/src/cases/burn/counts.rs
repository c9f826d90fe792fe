//! Values each once, and histograms: values on the host, gradients by finite differences.

use burn::tensor::{Bool, DType, Int, Tensor, TensorData};
use girih_burn::{
    Error, argsort, argwhere, cumsum, histogram, mask_select, nonzero, sort, top_k, unique,
    unique_all, weighted_bincount, weighted_histogram,
};
use girih_testkit::{Rt, cases, needs};

use super::{
    Host, assert_equals, assert_matches, device, floats, host::finite_differences, ints, total,
};

cases! {
    tells_values_of_floats_and_integers,
    tells_values_of_other_types needs [needs::F16, needs::I64],
    tells_values_of_views,
    tells_values_of_nothing,
    counts_in_ranges,
    adds_up_weights needs [needs::ADD_F32],
    gradients_of_weights needs [needs::ADD_F32],
    finds_where,
    takes_the_largest_of_many_ties,
    between_fused_chains needs [needs::ADD_F32],
    orders_and_scans_other_types needs [needs::F16, needs::I64],
    refuses,
}

/// A vector on the host.
fn vector(values: impl IntoIterator<Item = f64>) -> Host {
    let values: Vec<f64> = values.into_iter().collect();
    Host {
        shape: vec![values.len()],
        values,
    }
}

/// The values, how often each is there, and which each element has.
fn model(host: &Host) -> [Host; 3] {
    let mut values = host.values.clone();
    values.sort_by(f64::total_cmp);
    values.dedup();
    let place = |value: &f64| values.partition_point(|other| other < value);
    let mut counts = vec![0.0; values.len()];
    host.values
        .iter()
        .for_each(|value| counts[place(value)] += 1.0);
    let inverse = Host {
        shape: host.shape.clone(),
        values: host
            .values
            .iter()
            .map(|value| place(value) as f64)
            .collect(),
    };
    [vector(values), vector(counts), inverse]
}

/// Whole numbers of which many are the same.
fn few(shape: &[usize], salt: usize) -> Host {
    Host::sample(shape, salt).map(|value| (value / 2.0).trunc() + 0.0)
}

fn tells_values_of_floats_and_integers(rt: &Rt) -> Result<(), Error> {
    let plain = device(rt);
    for device in [plain.clone(), plain.autodiff()] {
        let host = few(&[40, 50], 60);
        let [values, counts, inverse] = model(&host);
        assert_equals(unique(floats::<2>(&host, &device))?, &values);
        assert_equals(unique(ints::<2>(&host, &device))?, &values);
        let found = unique_all(floats::<2>(&host, &device))?;
        assert_equals(found.values, &values);
        assert_equals(found.counts, &counts);
        assert_equals(found.inverse, &inverse);
        let found = unique_all(ints::<2>(&host, &device))?;
        assert_equals(found.values, &values);
        assert_equals(found.counts, &counts);
        assert_equals(found.inverse, &inverse);
    }
    Ok(())
}

fn tells_values_of_other_types(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let host = few(&[300], 61);
    let [values, counts, inverse] = model(&host);
    let found = unique_all(floats::<1>(&host, &device).cast(DType::F16))?;
    assert_eq!(found.values.dtype(), DType::F16);
    assert_equals(found.values, &values);
    assert_equals(found.counts, &counts);
    assert_equals(found.inverse, &inverse);
    let found = unique(ints::<1>(&host, &device).cast(DType::I64))?;
    assert_eq!(found.dtype(), DType::I64);
    assert_equals(found, &values);
    Ok(())
}

fn tells_values_of_views(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let host = few(&[12, 30], 62);
    let [values, _, inverse] = model(&host);
    let view = floats::<2>(&host.transpose(), &device).transpose();
    let found = unique_all(view)?;
    assert_equals(found.values, &values);
    assert_equals(found.inverse, &inverse);
    Ok(())
}

fn tells_values_of_nothing(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let nothing = Tensor::<1>::empty([0], &device);
    let found = unique_all(nothing)?;
    assert_eq!(found.values.dims(), [0]);
    assert_eq!(found.counts.dims(), [0]);
    assert_eq!(found.inverse.dims(), [0]);
    let one = vector([3.5]);
    assert_equals(unique(floats::<1>(&one, &device))?, &one);
    Ok(())
}

/// The bin of a value. Samples are multiples of 1/4, and ranges such that all is exact in f32.
fn bin(value: f64, bins: usize, [low, high]: [f64; 2]) -> Option<usize> {
    let bin = ((value - low) * (bins as f64 / (high - low))) as usize;
    (low..=high).contains(&value).then(|| bin.min(bins - 1))
}

const RANGE: [f64; 2] = [-8.0, 8.0];
const BINS: usize = 32;

/// The sums of weights in bins.
fn sums(values: &Host, weights: &Host) -> Host {
    let mut sums = Host::zeros(&[BINS]);
    for (&value, weight) in values.values.iter().zip(&weights.values) {
        if let Some(bin) = bin(value, BINS, RANGE) {
            sums.values[bin] += weight;
        }
    }
    sums
}

fn counts_in_ranges(rt: &Rt) -> Result<(), Error> {
    let plain = device(rt);
    for device in [plain.clone(), plain.autodiff()] {
        let host = Host::sample(&[20, 30], 63);
        let ones = host.map(|_| 1.0);
        let counts = histogram(floats::<2>(&host, &device), BINS, RANGE)?;
        assert_equals(counts, &sums(&host, &ones));
        let whole = host.map(|value| value.trunc() + 0.0);
        let counts = histogram(ints::<2>(&whole, &device), BINS, RANGE)?;
        assert_equals(counts, &sums(&whole, &ones));
    }
    Ok(())
}

fn adds_up_weights(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let (host, weights) = (Host::sample(&[20, 30], 64), Host::sample(&[20, 30], 65));
    // Sums of a few multiples of 1/4 are exact in any order.
    let given = || floats::<2>(&weights, &device);
    let found = weighted_histogram(floats::<2>(&host, &device), given(), BINS, RANGE)?;
    assert_equals(found, &sums(&host, &weights));
    let whole = host.map(|value| value.trunc() + 0.0);
    let found = weighted_histogram(ints::<2>(&whole, &device), given(), BINS, RANGE)?;
    assert_equals(found, &sums(&whole, &weights));
    let found = weighted_bincount(ints::<2>(&whole, &device), given(), 12)?;
    let mut want = Host::zeros(&[12]);
    for (&value, weight) in whole.values.iter().zip(&weights.values) {
        if (0.0..12.0).contains(&value) {
            want.values[value as usize] += weight;
        }
    }
    assert_equals(found, &want);
    Ok(())
}

fn gradients_of_weights(rt: &Rt) -> Result<(), Error> {
    let device = device(rt).autodiff();
    let (host, weights) = (
        Host::sample(&[6, 10], 66),
        Host::sample(&[6, 10], 67).map(|value| value / 16.0),
    );
    let factors = Host::sample(&[BINS], 68).map(|value| value / 16.0);
    let whole = host.map(|value| value.trunc() + 0.0);
    let loss = |values: &Host, weights: &Host| {
        sums(values, weights)
            .zip(&factors, |sum, factor| factor * (sum + 1.0).powi(2))
            .sum()
    };
    for of_floats in [true, false] {
        let leaf = floats::<2>(&weights, &device).require_grad();
        let (found, values) = match of_floats {
            true => {
                let values = floats::<2>(&host, &device);
                (
                    weighted_histogram(values, leaf.clone(), BINS, RANGE)?,
                    &host,
                )
            }
            false => {
                let values = ints::<2>(&whole, &device);
                (
                    weighted_histogram(values, leaf.clone(), BINS, RANGE)?,
                    &whole,
                )
            }
        };
        let squares = (found + 1.0).powi_scalar(2) * floats::<1>(&factors, &device);
        let gradients = total(squares).backward();
        let want = finite_differences(&weights, |weights| loss(values, weights));
        assert_matches(leaf.grad(&gradients).expect("a leaf"), &want, 1e-3);
    }
    // By number, where those out of range have no part in it.
    let leaf = floats::<2>(&weights, &device).require_grad();
    let found = weighted_bincount(ints::<2>(&whole, &device), leaf.clone(), 5)?;
    let gradients = total(found * 3.0).backward();
    let want = whole.map(|value| f64::from(u8::from((0.0..5.0).contains(&value))) * 3.0);
    assert_matches(leaf.grad(&gradients).expect("a leaf"), &want, 1e-5);
    Ok(())
}

fn finds_where(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let flags: Vec<bool> = (0..60).map(|at| at * at % 7 < 3).collect();
    let mask = || Tensor::<2, Bool>::from_data(TensorData::new(flags.clone(), [6, 10]), &device);
    let places = nonzero(mask())?.try_to_vec_as::<i64>().expect("read");
    let want = (0..60).filter(|&at| flags[at as usize]);
    let want: Vec<i64> = want.flat_map(|at| [at / 10, at % 10]).collect();
    assert_eq!(places, want);
    let found = argwhere(mask())?;
    assert_eq!(found.dims(), [want.len() / 2, 2]);
    assert_eq!(found.try_to_vec_as::<i64>().expect("read"), want);
    Ok(())
}

/// Of equal elements the first ones are taken, wherever in the list those lie that are not.
fn takes_the_largest_of_many_ties(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let count = 1 << 17;
    let value = |at: usize| ((at as u32).wrapping_mul(0x9e37_79b1) >> 16) % 1000;
    let host = vector((0..count).map(|at| f64::from(value(at))));
    for (k, largest) in [(64, true), (200, true), (200, false), (397, true)] {
        let mut places: Vec<usize> = (0..count).collect();
        match largest {
            true => places.sort_by_key(|&at| std::cmp::Reverse(value(at))),
            false => places.sort_by_key(|&at| value(at)),
        }
        places.truncate(k);
        let (values, found) = top_k(floats::<1>(&host, &device), 0, k, largest)?;
        assert_equals(values, &vector(places.iter().map(|&at| host.values[at])));
        assert_equals(found, &vector(places.iter().map(|&at| at as f64)));
    }
    Ok(())
}

/// What fusion has queued before an op, and what it is queued with after it.
fn between_fused_chains(rt: &Rt) -> Result<(), Error> {
    let plain = device(rt);
    for device in [plain.clone(), plain.autodiff()] {
        let host = Host::sample(&[20, 16], 69);
        let produced = floats::<2>(&host, &device) * 0.5 + 1.0;
        let on_host = host.map(|value| value * 0.5 + 1.0);
        let [values, counts, _] = model(&on_host);
        let found = unique_all(produced.clone())?;
        assert_matches(
            found.values * 2.0 - 1.0,
            &values.map(|value| value * 2.0 - 1.0),
            1e-5,
        );
        assert_equals(found.counts * 3 + 1, &counts.map(|count| count * 3.0 + 1.0));
        let halves = floats::<2>(&host, &device) * 0.25;
        let weighed = weighted_histogram(produced.clone(), halves, BINS, RANGE)?;
        let want = sums(&on_host, &host.map(|value| value * 0.25));
        assert_matches(weighed * 4.0 + 2.0, &want.map(|sum| sum * 4.0 + 2.0), 1e-4);
        let kept = mask_select(produced.clone(), produced.clone().greater_elem(0.0))?;
        let positive = on_host.values.iter().filter(|value| **value > 0.0);
        let want = vector(positive.map(|value| value + 1.0));
        assert_matches(kept + 1.0, &want, 1e-5);
    }
    Ok(())
}

/// The other ops of lists, on types that are not Burn's defaults.
fn orders_and_scans_other_types(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let host = few(&[200], 70);
    let mut want = host.values.clone();
    want.sort_by(f64::total_cmp);
    let want = vector(want);
    let halves = || floats::<1>(&host, &device).cast(DType::F16);
    let wide = || ints::<1>(&host, &device).cast(DType::I64);
    assert_equals(sort(halves(), 0, false)?, &want);
    assert_equals(sort(wide(), 0, false)?, &want);
    let places = argsort(wide(), 0, false)?
        .try_to_vec_as::<i64>()
        .expect("read");
    let by_place = places.iter().map(|&place| host.values[place as usize]);
    assert_eq!(by_place.collect::<Vec<_>>(), want.values);
    let mut sum = 0.0;
    let sums = vector(host.values.iter().map(|value| {
        sum += value;
        sum
    }));
    let found = cumsum(wide(), 0)?;
    assert_eq!(found.dtype(), DType::I64);
    assert_equals(found, &sums);
    assert_equals(cumsum(halves(), 0)?, &sums);
    let positive = host.values.iter().copied().filter(|value| *value > 0.0);
    let found = mask_select(wide(), wide().greater_elem(0))?;
    assert_equals(found, &vector(positive));
    Ok(())
}

fn refuses(rt: &Rt) {
    let device = device(rt);
    let host = Host::sample(&[5, 4], 71);
    let (values, numbers) = (|| floats::<2>(&host, &device), || ints::<2>(&host, &device));
    let few: Tensor<2> = Tensor::ones([4, 5], &device);
    let texts = [
        histogram(values(), 3, [2.0, 1.0]).map(drop),
        weighted_histogram(values(), few.clone(), 3, RANGE).map(drop),
        weighted_bincount(numbers(), few, 3).map(drop),
        histogram::<2, Int>(numbers(), 1 << 32, RANGE).map(drop),
    ]
    .map(|refused| refused.expect_err("refused").to_string());
    let want = [
        "range is 2.0 to 1.0; histogram needs finite numbers, the first below the second by what f32 tells apart",
        "weights has shape [4, 5]; weighted_histogram needs [5, 4]",
        "weights has shape [4, 5]; weighted_bincount needs [5, 4]",
        "bins counts 4294967296; histogram takes up to 2147483648",
    ];
    assert_eq!(texts, want);
}
