//! Gradients of the ops, against central differences of a loss on the host and against Burn's Flex backend.
//!
//! The loss is the weighted sum of squares of one more than an op's result: central differences of it are exact but for
//! rounding, the gradient of each element is another, and it is not zero where the result is.

use burn::tensor::{DType, Device, IndexingUpdateOp, Int, Tensor};
use girih_burn::nn::EmbeddingConfig;
use girih_burn::{
    Bounds, Determinism, Duplicates, Error, GatherOptions, Scatter, ScatterOptions, gather,
    scatter, scatter_sum,
};
use girih_testkit::{Rt, cases, needs};

use super::{Host, assert_matches, device, floats, host::finite_differences, indices, total};

const REPEATED: [i64; 7] = [3, 0, 3, 9, 5, 0, 3];
const DISTINCT: [i64; 4] = [7, 2, 9, 0];
/// Some of these are out of range under each policy; distinct where they are clamped or wrapped.
const WILD: [i64; 5] = [4, -3, 12, 7_000, -7_000];
const POLICIES: [Bounds; 4] = [Bounds::Mask, Bounds::Clamp, Bounds::Wrap, Bounds::Report];

/// Of values up to 16, squared, doubled, weighted by up to 16 and summed seven times, in f32.
const TOLERANCE: f64 = 1e-3;

cases! {
    of_gather_along_every_axis,
    of_gather_under_every_policy,
    of_gather_in_f16 needs [needs::F16],
    of_gather_from_a_view,
    of_scatter_by_adding,
    of_scatter_by_writing,
    of_scatter_under_every_policy,
    of_scatter_in_its_updates_alone,
    of_sums_under_every_policy,
    of_ops_in_a_row,
    of_scatter_by_combining,
    of_sums_in_order,
    of_gather_in_order,
    of_embeddings,
}

/// `sum(weights * (result + 1)^2)` on a device.
fn loss<const D: usize>(result: Tensor<D>, weights: &Host, device: &Device) -> Tensor<1> {
    total((result + 1.0).powi_scalar(2) * floats::<D>(weights, device))
}

/// The same on the host.
fn host_loss(result: &Host, weights: &Host) -> f64 {
    result
        .zip(weights, |result, weight| weight * (result + 1.0).powi(2))
        .sum()
}

/// The shape of slices of `shape`.
fn sliced<const D: usize>(mut shape: [usize; D], axis: usize, slices: usize) -> [usize; D] {
    shape[axis] = slices;
    shape
}

/// Checks the gradient of a gather against the host's.
fn gather_gradient<const D: usize>(
    rt: &Rt,
    shape: [usize; D],
    axis: usize,
    index: &[i64],
    bounds: Bounds,
) -> Result<(), Error> {
    let device = device(rt).autodiff();
    let table = Host::sample(&shape, 20);
    let weights = Host::sample(&sliced(shape, axis, index.len()), 21);
    let leaf = floats::<D>(&table, &device).require_grad();
    let slices = gather(leaf.clone(), axis, indices(index, &device), bounds)?.into_inner();
    let gradients = loss(slices, &weights, &device).backward();
    let want = finite_differences(&table, |table| {
        host_loss(&table.gather(axis, index, bounds), &weights)
    });
    assert_matches(
        leaf.grad(&gradients).expect("the table is a leaf"),
        &want,
        TOLERANCE,
    );
    Ok(())
}

fn of_gather_along_every_axis(rt: &Rt) -> Result<(), Error> {
    for (axis, shape) in [[10, 2, 3], [2, 10, 3], [2, 3, 10]].into_iter().enumerate() {
        gather_gradient(rt, shape, axis, &REPEATED, Bounds::Assume)?;
    }
    // Flex computes the same from Burn's own op.
    let flex = Device::flex().autodiff();
    let (table, weights) = (Host::sample(&[10, 6], 20), Host::sample(&[7, 6], 21));
    let leaf = floats::<2>(&table, &flex).require_grad();
    let rows = leaf.clone().select(0, indices(&REPEATED, &flex));
    let of_flex = leaf
        .grad(&loss(rows, &weights, &flex).backward())
        .expect("a leaf");
    let want = Host {
        shape: vec![10, 6],
        values: of_flex.try_to_vec_as().expect("on the host"),
    };
    let device = device(rt).autodiff();
    let leaf = floats::<2>(&table, &device).require_grad();
    let rows = gather(leaf.clone(), 0, indices(&REPEATED, &device), Bounds::Mask)?.into_inner();
    let gradients = loss(rows, &weights, &device).backward();
    assert_matches(leaf.grad(&gradients).expect("a leaf"), &want, TOLERANCE);
    Ok(())
}

