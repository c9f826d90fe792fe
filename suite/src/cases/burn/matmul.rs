//! Products of Burn's tensors: values and gradients on the host in f64.

use burn::tensor::{Device, Tensor};
use girih_burn::{Error, gather_matmul, grouped_matmul, matmul, matmul_scatter};
use girih_testkit::{Rt, cases, needs};

use super::{Host, assert_matches, device, floats, host::finite_differences, indices, total};

pub(super) const TOLERANCE: f64 = 2e-3;

cases! {
    products_and_gradients,
    batches_and_gradients,
    groups_and_gradients needs [needs::ADD_F32],
    gathered_and_gradients needs [needs::ADD_F32],
    scattered_and_gradients needs [needs::ADD_F32],
    refusals,
}

/// Values of about 1.
pub(super) fn small(shape: &[usize], salt: usize) -> Host {
    Host::sample(shape, salt).map(|value| value / 16.0)
}

/// A product on the host.
pub(super) fn times(a: &Host, b: &Host) -> Host {
    let ([rows, inner], [_, columns]) = (matrix(a), matrix(b));
    let mut out = Host::zeros(&[rows, columns]);
    for row in 0..rows {
        for column in 0..columns {
            out.values[row * columns + column] = (0..inner)
                .map(|k| a.values[row * inner + k] * b.values[k * columns + column])
                .sum();
        }
    }
    out
}

pub(super) fn matrix(host: &Host) -> [usize; 2] {
    [host.shape[0], host.shape[1]]
}

/// One matrix of several.
pub(super) fn part(host: &Host, number: usize) -> Host {
    let size = host.shape[1] * host.shape[2];
    Host {
        shape: host.shape[1..].to_vec(),
        values: host.values[number * size..][..size].to_vec(),
    }
}

/// One row as a matrix; zeros where there is none.
pub(super) fn row(host: &Host, number: i64) -> Host {
    let [rows, columns] = matrix(host);
    match usize::try_from(number).ok().filter(|&number| number < rows) {
        Some(number) => Host {
            shape: vec![1, columns],
            values: host.values[number * columns..][..columns].to_vec(),
        },
        None => Host::zeros(&[1, columns]),
    }
}

fn group(ends: &[i64], row: usize) -> Option<usize> {
    ends.iter().position(|&end| (row as i64) < end)
}

/// Products of rows with their groups' matrices.
fn grouped(rows: &Host, matrices: &Host, ends: &[i64]) -> Host {
    let columns = matrices.shape[2];
    let mut out = Host::zeros(&[rows.shape[0], columns]);
    for at in 0..rows.shape[0] {
        if let Some(group) = group(ends, at) {
            let product = times(&row(rows, at as i64), &part(matrices, group));
            out.values[at * columns..][..columns].copy_from_slice(&product.values);
        }
    }
    out
}

fn gathered(tokens: &Host, index: &[i64]) -> Host {
    Host {
        shape: vec![index.len(), tokens.shape[1]],
        values: index
            .iter()
            .flat_map(|&at| row(tokens, at).values)
            .collect(),
    }
}

fn scattered(rows: &Host, index: &[i64], factors: &Host, tokens: usize) -> Host {
    let columns = rows.shape[1];
    let mut out = Host::zeros(&[tokens, columns]);
    for (at, &to) in index.iter().enumerate() {
        if (0..tokens as i64).contains(&to) {
            for column in 0..columns {
                out.values[to as usize * columns + column] +=
                    factors.values[at] * rows.values[at * columns + column];
            }
        }
    }
    out
}

/// A loss that tells every element from the others.
pub(super) fn weigh(host: &Host) -> f64 {
    let weights = small(&host.shape, 5);
    host.zip(&weights, |value, weight| value * weight).sum()
}

pub(super) fn loss<const D: usize>(tensor: Tensor<D>, device: &Device) -> Tensor<1> {
    let shape: Vec<usize> = tensor.dims().to_vec();
    total(tensor * floats::<D>(&small(&shape, 5), device))
}

