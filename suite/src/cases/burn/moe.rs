//! The mixture of experts: values and gradients on the host in f64.

use burn::module::{Module, Param};
use burn::tensor::{DType, Device, Tensor, TensorData};
use girih_burn::{Error, MoeActivation, MoeLayer, MoeLayerConfig};
use girih_testkit::{Rt, cases, needs};

use super::matmul::{TOLERANCE, loss, matrix, part, row, small, times, weigh};
use super::{Host, assert_matches, device, floats, host::finite_differences};
use crate::cases::kernels::experts::activations::erf;

cases! {
    experts_are_the_dense_sum,
    experts_have_gradients,
    experts_that_nobody_asks,
    gradients_of_some_alone,
    every_run_gives_the_same_bits,
    no_tokens,
    experts_of_f16 needs [needs::F16],
    experts_of_bf16 needs [needs::BF16],
    balance_is_least_where_all_are_asked,
    layers_refuse,
    layers_draw_their_weights,
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
                    MoeActivation::Gelu => x * (1.0 + erf(x / 2.0_f64.sqrt())) / 2.0,
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
    // Tokens of more axes.
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
    for (count, top_k, normalise, activation) in [
        (9, 2, true, MoeActivation::Silu),
        (9, 2, false, MoeActivation::Silu),
        (9, 3, true, MoeActivation::Gelu),
        (40, 4, true, MoeActivation::Silu),
        (1, 1, false, MoeActivation::Gelu),
        (7, 1, true, MoeActivation::Relu),
    ] {
        let tokens = small(&[count, 6], 9);
        let made = || Experts::new(top_k, normalise, activation);
        let experts = made();
        let layer = experts.layer(&device)?;
        let leaf = floats::<2>(&tokens, &device).require_grad();
        let out = layer.forward(leaf.clone())?;
        let gradients = loss(out, &device).backward();
        let want = finite_differences(&tokens, |tokens| weigh(&experts.dense(tokens)));
        assert_matches(leaf.grad(&gradients).expect("a leaf"), &want, TOLERANCE);
        let with = |change: &dyn Fn(&mut Experts)| {
            let mut changed = made();
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

/// Nothing is computed but what is asked for, and the rest is right.
fn gradients_of_some_alone(rt: &Rt) -> Result<(), Error> {
    let device = device(rt).autodiff();
    let tokens = small(&[9, 6], 9);
    let experts = Experts::new(2, true, MoeActivation::Silu);
    let layer = experts.layer(&device)?;
    let frozen = layer.clone().no_grad();
    // The tokens alone.
    let leaf = floats::<2>(&tokens, &device).require_grad();
    let gradients = loss(frozen.forward(leaf.clone())?, &device).backward();
    let want = finite_differences(&tokens, |tokens| weigh(&experts.dense(tokens)));
    assert_matches(leaf.grad(&gradients).expect("a leaf"), &want, TOLERANCE);
    assert!(frozen.up.val().grad(&gradients).is_none());
    // The second matrices alone.
    let mut trained = frozen;
    trained.down = layer.down.clone();
    let gradients = loss(trained.forward(floats::<2>(&tokens, &device))?, &device).backward();
    let want = finite_differences(&experts.down, |down| {
        let mut changed = Experts::new(2, true, MoeActivation::Silu);
        changed.down = down.clone();
        weigh(&changed.dense(&tokens))
    });
    assert_matches(
        trained.down.val().grad(&gradients).expect("a leaf"),
        &want,
        TOLERANCE,
    );
    assert!(trained.up.val().grad(&gradients).is_none());
    Ok(())
}

/// Nothing is added in an order that depends on the run.
fn every_run_gives_the_same_bits(rt: &Rt) -> Result<(), Error> {
    let device = device(rt).autodiff();
    let experts = Experts::new(3, true, MoeActivation::Silu);
    let layer = experts.layer(&device)?;
    let tokens = small(&[70, 6], 9);
    let run = || -> Result<Vec<Vec<f64>>, Error> {
        let leaf = floats::<2>(&tokens, &device).require_grad();
        let out = layer.forward(leaf.clone())?;
        let gradients = loss(out.clone(), &device).backward();
        let of_matrices = [&layer.up, &layer.down].map(|param| param.val().grad(&gradients));
        let read = |tensor: Tensor<1>| -> Vec<f64> {
            tensor.try_to_vec_as().expect("the tensor is read back")
        };
        let of_tokens = leaf.grad(&gradients).expect("a leaf");
        let mut all = vec![read(out.flatten(0, 1)), read(of_tokens.flatten(0, 1))];
        for gradient in of_matrices {
            all.push(read(gradient.expect("a leaf").flatten(0, 2)));
        }
        Ok(all)
    };
    let first = run()?;
    for _ in 0..3 {
        assert_eq!(run()?, first);
    }
    Ok(())
}

fn no_tokens(rt: &Rt) -> Result<(), Error> {
    let device = device(rt).autodiff();
    let layer = Experts::new(2, true, MoeActivation::Silu).layer(&device)?;
    let none = floats::<2>(&Host::zeros(&[0, 6]), &device);
    let out = layer.forward(none)?;
    assert_eq!(out.dims(), [0, 6]);
    let values = out.try_to_vec_as::<f64>().expect("the tensor is read back");
    assert!(values.is_empty());
    Ok(())
}

/// Halves against the host's f64: errors are those of rounding scores and what is between the products. Tokens go to all experts, so
/// that no rounded score changes where they go.
fn experts_of_halves(rt: &Rt, dtype: DType, tolerance: f64) -> Result<(), Error> {
    let device = device(rt).autodiff();
    let experts = Experts::new(4, true, MoeActivation::Silu);
    let rounded = |host: &Host| {
        let there = floats::<1>(
            &Host {
                shape: vec![host.values.len()],
                values: host.values.clone(),
            },
            &device,
        );
        let back = there.cast(dtype).cast(DType::F32);
        Host {
            shape: host.shape.clone(),
            values: back
                .try_to_vec_as::<f64>()
                .expect("the tensor is read back"),
        }
    };
    let experts = Experts {
        router: rounded(&experts.router),
        up: rounded(&experts.up),
        down: rounded(&experts.down),
        ..experts
    };
    let tokens = rounded(&small(&[40, 6], 9));
    let mut layer = experts.layer(&device)?;
    let cast = |host: &Host| {
        floats::<3>(host, &device)
            .cast(dtype)
            .detach()
            .require_grad()
    };
    layer.up = Param::from_tensor(cast(&experts.up));
    layer.down = Param::from_tensor(cast(&experts.down));
    let router = floats::<2>(&experts.router, &device).cast(dtype).detach();
    layer.router = Param::from_tensor(router.require_grad());
    let leaf = floats::<2>(&tokens, &device)
        .cast(dtype)
        .detach()
        .require_grad();
    let out = layer.forward(leaf.clone())?;
    assert_matches(out.clone(), &experts.dense(&tokens), tolerance);
    let gradients = loss(out.cast(DType::F32), &device).backward();
    let want = finite_differences(&tokens, |tokens| weigh(&experts.dense(tokens)));
    assert_matches(
        leaf.grad(&gradients).expect("a leaf"),
        &want,
        4.0 * tolerance,
    );
    Ok(())
}

fn experts_of_f16(rt: &Rt) -> Result<(), Error> {
    experts_of_halves(rt, DType::F16, 1e-2)
}

fn experts_of_bf16(rt: &Rt) -> Result<(), Error> {
    experts_of_halves(rt, DType::BF16, 5e-2)
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
