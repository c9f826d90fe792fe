//! Row-sparse gradients, and optimisers on them against dense ones of the host.

use burn::tensor::{Device, Int, Tensor};
use girih_burn::nn::{Embedding, EmbeddingConfig};
use girih_burn::{
    Bounds, Error, SparseAdaGradConfig, SparseAdamConfig, SparseGrad, SparseSgdConfig,
};
use girih_testkit::{Rt, cases};

use super::{Host, assert_matches, device, floats, indices, total};

cases! {
    rows_are_added_up_once_each,
    nothing_is_used,
    descent_is_the_dense_one,
    momentum_is_the_dense_one,
    adagrad_is_the_dense_one,
    adam_is_the_dense_one,
    a_record_gives_the_dense_gradient,
    a_gradient_of_another_table_is_refused,
}

const ROWS: usize = 12;
const COLUMNS: usize = 6;
const INDEX: [i64; 9] = [7, 3, 7, -1, 0, 40, 3, 7, 5];
/// What has no gradient.
const PADDING: usize = 5;
/// The rows that are used.
const USED: [usize; 3] = [0, 3, 7];
const STEPS: usize = 4;
const RATE: f64 = 0.1;

/// The dense gradient of a table, from that of the rows taken.
fn dense(taken: &Host) -> Host {
    let mut gradient = Host::zeros(&[ROWS, COLUMNS]);
    for (entry, &row) in INDEX.iter().enumerate() {
        if (0..ROWS as i64).contains(&row) && row != PADDING as i64 {
            for column in 0..COLUMNS {
                let at = row as usize * COLUMNS + column;
                gradient.values[at] += taken.values[entry * COLUMNS + column];
            }
        }
    }
    gradient
}

fn sparse(taken: &Host, device: &Device) -> Result<SparseGrad, Error> {
    let (index, taken) = (indices(&INDEX, device), floats::<2>(taken, device));
    SparseGrad::new(index, taken, ROWS, Some(PADDING), Bounds::Mask)
}

fn rows_are_added_up_once_each(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let taken = Host::sample(&[INDEX.len(), COLUMNS], 2);
    let gradient = sparse(&taken, &device)?;
    let index = gradient.index().to_data().iter::<i64>().collect::<Vec<_>>();
    assert_eq!(index, [0, 3, 7, -1, -1, -1, -1, -1, -1]);
    let want = dense(&taken);
    let mut rows = Host::zeros(&[INDEX.len(), COLUMNS]);
    for (at, row) in USED.into_iter().enumerate() {
        let from = &want.values[row * COLUMNS..(row + 1) * COLUMNS];
        rows.values[at * COLUMNS..(at + 1) * COLUMNS].copy_from_slice(from);
    }
    assert_matches(gradient.rows(), &rows, 1e-6);
    assert_matches(gradient.to_dense()?, &want, 1e-6);
    Ok(())
}

fn nothing_is_used(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let rows = Tensor::<2>::ones([2, COLUMNS], &device);
    let index = indices(&[-4, 99], &device);
    let gradient = SparseGrad::new(index, rows, ROWS, None, Bounds::Mask)?;
    let embedding = embedding(&device);
    let before = bits(&embedding);
    let after = SparseAdamConfig::new()
        .init()
        .step(RATE, embedding, gradient)?;
    assert_eq!(bits(&after), before);
    Ok(())
}

fn embedding(device: &Device) -> Embedding {
    let config = EmbeddingConfig::new(ROWS, COLUMNS).with_padding(Some(PADDING));
    config.init(device)
}

fn bits(embedding: &Embedding) -> Vec<u32> {
    let values = embedding
        .weight
        .val()
        .to_data()
        .try_to_vec::<f32>()
        .expect("f32");
    values.into_iter().map(f32::to_bits).collect()
}

/// Makes steps on a device and, of the used rows, on the host; compares the tables after each.
fn steps(
    rt: &Rt,
    mut step: impl FnMut(Embedding, SparseGrad) -> Result<Embedding, Error>,
    mut host: impl FnMut(usize, usize, &mut f64, f64),
) -> Result<(), Error> {
    let device = device(rt).autodiff();
    let mut embedding = embedding(&device);
    let first = bits(&embedding);
    let mut want: Vec<f64> = first
        .iter()
        .map(|&bits| f32::from_bits(bits).into())
        .collect();
    for time in 1..=STEPS {
        let taken = Host::sample(&[INDEX.len(), COLUMNS], time).map(|slope| slope / 8.0);
        let gradient = dense(&taken);
        for row in USED {
            let elements = row * COLUMNS..(row + 1) * COLUMNS;
            let slopes = &gradient.values[elements.clone()];
            for ((at, want), slope) in elements.clone().zip(&mut want[elements]).zip(slopes) {
                host(time, at, want, *slope);
            }
        }
        embedding = step(embedding, sparse(&taken, &device)?)?;
        let found = bits(&embedding);
        for (at, (&found, &first)) in found.iter().zip(&first).enumerate() {
            let row = at / COLUMNS;
            if !USED.contains(&row) {
                assert_eq!(found, first, "row {row} is not used");
                continue;
            }
            let (found, want) = (f64::from(f32::from_bits(found)), want[at]);
            let is_close = (found - want).abs() <= 2e-5 * want.abs().max(1.0);
            assert!(is_close, "row {row}, step {time}: {found}, not {want}");
        }
    }
    Ok(())
}