fn products_and_gradients(rt: &Rt) -> Result<(), Error> {
    let device = device(rt).autodiff();
    for (a_shape, b_shape) in [([5, 7], [7, 3]), ([16, 8], [8, 12]), ([1, 4], [4, 1])] {
        let (a, b) = (small(&a_shape, 1), small(&b_shape, 2));
        let leaves = [&a, &b].map(|host| floats::<2>(host, &device).require_grad());
        let [of_a, of_b] = leaves.clone();
        let product = matmul(of_a, of_b)?;
        assert_matches(product.clone(), &times(&a, &b), 1e-4);
        let gradients = loss(product, &device).backward();
        let want = finite_differences(&a, |a| weigh(&times(a, &b)));
        assert_matches(
            leaves[0].grad(&gradients).expect("a leaf"),
            &want,
            TOLERANCE,
        );
        let want = finite_differences(&b, |b| weigh(&times(&a, b)));
        assert_matches(
            leaves[1].grad(&gradients).expect("a leaf"),
            &want,
            TOLERANCE,
        );
    }
    Ok(())
}

fn batches_and_gradients(rt: &Rt) -> Result<(), Error> {
    let device = device(rt).autodiff();
    let (a, b) = (small(&[3, 4, 5], 1), small(&[3, 5, 2], 2));
    let batch = |a: &Host, b: &Host| Host {
        shape: vec![3, 4, 2],
        values: (0..3)
            .flat_map(|at| times(&part(a, at), &part(b, at)).values)
            .collect(),
    };
    let leaves = [&a, &b].map(|host| floats::<3>(host, &device).require_grad());
    let product = matmul(leaves[0].clone(), leaves[1].clone())?;
    assert_matches(product.clone(), &batch(&a, &b), 1e-4);
    let gradients = loss(product, &device).backward();
    let want = finite_differences(&a, |a| weigh(&batch(a, &b)));
    assert_matches(
        leaves[0].grad(&gradients).expect("a leaf"),
        &want,
        TOLERANCE,
    );
    let want = finite_differences(&b, |b| weigh(&batch(&a, b)));
    assert_matches(
        leaves[1].grad(&gradients).expect("a leaf"),
        &want,
        TOLERANCE,
    );
    Ok(())
}

const ENDS: [[i64; 3]; 4] = [[3, 3, 9], [0, 0, 9], [9, 9, 9], [2, 5, 7]];

fn groups_and_gradients(rt: &Rt) -> Result<(), Error> {
    let device = device(rt).autodiff();
    let (rows, matrices) = (small(&[9, 4], 1), small(&[3, 4, 5], 2));
    for ends in ENDS {
        let of_rows = floats::<2>(&rows, &device).require_grad();
        let of_matrices = floats::<3>(&matrices, &device).require_grad();
        let product = grouped_matmul(
            of_rows.clone(),
            of_matrices.clone(),
            indices(&ends, &device),
        )?;
        assert_matches(product.clone(), &grouped(&rows, &matrices, &ends), 1e-4);
        let gradients = loss(product, &device).backward();
        let want = finite_differences(&rows, |rows| weigh(&grouped(rows, &matrices, &ends)));
        assert_matches(of_rows.grad(&gradients).expect("a leaf"), &want, TOLERANCE);
        let want = finite_differences(&matrices, |matrices| {
            weigh(&grouped(&rows, matrices, &ends))
        });
        assert_matches(
            of_matrices.grad(&gradients).expect("a leaf"),
            &want,
            TOLERANCE,
        );
    }
    Ok(())
}

