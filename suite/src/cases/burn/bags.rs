//! Bags: results and gradients against the host's, by central differences.

use burn::tensor::{Int, Tensor};
use girih_burn::nn::{BagMode, EmbeddingBagConfig};
use girih_burn::{BagOptions, Bounds, Determinism, Error, Grouping, Reduction, embedding_bag};
use girih_testkit::{Rt, cases};

use super::embeddings::words;
use super::{Host, assert_matches, device, floats, host::finite_differences, indices, total};

cases! {
    bags_and_their_gradients,
    bags_in_order,
    bags_between_fused_ops,
    one_gradient_of_a_bag,
    bags_as_a_module,
    an_offence_in_a_bag_is_reported,
    what_is_refused,
}

pub(super) const TOLERANCE: f64 = 1e-3;
pub(super) const INDEX: [i64; 9] = [3, 0, 3, 9, 5, -1, 2, 7, 0];
const OFFSETS: [i64; 5] = [0, 4, 4, 6, 9];

/// What rows come to, combined: those of each segment, each times its weight.
pub(super) fn combined(
    reduction: Reduction,
    columns: usize,
    segments: &[Vec<Vec<f64>>],
    of_none: f64,
) -> Host {
    let mut values = vec![];
    for rows in segments {
        for column in 0..columns {
            let elements = rows.iter().map(|row| row[column]);
            values.push(match reduction {
                _ if rows.is_empty() => of_none,
                Reduction::Sum => elements.sum(),
                Reduction::Mean => elements.sum::<f64>() / rows.len() as f64,
                Reduction::Max => elements.fold(f64::NEG_INFINITY, f64::max),
                Reduction::Min => elements.fold(f64::INFINITY, f64::min),
                Reduction::Prod => elements.product(),
            });
        }
    }
    Host {
        shape: vec![segments.len(), columns],
        values,
    }
}

/// The bags of the table by the index above, whose last row is the padding.
fn host_bags(table: &Host, weights: &Host, reduction: Reduction) -> Host {
    let [rows, columns] = table.shape[..] else {
        panic!("a matrix")
    };
    let bags: Vec<Vec<Vec<f64>>> = OFFSETS
        .windows(2)
        .map(|ends| {
            (ends[0] as usize..ends[1] as usize)
                .filter_map(|entry| {
                    let row = usize::try_from(INDEX[entry]).ok()?;
                    let row = (row < rows && row != 7).then_some(row)?;
                    let row = &table.values[row * columns..(row + 1) * columns];
                    Some(
                        row.iter()
                            .map(|value| value * weights.values[entry])
                            .collect(),
                    )
                })
                .collect()
        })
        .collect();
    combined(reduction, columns, &bags, 0.0)
}

/// `sum(weights * (result + 1)^2)`.
pub(super) fn host_loss(result: &Host, weights: &Host) -> f64 {
    result
        .zip(weights, |result, weight| weight * (result + 1.0).powi(2))
        .sum()
}

fn options(reduction: Reduction) -> BagOptions {
    BagOptions {
        padding: Some(7),
        ..BagOptions::new(reduction)
    }
}

fn bags(rt: &Rt, reduction: Reduction, determinism: Determinism) -> Result<(), Error> {
    let device = device(rt).autodiff();
    let (table, weights) = (
        Host::sample(&[10, 4], 3),
        Host::sample(&[9], 5).map(|w| w / 8.0),
    );
    let slopes = Host::sample(&[4, 4], 6);
    let leaves = (
        floats::<2>(&table, &device).require_grad(),
        floats::<1>(&weights, &device).require_grad(),
    );
    let options = BagOptions {
        weights: Some(leaves.1.clone()),
        determinism,
        ..options(reduction)
    };
    let by = Grouping::Offsets(indices(&OFFSETS, &device));
    let result = embedding_bag(leaves.0.clone(), indices(&INDEX, &device), by, options)?;
    let result = result.into_inner();
    assert_matches(
        result.clone(),
        &host_bags(&table, &weights, reduction),
        TOLERANCE,
    );
    let loss = total((result + 1.0).powi_scalar(2) * floats::<2>(&slopes, &device));
    let gradients = loss.backward();
    let want = finite_differences(&table, |table| {
        host_loss(&host_bags(table, &weights, reduction), &slopes)
    });
    assert_matches(leaves.0.grad(&gradients).expect("a leaf"), &want, 1e-2);
    let want = finite_differences(&weights, |weights| {
        host_loss(&host_bags(&table, weights, reduction), &slopes)
    });
    assert_matches(leaves.1.grad(&gradients).expect("a leaf"), &want, 1e-2);
    Ok(())
}