fn descent_is_the_dense_one(rt: &Rt) -> Result<(), Error> {
    let mut sgd = SparseSgdConfig::new().init();
    steps(
        rt,
        |embedding, gradient| sgd.step(RATE, embedding, gradient),
        |_, _, value, slope| *value -= RATE * slope,
    )
}

fn momentum_is_the_dense_one(rt: &Rt) -> Result<(), Error> {
    for nesterov in [false, true] {
        let config = SparseSgdConfig::new()
            .with_momentum(0.9)
            .with_nesterov(nesterov);
        let mut sgd = config.init();
        let mut velocity = vec![0.0; ROWS * COLUMNS];
        steps(
            rt,
            |embedding, gradient| sgd.step(RATE, embedding, gradient),
            |_, at, value, slope| {
                velocity[at] = 0.9 * velocity[at] + slope;
                *value -= RATE
                    * match nesterov {
                        true => 0.9 * velocity[at] + slope,
                        false => velocity[at],
                    };
            },
        )?;
    }
    Ok(())
}

fn adagrad_is_the_dense_one(rt: &Rt) -> Result<(), Error> {
    let mut adagrad = SparseAdaGradConfig::new().with_lr_decay(0.05).init();
    let mut sums = vec![0.0; ROWS * COLUMNS];
    steps(
        rt,
        |embedding, gradient| adagrad.step(RATE, embedding, gradient),
        |time, at, value, slope| {
            sums[at] += slope * slope;
            let rate = RATE / (1.0 + 0.05 * (time as f64 - 1.0));
            *value -= rate * slope / (f64::sqrt(sums[at]) + 1e-5);
        },
    )
}

fn adam_is_the_dense_one(rt: &Rt) -> Result<(), Error> {
    let mut adam = SparseAdamConfig::new().init();
    let (mut means, mut squares) = (vec![0.0; ROWS * COLUMNS], vec![0.0; ROWS * COLUMNS]);
    steps(
        rt,
        |embedding, gradient| adam.step(RATE, embedding, gradient),
        |time, at, value, slope| {
            means[at] = 0.9 * means[at] + 0.1 * slope;
            squares[at] = 0.999 * squares[at] + 0.001 * slope * slope;
            let mean = means[at] / (1.0 - 0.9f64.powi(time as i32));
            let square = squares[at] / (1.0 - 0.999f64.powi(time as i32));
            *value -= RATE * mean / (f64::sqrt(square) + 1e-5);
        },
    )
}

fn a_record_gives_the_dense_gradient(rt: &Rt) -> Result<(), Error> {
    let device = device(rt).autodiff();
    let embedding = embedding(&device);
    let words = Tensor::<2, Int>::from_ints([[7, 3, 7], [5, 0, 3]], &device);
    let slopes = floats::<3>(&Host::sample(&[2, 3, COLUMNS], 7), &device);
    let loss = |rows: Tensor<3>| total(rows.powi_scalar(2) * slopes.clone());
    let (rows, record) = embedding.forward_sparse(words.clone())?;
    let gradients = loss(rows).backward();
    assert!(embedding.weight.grad(&gradients).is_none());
    let gradient = record.grad(&gradients)?.expect("the pass reached it");
    let found = gradient
        .to_dense()?
        .to_data()
        .try_to_vec::<f32>()
        .expect("f32");
    let gradients = loss(embedding.forward(words)).backward();
    let want = embedding.weight.grad(&gradients).expect("a leaf");
    let found = Host {
        shape: vec![ROWS, COLUMNS],
        values: found.into_iter().map(f64::from).collect(),
    };
    assert_matches(want, &found, 1e-4);
    // And a step goes on from a tracked table to a tracked table.
    let stepped = SparseSgdConfig::new()
        .init()
        .step(RATE, embedding, gradient)?;
    assert!(stepped.weight.is_require_grad());
    assert!(stepped.weight.device().is_autodiff());
    Ok(())
}

fn a_gradient_of_another_table_is_refused(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let gradient = sparse(&Host::sample(&[INDEX.len(), COLUMNS], 1), &device)?;
    let other = EmbeddingConfig::new(ROWS + 1, COLUMNS).init(&device);
    let refused = SparseSgdConfig::new().init().step(RATE, other, gradient);
    assert_eq!(
        refused.expect_err("another table").to_string(),
        "the gradient's table has shape [12, 6]; a sparse optimiser's step needs [13, 6]"
    );
    Ok(())
}
