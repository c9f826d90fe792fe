//! Scatters that combine otherwise than by a sum, or promise what becomes of several updates to one place.

use burn::tensor::DType;
use girih_burn::{
    Bounds, Duplicates, Error, Scatter, ScatterOptions, ScatterPath, scatter, scatter_sum,
};
use girih_testkit::{Rt, cases, needs};

use super::{Host, assert_equals, assert_matches, device, floats, indices, ints, total};

cases! {
    combine_under_every_policy,
    the_last_or_the_first_wins,
    sums_are_the_same_in_every_run,
    sums_of_f16_are_rounded_once needs [needs::F16],
    gradients_of_products,
    gradients_of_extremes_go_to_what_is_equal,
    gradients_go_to_winners,
    contradictions_are_refused,
}

const POLICIES: [Bounds; 4] = [Bounds::Mask, Bounds::Clamp, Bounds::Wrap, Bounds::Report];
/// Some occur several times, and some are out of range under each policy.
const INDEX: [i64; 9] = [3, 0, 3, 9, -2, 12, 0, 3, -20];

/// Numbers whose products are exact: 0, 1, -1, 2 and 1/2.
fn factors(shape: &[usize], salt: usize) -> Host {
    const FACTORS: [f64; 7] = [1.0, -1.0, 2.0, 0.0, 0.5, 1.0, -2.0];
    let count: usize = shape.iter().product();
    Host {
        shape: shape.to_vec(),
        values: (0..count)
            .map(|at| FACTORS[(at * 5 + salt * 3 + at / 7) % 7])
            .collect(),
    }
}

fn combine_under_every_policy(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let (target, updates) = (factors(&[10, 3], 1), factors(&[9, 3], 2));
    for mode in [Scatter::Mul, Scatter::Min, Scatter::Max] {
        for bounds in POLICIES {
            let want = target.scatter(0, &INDEX, &updates, mode, bounds);
            let index = || indices(&INDEX, &device);
            let (into, from) = (
                floats::<2>(&target, &device),
                floats::<2>(&updates, &device),
            );
            assert_equals(
                scatter(into, 0, index(), from, mode, bounds)?.into_inner(),
                &want,
            );
            let [target, updates] = [&target, &updates].map(|of| of.map(|value| value * 2.0));
            let want = target.scatter(0, &INDEX, &updates, mode, bounds);
            // Integers have one zero.
            let want = want.map(|value| value + 0.0);
            let (into, from) = (ints::<2>(&target, &device), ints::<2>(&updates, &device));
            assert_equals(
                scatter(into, 0, index(), from, mode, bounds)?.into_inner(),
                &want,
            );
        }
    }
    Ok(())
}

fn the_last_or_the_first_wins(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let (target, updates) = (Host::sample(&[10, 3], 3), Host::sample(&[9, 3], 4));
    let reversed = Host {
        shape: updates.shape.clone(),
        values: updates.values.chunks(3).rev().flatten().copied().collect(),
    };
    let backwards: Vec<i64> = INDEX.into_iter().rev().collect();
    for bounds in POLICIES {
        let run = |duplicates| {
            let options = ScatterOptions {
                duplicates,
                ..bounds.into()
            };
            let (into, from) = (
                floats::<2>(&target, &device),
                floats::<2>(&updates, &device),
            );
            let index = indices(&INDEX, &device);
            Ok::<_, Error>(scatter(into, 0, index, from, Scatter::Set, options)?.into_inner())
        };
        let last = target.scatter(0, &INDEX, &updates, Scatter::Set, bounds);
        assert_equals(run(Duplicates::LastWins)?, &last);
        assert_equals(run(Duplicates::Deterministic)?, &last);
        let first = target.scatter(0, &backwards, &reversed, Scatter::Set, bounds);
        assert_equals(run(Duplicates::FirstWins)?, &first);
    }
    Ok(())
}

fn sums_are_the_same_in_every_run(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let index: Vec<i64> = (0..700).map(|at| at * at % 11).collect();
    let updates = Host::sample(&[700, 5], 5).map(|value| 1.0 / (value + 17.0));
    let sums = || {
        let updates = floats::<2>(&updates, &device);
        let index = indices(&index, &device);
        let sums = scatter_sum(updates, 0, index, 11, Duplicates::Deterministic)?.into_inner();
        Ok::<_, Error>(sums.to_data())
    };
    let first = sums()?;
    let zeros = Host::zeros(&[11, 5]);
    let want = zeros.scatter(0, &index, &updates, Scatter::Add, Bounds::Mask);
    let found = first.try_to_vec::<f32>().expect("floats");
    for (found, want) in found.iter().zip(&want.values) {
        assert!(
            (f64::from(*found) - want).abs() < 1e-3,
            "{found}, not {want}"
        );
    }
    for _ in 0..5 {
        assert_eq!(sums()?, first);
    }
    Ok(())
}

fn sums_of_f16_are_rounded_once(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    // One by one, halves would be lost from 1024 on.
    let updates = Host::sample(&[4000, 1], 0).map(|_| 0.5);
    let index = vec![0; 4000];
    let half = floats::<2>(&updates, &device).cast(DType::F16);
    let index = indices(&index, &device);
    let sums = scatter_sum(half, 0, index, 1, Duplicates::Deterministic)?.into_inner();
    assert_equals(sums, &Host::zeros(&[1, 1]).map(|_| 2000.0));
    Ok(())
}