fn of_gather_under_every_policy(rt: &Rt) -> Result<(), Error> {
    for bounds in POLICIES {
        gather_gradient(rt, [10, 3], 0, &WILD, bounds)?;
    }
    Ok(())
}

fn of_gather_in_f16(rt: &Rt) -> Result<(), Error> {
    let device = device(rt).autodiff();
    let table = Host::sample(&[10, 6], 22);
    let leaf = floats::<2>(&table, &device).cast(DType::F16).require_grad();
    let rows = gather(leaf.clone(), 0, indices(&REPEATED, &device), Bounds::Mask)?.into_inner();
    let gradients = total(rows.mul_scalar(0.5)).backward();
    // Halves for each copy: exact in f16.
    let halves = Host::sample(&[7, 6], 0).map(|_| 0.5);
    let want = Host::zeros(&[10, 6]).scatter(0, &REPEATED, &halves, Scatter::Add, Bounds::Mask);
    let got = leaf.grad(&gradients).expect("the table is a leaf");
    assert_eq!(got.dtype(), DType::F16);
    assert_matches(got, &want, 0.0);
    Ok(())
}

fn of_gather_from_a_view(rt: &Rt) -> Result<(), Error> {
    let device = device(rt).autodiff();
    let (table, weights) = (Host::sample(&[3, 10], 23), Host::sample(&[7, 3], 24));
    let leaf = floats::<2>(&table, &device).require_grad();
    let index = indices(&REPEATED, &device);
    let rows = gather(leaf.clone().transpose(), 0, index, Bounds::Mask)?.into_inner();
    let gradients = loss(rows, &weights, &device).backward();
    let want = finite_differences(&table, |table| {
        host_loss(
            &table.transpose().gather(0, &REPEATED, Bounds::Mask),
            &weights,
        )
    });
    assert_matches(
        leaf.grad(&gradients).expect("the table is a leaf"),
        &want,
        TOLERANCE,
    );
    Ok(())
}

/// Checks both gradients of a scatter along axis 0 against the host's.
fn scatter_gradient(rt: &Rt, index: &[i64], mode: Scatter, bounds: Bounds) -> Result<(), Error> {
    let device = device(rt).autodiff();
    let (target, updates) = (
        Host::sample(&[10, 3], 25),
        Host::sample(&[index.len(), 3], 26),
    );
    let weights = Host::sample(&[10, 3], 27);
    let leaves = [&target, &updates].map(|host| floats::<2>(host, &device).require_grad());
    let [into, added] = leaves.clone();
    let result = scatter(into, 0, indices(index, &device), added, mode, bounds)?.into_inner();
    let gradients = loss(result, &weights, &device).backward();
    let of = |target: &Host, updates: &Host| {
        host_loss(&target.scatter(0, index, updates, mode, bounds), &weights)
    };
    let wants = [
        finite_differences(&target, |target| of(target, &updates)),
        finite_differences(&updates, |updates| of(&target, updates)),
    ];
    for (leaf, want) in leaves.iter().zip(&wants) {
        assert_matches(
            leaf.grad(&gradients).expect("both are leaves"),
            want,
            TOLERANCE,
        );
    }
    Ok(())
}

fn of_scatter_by_adding(rt: &Rt) -> Result<(), Error> {
    scatter_gradient(rt, &REPEATED, Scatter::Add, Bounds::Assume)?;
    against_flex(rt, &REPEATED, Scatter::Add, IndexingUpdateOp::Add)
}

fn of_scatter_by_writing(rt: &Rt) -> Result<(), Error> {
    scatter_gradient(rt, &DISTINCT, Scatter::Set, Bounds::Assume)?;
    against_flex(rt, &DISTINCT, Scatter::Set, IndexingUpdateOp::Assign)
}

/// Checks both gradients of a scatter against those of Burn's own op on Flex.
fn against_flex(rt: &Rt, index: &[i64], mode: Scatter, op: IndexingUpdateOp) -> Result<(), Error> {
    let (target, updates) = (
        Host::sample(&[10, 3], 25),
        Host::sample(&[index.len(), 3], 26),
    );
    let weights = Host::sample(&[10, 3], 27);
    let leaves =
        |device: &Device| [&target, &updates].map(|host| floats::<2>(host, device).require_grad());

    let flex = Device::flex().autodiff();
    let on_flex = leaves(&flex);
    let [into, added] = on_flex.clone();
    let result = into.select_assign(0, indices(index, &flex), added, op);
    let of_flex = loss(result, &weights, &flex).backward();

    let device = device(rt).autodiff();
    let on_device = leaves(&device);
    let [into, added] = on_device.clone();
    let result = scatter(into, 0, indices(index, &device), added, mode, Bounds::Mask)?.into_inner();
    let of_device = loss(result, &weights, &device).backward();

    for (ours, theirs) in on_device.iter().zip(&on_flex) {
        let theirs = theirs.grad(&of_flex).expect("both are leaves");
        let shape = theirs.dims().to_vec();
        let want = Host {
            shape,
            values: theirs.try_to_vec_as().expect("on the host"),
        };
        assert_matches(
            ours.grad(&of_device).expect("both are leaves"),
            &want,
            TOLERANCE,
        );
    }
    Ok(())
}