fn bags_and_their_gradients(rt: &Rt) -> Result<(), Error> {
    for reduction in [
        Reduction::Sum,
        Reduction::Mean,
        Reduction::Max,
        Reduction::Min,
    ] {
        bags(rt, reduction, Determinism::Any)?;
    }
    Ok(())
}

fn bags_in_order(rt: &Rt) -> Result<(), Error> {
    for reduction in [Reduction::Sum, Reduction::Mean, Reduction::Max] {
        bags(rt, reduction, Determinism::RunToRun)?;
    }
    Ok(())
}

fn bags_between_fused_ops(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let table = Host::sample(&[10, 4], 3);
    let ones = Host::sample(&[9], 0).map(|_| 1.0);
    let rows = floats::<2>(&table, &device) * 2.0 + 1.0;
    let by = Grouping::Offsets(indices(&OFFSETS, &device));
    let index = indices(&INDEX, &device);
    let result = embedding_bag(rows, index, by, options(Reduction::Max))?.into_inner();
    let result = (result * 0.5).abs();
    let want = host_bags(&table.map(|value| value * 2.0 + 1.0), &ones, Reduction::Max);
    assert_matches(result, &want.map(|value| (value * 0.5).abs()), TOLERANCE);
    Ok(())
}

/// The gradient of the table alone, and that of the weights alone.
fn one_gradient_of_a_bag(rt: &Rt) -> Result<(), Error> {
    let device = device(rt).autodiff();
    let (table, weights) = (
        Host::sample(&[10, 4], 3),
        Host::sample(&[9], 5).map(|w| w / 8.0),
    );
    let slopes = Host::sample(&[4, 4], 6);
    for reduction in [Reduction::Sum, Reduction::Mean, Reduction::Max] {
        let loss = |table: Tensor<2>, weights: Tensor<1>| -> Result<Tensor<1>, Error> {
            let options = BagOptions {
                weights: Some(weights),
                ..options(reduction)
            };
            let by = Grouping::Offsets(indices(&OFFSETS, &device));
            let bags = embedding_bag(table, indices(&INDEX, &device), by, options)?;
            let bags = bags.into_inner();
            Ok(total(
                (bags + 1.0).powi_scalar(2) * floats::<2>(&slopes, &device),
            ))
        };
        let leaf = floats::<2>(&table, &device).require_grad();
        let gradients = loss(leaf.clone(), floats(&weights, &device))?.backward();
        let want = finite_differences(&table, |table| {
            host_loss(&host_bags(table, &weights, reduction), &slopes)
        });
        assert_matches(leaf.grad(&gradients).expect("a leaf"), &want, 1e-2);
        let leaf = floats::<1>(&weights, &device).require_grad();
        let gradients = loss(floats(&table, &device), leaf.clone())?.backward();
        let want = finite_differences(&weights, |weights| {
            host_loss(&host_bags(&table, weights, reduction), &slopes)
        });
        assert_matches(leaf.grad(&gradients).expect("a leaf"), &want, 1e-2);
    }
    Ok(())
}