fn gathered_and_gradients(rt: &Rt) -> Result<(), Error> {
    let device = device(rt).autodiff();
    let (tokens, matrices) = (small(&[5, 4], 1), small(&[3, 4, 5], 2));
    // Rows that repeat, and two that are not there.
    let index = [4, 0, 0, 3, 7, 1, 4, -1, 2];
    let host = |tokens: &Host, matrices: &Host, ends: &[i64]| {
        grouped(&gathered(tokens, &index), matrices, ends)
    };
    for ends in ENDS {
        let of_tokens = floats::<2>(&tokens, &device).require_grad();
        let of_matrices = floats::<3>(&matrices, &device).require_grad();
        let product = gather_matmul(
            of_tokens.clone(),
            indices(&index, &device),
            of_matrices.clone(),
            indices(&ends, &device),
        )?;
        assert_matches(product.clone(), &host(&tokens, &matrices, &ends), 1e-4);
        let gradients = loss(product, &device).backward();
        let want = finite_differences(&tokens, |tokens| weigh(&host(tokens, &matrices, &ends)));
        assert_matches(
            of_tokens.grad(&gradients).expect("a leaf"),
            &want,
            TOLERANCE,
        );
        let want = finite_differences(&matrices, |matrices| weigh(&host(&tokens, matrices, &ends)));
        assert_matches(
            of_matrices.grad(&gradients).expect("a leaf"),
            &want,
            TOLERANCE,
        );
    }
    Ok(())
}

fn scattered_and_gradients(rt: &Rt) -> Result<(), Error> {
    let device = device(rt).autodiff();
    let (rows, matrices, factors) = (small(&[9, 4], 1), small(&[3, 4, 5], 2), small(&[9], 3));
    let index = [4, 0, 0, 3, 7, 1, 4, -1, 2];
    let host = |rows: &Host, matrices: &Host, factors: &Host, ends: &[i64]| {
        scattered(&grouped(rows, matrices, ends), &index, factors, 5)
    };
    for ends in ENDS {
        let of_rows = floats::<2>(&rows, &device).require_grad();
        let of_matrices = floats::<3>(&matrices, &device).require_grad();
        let of_factors = floats::<1>(&factors, &device).require_grad();
        let sums = matmul_scatter(
            of_rows.clone(),
            of_matrices.clone(),
            indices(&ends, &device),
            indices(&index, &device),
            of_factors.clone(),
            5,
        )?;
        assert_matches(sums.clone(), &host(&rows, &matrices, &factors, &ends), 1e-4);
        let gradients = loss(sums, &device).backward();
        let want = finite_differences(&rows, |rows| weigh(&host(rows, &matrices, &factors, &ends)));
        assert_matches(of_rows.grad(&gradients).expect("a leaf"), &want, TOLERANCE);
        let want = finite_differences(&matrices, |matrices| {
            weigh(&host(&rows, matrices, &factors, &ends))
        });
        assert_matches(
            of_matrices.grad(&gradients).expect("a leaf"),
            &want,
            TOLERANCE,
        );
        let want = finite_differences(&factors, |factors| {
            weigh(&host(&rows, &matrices, factors, &ends))
        });
        assert_matches(
            of_factors.grad(&gradients).expect("a leaf"),
            &want,
            TOLERANCE,
        );
    }
    Ok(())
}

fn refusals(rt: &Rt) {
    let device = device(rt);
    let of = |shape: &[usize]| floats::<2>(&small(shape, 1), &device);
    let text = |error: Option<Error>| error.expect("refused").to_string();
    assert_eq!(
        text(matmul(of(&[2, 3]), of(&[4, 5])).err()),
        "b has shape [4, 5]; matmul needs [3, 5]"
    );
    let matrices = || floats::<3>(&small(&[2, 3, 4], 1), &device);
    assert_eq!(
        text(grouped_matmul(of(&[2, 3]), matrices(), indices(&[1], &device)).err()),
        "ends has shape [1]; grouped_matmul needs [2]"
    );
    assert_eq!(
        text(grouped_matmul(of(&[2, 5]), matrices(), indices(&[1, 2], &device)).err()),
        "matrices has shape [2, 3, 4]; grouped_matmul needs [2, 5, 4]"
    );
    let factors = floats::<1>(&small(&[3], 1), &device);
    let ends = indices(&[1, 2], &device);
    let index = indices(&[0, 1], &device);
    assert_eq!(
        text(matmul_scatter(of(&[2, 3]), matrices(), ends, index, factors, 7).err()),
        "factors has shape [3]; matmul_scatter needs [2]"
    );
}