fn of_scatter_under_every_policy(rt: &Rt) -> Result<(), Error> {
    for bounds in POLICIES {
        scatter_gradient(rt, &WILD, Scatter::Add, bounds)?;
    }
    // A write needs indices that stay distinct.
    for bounds in POLICIES {
        scatter_gradient(rt, &[4, -3, 12], Scatter::Set, bounds)?;
    }
    Ok(())
}

fn of_scatter_in_its_updates_alone(rt: &Rt) -> Result<(), Error> {
    let device = device(rt).autodiff();
    let (target, updates) = (Host::sample(&[10, 3], 28), Host::sample(&[7, 3], 29));
    let weights = Host::sample(&[10, 3], 30);
    let leaf = floats::<2>(&updates, &device).require_grad();
    let into = floats::<2>(&target, &device);
    let index = indices(&REPEATED, &device);
    let result = scatter(into, 0, index, leaf.clone(), Scatter::Add, Bounds::Mask)?.into_inner();
    let gradients = loss(result, &weights, &device).backward();
    let want = finite_differences(&updates, |updates| {
        host_loss(
            &target.scatter(0, &REPEATED, updates, Scatter::Add, Bounds::Mask),
            &weights,
        )
    });
    assert_matches(
        leaf.grad(&gradients).expect("the updates are a leaf"),
        &want,
        TOLERANCE,
    );
    Ok(())
}

fn of_sums_under_every_policy(rt: &Rt) -> Result<(), Error> {
    let device = device(rt).autodiff();
    let (updates, weights) = (Host::sample(&[5, 3], 31), Host::sample(&[10, 3], 32));
    for bounds in POLICIES {
        let leaf = floats::<2>(&updates, &device).require_grad();
        let sums = scatter_sum(leaf.clone(), 0, indices(&WILD, &device), 10, bounds)?.into_inner();
        let gradients = loss(sums, &weights, &device).backward();
        let want = finite_differences(&updates, |updates| {
            let zeros = Host::zeros(&[10, 3]);
            host_loss(
                &zeros.scatter(0, &WILD, updates, Scatter::Add, bounds),
                &weights,
            )
        });
        assert_matches(
            leaf.grad(&gradients).expect("the updates are a leaf"),
            &want,
            TOLERANCE,
        );
    }
    Ok(())
}

/// A step of message passing: gather, scale, scatter-add; twice, as a graph network does.
fn of_ops_in_a_row(rt: &Rt) -> Result<(), Error> {
    const SENDERS: [i64; 6] = [0, 1, 1, 2, 3, 3];
    const RECEIVERS: [i64; 6] = [1, 0, 3, 3, 2, 0];
    let device = device(rt).autodiff();
    let (features, weights) = (Host::sample(&[4, 2], 33), Host::sample(&[4, 2], 34));
    let pass = |rows: Tensor<2>, senders: Tensor<1, Int>, receivers: Tensor<1, Int>| {
        let sent = gather(rows, 0, senders, Bounds::Mask)?
            .into_inner()
            .mul_scalar(0.25);
        Ok::<_, Error>(scatter_sum(sent, 0, receivers, 4, Bounds::Mask)?.into_inner())
    };
    let host_pass = |rows: &Host| {
        let sent = rows
            .gather(0, &SENDERS, Bounds::Mask)
            .map(|value| value * 0.25);
        Host::zeros(&[4, 2]).scatter(0, &RECEIVERS, &sent, Scatter::Add, Bounds::Mask)
    };
    let (senders, receivers) = (indices(&SENDERS, &device), indices(&RECEIVERS, &device));
    let leaf = floats::<2>(&features, &device).require_grad();
    let once = pass(leaf.clone(), senders.clone(), receivers.clone())?;
    let twice = pass(once, senders, receivers)?;
    let gradients = loss(twice, &weights, &device).backward();
    let want = finite_differences(&features, |features| {
        host_loss(&host_pass(&host_pass(features)), &weights)
    });
    assert_matches(
        leaf.grad(&gradients).expect("the features are a leaf"),
        &want,
        TOLERANCE,
    );
    Ok(())
}

/// Numbers about 1 of which no two are near each other.
fn apart(shape: &[usize], first: usize) -> Host {
    let count: usize = shape.iter().product();
    let value = |at: usize| 0.5 + (at * 37 % 101) as f64 / 101.0;
    Host {
        shape: shape.to_vec(),
        values: (first..first + count).map(value).collect(),
    }
}

