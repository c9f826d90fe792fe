//! The ops between chains of element-wise ops that Burn fuses, and on the backend below fusion.

use burn::backend::ops::{FloatTensorOps, IntTensorOps};
use burn::backend::{Autodiff, AutodiffBackend};
use burn::tensor::TensorData;
use girih_burn::{Bounds, CubeBackend, Error, IndexBackend, Scatter, gather, scatter};
use girih_testkit::{Rt, cases, check::assert_close};

use super::{Host, assert_matches, device, floats, indices};

const REPEATED: [i64; 7] = [3, 0, 3, 9, 5, 0, 3];
const TOLERANCE: f64 = 1e-4;

cases! {
    the_build_fuses,
    between_fused_chains,
    shapes_are_known_before_the_op_runs,
    below_fusion,
}

/// The other cases would hold without fusion too: this one says that it was on.
fn the_build_fuses(_: &Rt) {
    let backend = std::any::type_name::<burn::backend::Cube>();
    assert!(backend.contains("Fusion<"), "{backend}");
}

fn between_fused_chains(rt: &Rt) -> Result<(), Error> {
    let plain = device(rt);
    for device in [plain.clone(), plain.autodiff()] {
        let (table, updates) = (Host::sample(&[10, 16], 40), Host::sample(&[10, 16], 41));
        let index = || indices(&REPEATED, &device);
        // Twice from one fused producer, into one fused consumer.
        let produced = (floats::<2>(&table, &device) * 0.1 + 1.0).tanh() - 0.5;
        let rows = gather(produced.clone(), 0, index(), Bounds::Mask)?.into_inner();
        let others = gather(produced.clone() * 0.25, 0, index(), Bounds::Clamp)?.into_inner();
        let consumed = (rows.clone() * 3.0).tanh() + rows + others.sin();
        let into = floats::<2>(&updates, &device) * 0.5 + produced;
        let sums = scatter(into, 0, index(), consumed, Scatter::Add, Bounds::Mask)?.into_inner();
        let last = (sums * 0.125).exp();

        let produced = table.map(|value| (value * 0.1 + 1.0).tanh() - 0.5);
        let rows = produced.gather(0, &REPEATED, Bounds::Mask);
        let others = produced
            .map(|value| value * 0.25)
            .gather(0, &REPEATED, Bounds::Mask);
        let consumed = rows.zip(&others, |row, other| (row * 3.0).tanh() + row + other.sin());
        let into = updates.zip(&produced, |update, produced| update * 0.5 + produced);
        let sums = into.scatter(0, &REPEATED, &consumed, Scatter::Add, Bounds::Mask);
        assert_matches(last, &sums.map(|value| (value * 0.125).exp()), TOLERANCE);
    }
    Ok(())
}

fn shapes_are_known_before_the_op_runs(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let table = Host::sample(&[10, 16], 42);
    let columns = gather(
        floats::<2>(&table, &device),
        1,
        indices(&[3, 1, 2], &device),
        Bounds::Mask,
    )?;
    assert_eq!(columns.value().dims(), [10, 3]);
    let flat = columns.into_inner().reshape([30]) + 1.0;
    let want = table
        .gather(1, &[3, 1, 2], Bounds::Mask)
        .map(|value| value + 1.0);
    assert_matches(
        flat,
        &Host {
            shape: vec![30],
            values: want.values,
        },
        0.0,
    );
    Ok(())
}

/// The op and its gradient on `CubeBackend` itself, which fusion wraps.
fn below_fusion(rt: &Rt) {
    type Tracked = Autodiff<CubeBackend>;

    let device = &rt.device;
    let table = Host::sample(&[10, 8], 43);
    let values: Vec<f32> = table.values.iter().map(|&value| value as f32).collect();
    let index: Vec<i32> = REPEATED.iter().map(|&index| index as i32).collect();
    let index = CubeBackend::int_from_data(TensorData::new(index, [REPEATED.len()]), device);
    let leaf = Tracked::float_from_data(TensorData::new(values, [10, 8]), device);
    let leaf = Tracked::float_set_require_grad(leaf, true);
    let (rows, _) = Tracked::gather_float(leaf.clone(), index, 0, Bounds::Mask.into());
    let loss = Tracked::float_mean(Tracked::float_mul(rows.clone(), rows));
    let gradients = Tracked::backward(loss);
    let gradient = Tracked::grad(&leaf, &gradients).expect("the table is a leaf");
    let data = burn::tensor::read_sync(CubeBackend::float_into_data(gradient))
        .expect("the gradient is read back");
    let got: Vec<f64> = data.iter::<f64>().collect();
    let slopes = table
        .gather(0, &REPEATED, Bounds::Mask)
        .map(|value| 2.0 * value / 56.0);
    let want = Host::zeros(&[10, 8]).scatter(0, &REPEATED, &slopes, Scatter::Add, Bounds::Mask);
    assert_close(&got, &want.values, TOLERANCE);
}