fn bags_as_a_module(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    for (mode, reduction) in [
        (BagMode::Sum, Reduction::Sum),
        (BagMode::Mean, Reduction::Mean),
        (BagMode::Max, Reduction::Max),
    ] {
        let config = EmbeddingBagConfig::new(5, 4)
            .with_mode(mode)
            .with_padding(Some(1));
        let bags = config.init(&device);
        let table = bags
            .weight
            .val()
            .to_data()
            .try_to_vec::<f32>()
            .expect("f32");
        let row = |row: usize, weight: f64| -> Vec<f64> {
            let row = &table[row * 4..(row + 1) * 4];
            row.iter().map(|&value| f64::from(value) * weight).collect()
        };
        let found = bags.forward(words(&device))?;
        let plain = [
            vec![row(3, 1.0), row(3, 1.0)],
            vec![row(0, 1.0), row(4, 1.0)],
        ];
        assert_matches(found, &combined(reduction, 4, &plain, 0.0), 1e-5);
        let weights = Tensor::<2>::from_floats([[0.5, 9.0, 2.0], [-1.0, 3.0, 9.0]], &device);
        let found = bags.forward_weighted(words(&device), weights)?;
        let weighed = [
            vec![row(3, 0.5), row(3, 2.0)],
            vec![row(0, -1.0), row(4, 3.0)],
        ];
        assert_matches(found, &combined(reduction, 4, &weighed, 0.0), 1e-5);
        let list = Tensor::<1, Int>::from_ints([1, 4, 0, 2], &device);
        let offsets = Tensor::<1, Int>::from_ints([0, 1, 4], &device);
        let found = bags.forward_ragged(list, offsets, None)?;
        let ragged = [vec![], vec![row(4, 1.0), row(0, 1.0), row(2, 1.0)]];
        assert_matches(found, &combined(reduction, 4, &ragged, 0.0), 1e-5);
    }
    Ok(())
}

fn an_offence_in_a_bag_is_reported(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let table = floats::<2>(&Host::sample(&[10, 4], 3), &device);
    let options = BagOptions {
        bounds: Bounds::Report,
        ..BagOptions::new(Reduction::Sum)
    };
    let index = indices(&[1, 2, 10, 3], &device);
    let refused = embedding_bag(table, index, Grouping::Length(2), options)?.check();
    let text = refused.expect_err("10 is out of range").to_string();
    let want =
        "index 10 at position 2 is out of range of axis 0, which has extent 10; 0..10 is allowed";
    assert_eq!(text, want);
    Ok(())
}

fn what_is_refused(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let table = || floats::<2>(&Host::sample(&[10, 4], 3), &device);
    let index = || indices(&[1, 2, 3], &device);
    let bag = |by, options| {
        let found = embedding_bag(table(), index(), by, options);
        found.expect_err("it is refused").to_string()
    };
    let sum = || BagOptions::new(Reduction::Sum);
    let weights = |weights| BagOptions {
        weights: Some(weights),
        ..sum()
    };
    let padding = BagOptions {
        padding: Some(10),
        ..sum()
    };
    let ids = |ids: &[i64]| Grouping::Ids {
        ids: indices(ids, &device),
        segments: 2,
    };
    for (found, want) in [
        (
            bag(Grouping::Length(2), sum()),
            "the length of segments is 2; embedding_bag needs a divisor of the number of entries, 3",
        ),
        (
            bag(ids(&[0, 1]), sum()),
            "ids has shape [2]; embedding_bag needs [3]",
        ),
        (
            bag(
                Grouping::Length(3),
                weights(Tensor::from_floats([1.0], &device)),
            ),
            "weights has shape [1]; embedding_bag needs [3]",
        ),
        (
            bag(Grouping::Length(3), padding),
            "padding is 10; embedding_bag needs a row of the table, in 0..10",
        ),
    ] {
        assert_eq!(found, want);
    }
    let device = device.autodiff();
    let tracked = floats::<2>(&Host::sample(&[10, 4], 3), &device);
    let options = BagOptions::new(Reduction::Prod);
    let refused = embedding_bag(
        tracked,
        indices(&[1], &device),
        Grouping::Length(1),
        options,
    );
    assert_eq!(
        refused.expect_err("no gradient").to_string(),
        "the reduction is Prod; embedding_bag_backward needs Sum, Mean, Max or Min"
    );
    Ok(())
}