/// What the gradients of a sum of `weights * result` should be, from those of the result at each place: `of` gives that of
/// factor `n` of several, of which the first is the target's.
fn wanted(
    [target, updates, weights]: [&Host; 3],
    bounds: Bounds,
    of: impl Fn(&[f64], usize) -> f64,
) -> [Host; 2] {
    let columns = target.shape[1];
    let mut wants = [Host::zeros(&target.shape), Host::zeros(&updates.shape)];
    for row in 0..target.shape[0] {
        let meets = |&n: &usize| {
            let mut marks = Host::zeros(&[target.shape[0], 1]);
            let one = Host::zeros(&[1, 1]).map(|_| 1.0);
            marks = marks.scatter(0, &INDEX[n..=n], &one, Scatter::Set, bounds);
            marks.values[row] == 1.0
        };
        let met: Vec<usize> = (0..INDEX.len()).filter(meets).collect();
        for column in 0..columns {
            let at = row * columns + column;
            let places: Vec<usize> = met.iter().map(|n| n * columns + column).collect();
            let mut values = vec![target.values[at]];
            values.extend(places.iter().map(|&place| updates.values[place]));
            let weight = weights.values[at];
            wants[0].values[at] = weight * of(&values, 0);
            for (number, &place) in places.iter().enumerate() {
                wants[1].values[place] = weight * of(&values, number + 1);
            }
        }
    }
    wants
}

/// Compares both gradients.
fn gradients(
    rt: &Rt,
    [target, updates]: [&Host; 2],
    mode: Scatter,
    options: ScatterOptions,
    of: impl Fn(&[f64], usize) -> f64,
) -> Result<(), Error> {
    let device = device(rt).autodiff();
    let weights = Host::sample(&target.shape, 7);
    let leaves = [target, updates].map(|host| floats::<2>(host, &device).require_grad());
    let [into, from] = leaves.clone();
    let index = indices(&INDEX, &device);
    let result = scatter(into, 0, index, from, mode, options)?.into_inner();
    let gradients = total(result * floats::<2>(&weights, &device)).backward();
    let wants = wanted([target, updates, &weights], options.bounds, of);
    for (leaf, want) in leaves.iter().zip(&wants) {
        let got = leaf.grad(&gradients).expect("both are leaves");
        assert_matches(got, want, 1e-4);
    }
    Ok(())
}

fn gradients_of_products(rt: &Rt) -> Result<(), Error> {
    for bounds in POLICIES {
        for salt in 0..3 {
            let (target, updates) = (factors(&[10, 3], salt), factors(&[9, 3], salt + 4));
            let others = |factors: &[f64], at: usize| -> f64 {
                let others = factors.iter().enumerate().filter(|(other, _)| *other != at);
                others.map(|(_, factor)| factor).product()
            };
            gradients(rt, [&target, &updates], Scatter::Mul, bounds.into(), others)?;
        }
    }
    Ok(())
}

fn gradients_of_extremes_go_to_what_is_equal(rt: &Rt) -> Result<(), Error> {
    for (mode, sign) in [(Scatter::Min, -1.0), (Scatter::Max, 1.0)] {
        for bounds in POLICIES {
            let (target, updates) = (factors(&[10, 3], 8), factors(&[9, 3], 9));
            let share = |values: &[f64], at: usize| -> f64 {
                let most = values
                    .iter()
                    .map(|value| value * sign)
                    .fold(f64::MIN, f64::max);
                let equal = |value: f64| value * sign == most;
                let several = values.iter().filter(|value| equal(**value)).count();
                if equal(values[at]) {
                    1.0 / several as f64
                } else {
                    0.0
                }
            };
            gradients(rt, [&target, &updates], mode, bounds.into(), share)?;
        }
    }
    Ok(())
}

fn gradients_go_to_winners(rt: &Rt) -> Result<(), Error> {
    for bounds in POLICIES {
        let (target, updates) = (Host::sample(&[10, 3], 1), Host::sample(&[9, 3], 2));
        for duplicates in [Duplicates::LastWins, Duplicates::FirstWins] {
            let wins = |values: &[f64], at: usize| -> f64 {
                let winner = match duplicates {
                    Duplicates::FirstWins => 1.min(values.len() - 1),
                    _ => values.len() - 1,
                };
                f64::from(at == winner)
            };
            let options = ScatterOptions {
                duplicates,
                ..bounds.into()
            };
            gradients(rt, [&target, &updates], Scatter::Set, options, wins)?;
        }
    }
    Ok(())
}

fn contradictions_are_refused(rt: &Rt) {
    let device = device(rt);
    let call = |mode, options: ScatterOptions| {
        let (into, from) = (Host::sample(&[10, 3], 1), Host::sample(&[2, 3], 2));
        let (into, from) = (floats::<2>(&into, &device), floats::<2>(&from, &device));
        let index = indices(&[0, 1], &device);
        scatter(into, 0, index, from, mode, options)
            .expect_err("refused")
            .to_string()
    };
    let message = call(Scatter::Add, Duplicates::FirstWins.into());
    assert!(
        message.starts_with("duplicates is FirstWins, of ScatterMode::Add"),
        "{message}"
    );
    let by_atomics = ScatterOptions {
        path: Some(ScatterPath::Atomic),
        ..Duplicates::Deterministic.into()
    };
    let message = call(Scatter::Add, by_atomics);
    assert!(message.starts_with("path is Atomic, of f32"), "{message}");
}
