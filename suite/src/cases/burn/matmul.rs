//! Products of Burn's tensors and the mixture of experts: values and gradients on the host in f64.

use burn::module::Param;
use burn::tensor::{Device, Tensor, TensorData};
use girih_burn::{
    Error, MoeActivation, MoeLayer, MoeLayerConfig, gather_matmul, grouped_matmul, matmul,
    matmul_scatter,
};
use girih_testkit::{Rt, cases, needs};

use super::{Host, assert_matches, device, floats, host::finite_differences, indices, total};

const TOLERANCE: f64 = 2e-3;

cases! {
    products_and_gradients,
    batches_and_gradients,
    groups_and_gradients needs [needs::ADD_F32],
    gathered_and_gradients needs [needs::ADD_F32],
    scattered_and_gradients needs [needs::ADD_F32],
    refusals,
    experts_are_the_dense_sum,
    experts_have_gradients,
    experts_that_nobody_asks,
    balance_is_least_where_all_are_asked,
    layers_refuse,
    layers_draw_their_weights,
}

/// Values of about 1.
fn small(shape: &[usize], salt: usize) -> Host {
    Host::sample(shape, salt).map(|value| value / 16.0)
}

/// A product on the host.
fn times(a: &Host, b: &Host) -> Host {
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

fn matrix(host: &Host) -> [usize; 2] {
    [host.shape[0], host.shape[1]]
}

/// One matrix of several.
fn part(host: &Host, number: usize) -> Host {
    let size = host.shape[1] * host.shape[2];
    Host {
        shape: host.shape[1..].to_vec(),
        values: host.values[number * size..][..size].to_vec(),
    }
}

/// One row as a matrix; zeros where there is none.
fn row(host: &Host, number: i64) -> Host {
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
fn weigh(host: &Host) -> f64 {
    let weights = small(&host.shape, 5);
    host.zip(&weights, |value, weight| value * weight).sum()
}

fn loss<const D: usize>(tensor: Tensor<D>, device: &Device) -> Tensor<1> {
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

/// A layer's weights on the host.
struct Experts {
    router: Host,
    up: Host,
    down: Host,
    top_k: usize,
    normalise: bool,
    activation: MoeActivation,
}

impl Experts {
    fn new(top_k: usize, normalise: bool, activation: MoeActivation) -> Self {
        let spread = |host: Host| Host {
            shape: host.shape.clone(),
            // No two rows alike, so that no two experts have one probability.
            values: host
                .values
                .iter()
                .enumerate()
                .map(|(at, value)| value + (at * at % 23) as f64 / 40.0 - 0.25)
                .collect(),
        };
        Self {
            router: spread(small(&[6, 4], 1)),
            up: spread(small(&[4, 6, 5], 2)),
            down: spread(small(&[4, 5, 6], 3)),
            top_k,
            normalise,
            activation,
        }
    }

    fn layer(&self, device: &Device) -> Result<MoeLayer, Error> {
        let mut layer = MoeLayerConfig::new(6, 5, 4, self.top_k)
            .with_activation(self.activation)
            .with_normalise(self.normalise)
            .init(device)?;
        let data = |host: &Host| {
            let values: Vec<f32> = host.values.iter().map(|&value| value as f32).collect();
            TensorData::new(values, host.shape.clone())
        };
        layer.router = Param::from_data(data(&self.router), device);
        layer.up = Param::from_data(data(&self.up), device);
        layer.down = Param::from_data(data(&self.down), device);
        Ok(layer)
    }

    /// Every expert's result for every token, weighted; 0 for those that a token does not go to.
    fn dense(&self, tokens: &Host) -> Host {
        let logits = times(tokens, &self.router);
        let [count, experts] = matrix(&logits);
        let mut out = Host::zeros(&tokens.shape);
        for token in 0..count {
            let logits = &logits.values[token * experts..][..experts];
            let most = logits.iter().copied().fold(f64::MIN, f64::max);
            let powers: Vec<f64> = logits.iter().map(|logit| (logit - most).exp()).collect();
            let all: f64 = powers.iter().sum();
            let mut order: Vec<usize> = (0..experts).collect();
            order.sort_by(|&a, &b| powers[b].total_cmp(&powers[a]));
            order.truncate(self.top_k);
            let chosen: f64 = order.iter().map(|&expert| powers[expert] / all).sum();
            for expert in order {
                let weight = powers[expert] / all / if self.normalise { chosen } else { 1.0 };
                let hidden = times(&row(tokens, token as i64), &part(&self.up, expert));
                let hidden = hidden.map(|x| match self.activation {
                    MoeActivation::Relu => x.max(0.0),
                    MoeActivation::Silu => x / (1.0 + (-x).exp()),
                    MoeActivation::Gelu => unreachable!("its function is checked with the kernels"),
                });
                let made = times(&hidden, &part(&self.down, expert));
                for (column, value) in made.values.iter().enumerate() {
                    out.values[token * tokens.shape[1] + column] += weight * value;
                }
            }
        }
        out
    }
}

fn experts_are_the_dense_sum(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    for (top_k, normalise, activation) in [
        (1, true, MoeActivation::Silu),
        (2, true, MoeActivation::Relu),
        (2, false, MoeActivation::Silu),
        (4, true, MoeActivation::Silu),
    ] {
        let experts = Experts::new(top_k, normalise, activation);
        for tokens in [1, 7, 40] {
            let tokens = small(&[tokens, 6], 9);
            let out = experts
                .layer(&device)?
                .forward(floats::<2>(&tokens, &device))?;
            assert_matches(out, &experts.dense(&tokens), 1e-4);
        }
    }
    // Tokens of more axes, and none.
    let experts = Experts::new(2, true, MoeActivation::Silu);
    let tokens = small(&[2, 3, 6], 9);
    let flat = Host {
        shape: vec![6, 6],
        values: tokens.values.clone(),
    };
    let out = experts
        .layer(&device)?
        .forward(floats::<3>(&tokens, &device))?;
    let want = Host {
        shape: vec![2, 3, 6],
        values: experts.dense(&flat).values,
    };
    assert_matches(out, &want, 1e-4);
    Ok(())
}

fn experts_have_gradients(rt: &Rt) -> Result<(), Error> {
    let device = device(rt).autodiff();
    let tokens = small(&[9, 6], 9);
    for normalise in [true, false] {
        let experts = Experts::new(2, normalise, MoeActivation::Silu);
        let layer = experts.layer(&device)?;
        let leaf = floats::<2>(&tokens, &device).require_grad();
        let out = layer.forward(leaf.clone())?;
        let gradients = loss(out, &device).backward();
        let want = finite_differences(&tokens, |tokens| weigh(&experts.dense(tokens)));
        assert_matches(leaf.grad(&gradients).expect("a leaf"), &want, TOLERANCE);
        let with = |change: &dyn Fn(&mut Experts)| {
            let mut changed = Experts::new(2, normalise, MoeActivation::Silu);
            change(&mut changed);
            weigh(&changed.dense(&tokens))
        };
        let want = finite_differences(&experts.router, |w| with(&|e| e.router = w.clone()));
        assert_matches(
            layer.router.val().grad(&gradients).expect("a leaf"),
            &want,
            TOLERANCE,
        );
        let want = finite_differences(&experts.up, |w| with(&|e| e.up = w.clone()));
        assert_matches(
            layer.up.val().grad(&gradients).expect("a leaf"),
            &want,
            TOLERANCE,
        );
        let want = finite_differences(&experts.down, |w| with(&|e| e.down = w.clone()));
        assert_matches(
            layer.down.val().grad(&gradients).expect("a leaf"),
            &want,
            TOLERANCE,
        );
    }
    Ok(())
}

fn experts_that_nobody_asks(rt: &Rt) -> Result<(), Error> {
    let device = device(rt).autodiff();
    let mut experts = Experts::new(1, false, MoeActivation::Silu);
    // The first expert's logit is the largest for every token.
    for at in 0..6 {
        for expert in 0..4 {
            experts.router.values[at * 4 + expert] = if expert == 0 { 2.0 } else { -2.0 };
        }
    }
    let tokens = small(&[12, 6], 9).map(|value| value.abs() + 0.1);
    let layer = experts.layer(&device)?;
    let out = layer.forward(floats::<2>(&tokens, &device))?;
    assert_matches(out.clone(), &experts.dense(&tokens), 1e-4);
    let gradients = loss(out, &device).backward();
    let up = layer.up.val().grad(&gradients).expect("a leaf");
    let values = up.try_to_vec_as::<f64>().expect("the tensor is read back");
    let (asked, others) = values.split_at(6 * 5);
    assert!(asked.iter().any(|&value| value != 0.0));
    assert!(others.iter().all(|&value| value == 0.0));
    Ok(())
}

fn balance_is_least_where_all_are_asked(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let experts = Experts::new(2, true, MoeActivation::Silu);
    let tokens = small(&[40, 6], 9);
    let layer = experts.layer(&device)?;
    let (out, balance) = layer.forward_with_balance(floats::<2>(&tokens, &device))?;
    assert_matches(out, &experts.dense(&tokens), 1e-4);
    // The same of the host.
    let logits = times(&tokens, &experts.router);
    let (mut parts, mut means) = ([0.0; 4], [0.0; 4]);
    for token in 0..40 {
        let logits = &logits.values[token * 4..][..4];
        let all: f64 = logits.iter().map(|logit| logit.exp()).sum();
        let mut order = [0, 1, 2, 3];
        order.sort_by(|&a: &usize, &b: &usize| logits[b].total_cmp(&logits[a]));
        order[..2]
            .iter()
            .for_each(|&expert| parts[expert] += 1.0 / 80.0);
        (0..4).for_each(|expert| means[expert] += logits[expert].exp() / all / 40.0);
    }
    let want: f64 = (0..4)
        .map(|expert| 4.0 * parts[expert] * means[expert])
        .sum();
    let found = balance
        .try_to_vec_as::<f64>()
        .expect("the tensor is read back");
    approx::assert_relative_eq!(found[0], want, max_relative = 1e-4);
    Ok(())
}

fn layers_refuse(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let text = |error: Option<Error>| error.expect("refused").to_string();
    for top_k in [0, 5] {
        assert_eq!(
            text(MoeLayerConfig::new(6, 5, 4, top_k).init(&device).err()),
            format!(
                "top_k is {top_k}; MoeLayerConfig::init needs 1 to 4, as many as there are experts"
            )
        );
    }
    let layer = MoeLayerConfig::new(6, 5, 4, 2).init(&device)?;
    let tokens = floats::<3>(&small(&[2, 3, 7], 1), &device);
    assert_eq!(
        text(layer.forward(tokens).err()),
        "tokens has shape [2, 3, 7]; MoeLayer::forward needs [2, 3, 6]"
    );
    Ok(())
}

fn layers_draw_their_weights(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let layer = MoeLayerConfig::new(32, 64, 4, 2).init(&device)?;
    let values = layer
        .up
        .val()
        .try_to_vec_as::<f64>()
        .expect("the tensor is read back");
    let limit = (6.0_f64 / 96.0).sqrt();
    let variance = values.iter().map(|value| value * value).sum::<f64>() / values.len() as f64;
    assert!(values.iter().all(|value| value.abs() <= limit * 1.0001));
    approx::assert_relative_eq!(variance, limit * limit / 3.0, max_relative = 0.1);
    Ok(())
}
