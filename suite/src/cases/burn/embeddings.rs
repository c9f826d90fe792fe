//! Embeddings, and the gradients of gathers by their options.

use burn::nn::EmbeddingConfig as BurnEmbeddingConfig;
use burn::tensor::{Int, Tensor};
use girih_burn::nn::EmbeddingConfig;
use girih_burn::{Bounds, Determinism, Error, GatherOptions, gather};
use girih_testkit::{Rt, cases};

use super::bags::INDEX;
use super::{Host, assert_matches, device, floats, indices, total};

cases! {
    gathers_in_order,
    an_embedding_is_burns,
    padding_has_no_gradient,
}

/// The gradient of a gather, in any order and in that of its indices, with a padding and without.
fn gathers_in_order(rt: &Rt) -> Result<(), Error> {
    let device = device(rt).autodiff();
    let slopes = Host::sample(&[9, 4], 6);
    for determinism in [Determinism::Any, Determinism::RunToRun] {
        for padding in [None, Some(3)] {
            for axis in [0, 1] {
                let options = GatherOptions {
                    determinism,
                    padding,
                    ..Bounds::Mask.into()
                };
                let shape = if axis == 0 { [10, 4] } else { [4, 10] };
                let leaf = floats::<2>(&Host::sample(&shape, 3), &device).require_grad();
                let index = indices(&INDEX, &device);
                let slices = gather(leaf.clone(), axis, index, options)?.into_inner();
                let weights = match axis {
                    0 => floats::<2>(&slopes, &device),
                    _ => floats::<2>(&slopes, &device).transpose(),
                };
                let gradients = total(slices * weights).backward();
                let mut want = Host::zeros(&[10, 4]);
                for (at, &row) in INDEX.iter().enumerate() {
                    let row = usize::try_from(row)
                        .ok()
                        .filter(|&row| Some(row) != padding);
                    let Some(row) = row.filter(|&row| row < 10) else {
                        continue;
                    };
                    for column in 0..4 {
                        want.values[row * 4 + column] += slopes.values[at * 4 + column];
                    }
                }
                let want = if axis == 0 { want } else { want.transpose() };
                assert_matches(leaf.grad(&gradients).expect("a leaf"), &want, 1e-3);
            }
        }
    }
    let table = floats::<2>(&Host::sample(&[10, 4], 3), &device);
    let options = GatherOptions {
        padding: Some(10),
        ..Bounds::Mask.into()
    };
    let refused = gather(table, 0, indices(&INDEX, &device), options);
    assert_eq!(
        refused.expect_err("no such row").to_string(),
        "padding is 10; gather needs a row of the table, in 0..10"
    );
    Ok(())
}

/// Two rows of three.
pub(super) fn words(device: &burn::tensor::Device) -> Tensor<2, Int> {
    Tensor::from_ints([[3, 1, 3], [0, 4, 1]], device)
}

fn an_embedding_is_burns(rt: &Rt) -> Result<(), Error> {
    let device = device(rt).autodiff();
    let ours = EmbeddingConfig::new(5, 4).init(&device);
    let mut theirs = BurnEmbeddingConfig::new(5, 4).init(&device);
    theirs.weight = ours.weight.clone();
    let slopes = floats::<3>(&Host::sample(&[2, 3, 4], 4), &device);
    let (found, want) = (ours.forward(words(&device)), theirs.forward(words(&device)));
    let values = |tensor: Tensor<3>| tensor.to_data().try_to_vec::<f32>().expect("f32");
    assert_eq!(values(found.clone()), values(want.clone()));
    let gradients = [found, want].map(|rows| total(rows * slopes.clone()).backward());
    let [found, want] = gradients.map(|gradients| ours.weight.grad(&gradients).expect("a leaf"));
    let want = want.to_data().try_to_vec::<f32>().expect("f32");
    let want = Host {
        shape: vec![5, 4],
        values: want.into_iter().map(f64::from).collect(),
    };
    assert_matches(found, &want, 1e-6);
    Ok(())
}

fn padding_has_no_gradient(rt: &Rt) -> Result<(), Error> {
    let device = device(rt).autodiff();
    let embedding = EmbeddingConfig::new(5, 4)
        .with_padding(Some(3))
        .init(&device);
    let rows = embedding.forward(words(&device));
    let gradients = total(rows).backward();
    let gradient = embedding.weight.grad(&gradients).expect("a leaf");
    let mut want = Host::zeros(&[5, 4]);
    for (row, uses) in [(0, 1.0), (1, 2.0), (4, 1.0)] {
        want.values[row * 4..(row + 1) * 4].fill(uses);
    }
    assert_matches(gradient, &want, 1e-6);
    Ok(())
}