/// Products of up to four, and extremes without two equal ones; the last of several that are written.
fn of_scatter_by_combining(rt: &Rt) -> Result<(), Error> {
    let device = device(rt).autodiff();
    let (target, updates) = (apart(&[10, 3], 0), apart(&[7, 3], 30));
    let weights = Host::sample(&[10, 3], 35);
    for (mode, duplicates) in [
        (Scatter::Mul, Duplicates::Unordered),
        (Scatter::Min, Duplicates::Unordered),
        (Scatter::Max, Duplicates::Deterministic),
        (Scatter::Set, Duplicates::LastWins),
    ] {
        let options = ScatterOptions {
            duplicates,
            ..Bounds::Mask.into()
        };
        let leaves = [&target, &updates].map(|host| floats::<2>(host, &device).require_grad());
        let [into, added] = leaves.clone();
        let index = indices(&REPEATED, &device);
        let result = scatter(into, 0, index, added, mode, options)?.into_inner();
        let gradients = loss(result, &weights, &device).backward();
        let of = |target: &Host, updates: &Host| {
            let result = target.scatter(0, &REPEATED, updates, mode, Bounds::Mask);
            host_loss(&result, &weights)
        };
        let wants = [
            finite_differences(&target, |target| of(target, &updates)),
            finite_differences(&updates, |updates| of(&target, updates)),
        ];
        for (leaf, want) in leaves.iter().zip(&wants) {
            let got = leaf.grad(&gradients).expect("both are leaves");
            assert_matches(got, want, TOLERANCE);
        }
    }
    Ok(())
}

fn of_sums_in_order(rt: &Rt) -> Result<(), Error> {
    let device = device(rt).autodiff();
    let (updates, weights) = (Host::sample(&[7, 3], 36), Host::sample(&[10, 3], 37));
    let leaf = floats::<2>(&updates, &device).require_grad();
    let index = indices(&REPEATED, &device);
    let in_order = Duplicates::Deterministic;
    let sums = scatter_sum(leaf.clone(), 0, index, 10, in_order)?.into_inner();
    let gradients = loss(sums, &weights, &device).backward();
    let want = finite_differences(&updates, |updates| {
        let zeros = Host::zeros(&[10, 3]);
        let sums = zeros.scatter(0, &REPEATED, updates, Scatter::Add, Bounds::Mask);
        host_loss(&sums, &weights)
    });
    assert_matches(leaf.grad(&gradients).expect("a leaf"), &want, TOLERANCE);
    Ok(())
}

fn of_gather_in_order(rt: &Rt) -> Result<(), Error> {
    let device = device(rt).autodiff();
    for (axis, shape) in [[10, 3], [3, 10]].into_iter().enumerate() {
        let table = Host::sample(&shape, 38);
        let weights = Host::sample(&sliced(shape, axis, REPEATED.len()), 39);
        let options = GatherOptions {
            determinism: Determinism::RunToRun,
            ..Bounds::Mask.into()
        };
        let leaf = floats::<2>(&table, &device).require_grad();
        let index = indices(&REPEATED, &device);
        let slices = gather(leaf.clone(), axis, index, options)?.into_inner();
        let gradients = loss(slices, &weights, &device).backward();
        let want = finite_differences(&table, |table| {
            host_loss(&table.gather(axis, &REPEATED, Bounds::Mask), &weights)
        });
        assert_matches(leaf.grad(&gradients).expect("a leaf"), &want, TOLERANCE);
    }
    Ok(())
}

/// The gradient of a module's table, and the same as the rows that were used.
fn of_embeddings(rt: &Rt) -> Result<(), Error> {
    let device = device(rt).autodiff();
    let embedding = EmbeddingConfig::new(10, 3).init(&device);
    let values = embedding.weight.val().try_to_vec_as::<f64>();
    let table = Host {
        shape: vec![10, 3],
        values: values.expect("the table is read back"),
    };
    let weights = Host::sample(&[7, 3], 40);
    let words = indices(&REPEATED, &device).reshape([1, 7]);
    let of_rows = |rows: Tensor<3>| loss(rows.reshape([7, 3]), &weights, &device).backward();
    let gradients = of_rows(embedding.try_forward(words.clone())?);
    let want = finite_differences(&table, |table| {
        host_loss(&table.gather(0, &REPEATED, Bounds::Mask), &weights)
    });
    let dense = embedding.weight.grad(&gradients).expect("a leaf");
    assert_matches(dense, &want, TOLERANCE);
    let (rows, record) = embedding.forward_sparse(words)?;
    let sparse = record.grad(&of_rows(rows))?.expect("the pass reached it");
    assert_matches(sparse.to_dense()?, &want, TOLERANCE);
    Ok(())
}
