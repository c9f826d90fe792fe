//! The ops on CubeCL's own backend and under autodiff of it, below fusion, against the host.

use burn::backend::ops::{FloatTensorOps, IntTensorOps};
use burn::backend::tensor::{BoolTensor, FloatTensor, IntTensor};
use burn::backend::{Autodiff, AutodiffBackend, TensorMetadata};
use burn::tensor::TensorData;
use girih_burn::{
    Bounds, CubeBackend, Determinism, GatherOptions, HistogramBackend, IndexBackend, LookupBackend,
    ScanBackend, ScanOperation, Scatter, Side, SortBackend, UniqueBackend,
};
use girih_testkit::{Rt, cases, needs};

use super::Host;
use super::against::kept;
use super::scans::scanned;
use super::sort::{first_of, model};

const REPEATED: [i64; 5] = [3, 0, 3, 4, 0];

cases! {
    moves_below_fusion,
    lists_below_fusion,
    weights_below_fusion needs [needs::ADD_F32],
    gradients_below_fusion,
}

/// CubeCL's tensors of a device, which fusion would wrap.
struct Below<'a>(&'a Rt);

impl Below<'_> {
    fn floats(&self, host: &Host) -> FloatTensor<CubeBackend> {
        let values: Vec<f32> = host.values.iter().map(|&value| value as f32).collect();
        let data = TensorData::new(values, host.shape.clone());
        CubeBackend::float_from_data(data, &self.0.device)
    }

    fn ints(&self, host: &Host) -> IntTensor<CubeBackend> {
        let values: Vec<i32> = host.values.iter().map(|&value| value as i32).collect();
        let data = TensorData::new(values, host.shape.clone());
        CubeBackend::int_from_data(data, &self.0.device)
    }

    fn index(&self, index: &[i64]) -> IntTensor<CubeBackend> {
        let values = index.iter().map(|&index| index as f64).collect();
        self.ints(&Host {
            shape: vec![index.len()],
            values,
        })
    }

    /// A mask in the type that the device keeps truth values in.
    fn flags(&self, shape: [usize; 2]) -> BoolTensor<CubeBackend> {
        let values = (0..shape[0] * shape[1]).map(|at| f64::from(u8::from(kept(at))));
        let ones = self.ints(&Host {
            shape: shape.to_vec(),
            values: values.collect(),
        });
        let store = burn::backend::get_or_init_device_settings::<CubeBackend>(&self.0.device);
        CubeBackend::int_equal_elem(ones, 1.into(), store.bool_dtype)
    }
}

#[track_caller]
fn is_floats(tensor: FloatTensor<CubeBackend>, want: &Host) {
    assert_eq!(tensor.shape().to_vec(), want.shape);
    let data = burn::tensor::read_sync(CubeBackend::float_into_data(tensor)).expect("read");
    let got: Vec<f64> = data.iter::<f64>().collect();
    girih_testkit::check::assert_close(&got, &want.values, 1e-4);
}

#[track_caller]
fn is_ints(tensor: IntTensor<CubeBackend>, want: &Host) {
    assert_eq!(tensor.shape().to_vec(), want.shape);
    let data = burn::tensor::read_sync(CubeBackend::int_into_data(tensor)).expect("read");
    let got: Vec<f64> = data.iter::<f64>().collect();
    girih_testkit::check::assert_same(&got, &want.values);
}

fn moves_below_fusion(rt: &Rt) {
    type B = CubeBackend;
    const MASK: Bounds = Bounds::Mask;
    let on = Below(rt);
    let (table, updates) = (Host::sample(&[5, 4], 85), Host::sample(&[5, 4], 86));
    let whole = table.map(|value| value * 4.0);
    let index = || on.index(&REPEATED);
    let rows = table.gather(0, &REPEATED, MASK);
    is_floats(
        B::gather_float_alone(on.floats(&table), index(), 0, MASK.into()),
        &rows,
    );
    is_floats(
        B::gather_float(on.floats(&table), index(), 0, Bounds::Report.into()).0,
        &rows,
    );
    is_ints(
        B::gather_int_alone(on.ints(&whole), index(), 0, MASK),
        &whole.gather(0, &REPEATED, MASK),
    );
    for mode in [Scatter::Add, Scatter::Min, Scatter::Max] {
        let want = table.scatter(0, &REPEATED, &updates, mode, MASK);
        let (target, added) = (on.floats(&table), on.floats(&updates));
        let got = B::scatter_float_alone(target, index(), added, 0, mode, MASK.into());
        is_floats(got, &want);
    }
    let zeros = Host::zeros(&[6, 4]);
    let sums = zeros.scatter(0, &REPEATED, &updates, Scatter::Add, MASK);
    let got = B::scatter_sum_float_alone(on.floats(&updates), index(), 0, 6, MASK.into());
    is_floats(got, &sums);
    // The same index for each column is that of slices.
    let places = Host {
        shape: vec![5, 4],
        values: (0..20).map(|at| REPEATED[at / 4] as f64).collect(),
    };
    let got = B::take_along_float_alone(on.floats(&table), on.ints(&places), 0, MASK);
    is_floats(got, &rows);
    let got = B::sum_along_float_alone(on.floats(&updates), on.ints(&places), 0, 6, MASK);
    is_floats(got, &sums);
    let pages = Host::sample(&[3, 2, 4], 87);
    let list = [2, 0];
    let want: Vec<f64> = list
        .iter()
        .flat_map(|&page| pages.values[page as usize * 8..][..8].to_vec())
        .collect();
    let entries = on.ints(&Host {
        shape: vec![1, 2],
        values: list.iter().map(|&page| page as f64).collect(),
    });
    let got = B::paged_gather_float_alone(on.floats(&pages), entries, on.index(&[0, 4]), 4, MASK);
    is_floats(
        got,
        &Host {
            shape: vec![4, 4],
            values: want,
        },
    );
}

fn lists_below_fusion(rt: &Rt) {
    type B = CubeBackend;
    let on = Below(rt);
    let host = Host::sample(&[4, 25], 88);
    let whole = host.map(|value| value.trunc() + 0.0);
    for operation in [ScanOperation::Sum, ScanOperation::Min, ScanOperation::Max] {
        let got = B::scan_float(on.floats(&host), 1, operation, Determinism::RunToRun);
        is_floats(got, &scanned(&host, 1, operation));
        let got = B::scan_int(on.ints(&whole), 0, operation, Determinism::Any);
        is_ints(got, &scanned(&whole, 0, operation));
    }
    let (sorted, places) = model(&host, 1, false);
    is_floats(B::sort_alone_float(on.floats(&host), 1, false), &sorted);
    is_ints(
        B::places_of_sorted_float(on.floats(&host), 1, false),
        &places,
    );
    let (values, found) = B::sort_with_places_float(on.floats(&host), 1, false);
    is_floats(values, &sorted);
    is_ints(found, &places);
    is_ints(
        B::sort_alone_int(on.ints(&whole), 1, false),
        &model(&whole, 1, false).0,
    );
    let (values, found) = B::top_k_float(on.floats(&host), 1, 3, false);
    is_floats(values, &first_of(&sorted, 3));
    is_ints(found, &first_of(&places, 3));
    let found = B::search_sorted_float(on.floats(&sorted), on.floats(&sorted), Side::Left);
    let own = (0..100).map(|at| (at % 25) as f64);
    is_ints(
        found,
        &Host {
            shape: vec![4, 25],
            values: own.collect(),
        },
    );
    let kept: Vec<usize> = (0..100).filter(|&at| kept(at)).collect();
    let (room, count) = B::select_masked_float(on.floats(&host), on.flags([4, 25]));
    let count_is = Host {
        shape: vec![1],
        values: vec![kept.len() as f64],
    };
    is_ints(count, &count_is);
    is_floats(
        B::first_float(room, kept.len()),
        &Host {
            shape: vec![kept.len()],
            values: kept.iter().map(|&at| host.values[at]).collect(),
        },
    );
    let (room, count) = B::nonzero_bool(on.flags([4, 25]));
    is_ints(count, &count_is);
    let coordinates = kept.iter().flat_map(|at| [at / 25, at % 25]);
    is_ints(
        B::first_int(room, kept.len()),
        &Host {
            shape: vec![kept.len(), 2],
            values: coordinates.map(|place| place as f64).collect(),
        },
    );
    let mut values = whole.values.clone();
    values.sort_by(f64::total_cmp);
    values.dedup();
    let (room, count) = B::unique_int(on.ints(&whole));
    let distinct = values.len();
    is_ints(
        count,
        &Host {
            shape: vec![1],
            values: vec![distinct as f64],
        },
    );
    is_ints(
        B::first_int(room, distinct),
        &Host {
            shape: vec![distinct],
            values,
        },
    );
    let mut counts = Host::zeros(&[9]);
    for &value in whole
        .values
        .iter()
        .filter(|value| (0.0..9.0).contains(*value))
    {
        counts.values[value as usize] += 1.0;
    }
    is_ints(B::bincount_int(on.ints(&whole), 9), &counts);
}

fn weights_below_fusion(rt: &Rt) {
    let on = Below(rt);
    let (host, weights) = (Host::sample(&[60], 89), Host::sample(&[60], 90));
    let whole = host.map(|value| value.trunc() + 0.0);
    let mut want = Host::zeros(&[9]);
    for (&value, weight) in whole.values.iter().zip(&weights.values) {
        if (0.0..9.0).contains(&value) {
            want.values[value as usize] += weight;
        }
    }
    let sums = CubeBackend::weigh_int(on.ints(&whole), on.floats(&weights), 9, None);
    is_floats(sums, &want);
}

/// The gradient of the mean of weighted results, on `CubeBackend` itself.
fn gradients_below_fusion(rt: &Rt) {
    type Tracked = Autodiff<CubeBackend>;
    const MASK: Bounds = Bounds::Mask;
    let on = Below(rt);
    let host = Host::sample(&[5, 4], 91);
    let weights = Host::sample(&[5, 4], 92);
    let gradient = |op: &dyn Fn(FloatTensor<Tracked>) -> FloatTensor<Tracked>| {
        let leaf = <Tracked as AutodiffBackend>::from_inner(on.floats(&host));
        let leaf = Tracked::float_set_require_grad(leaf, true);
        let weights = <Tracked as AutodiffBackend>::from_inner(on.floats(&weights));
        let loss = Tracked::float_mean(Tracked::float_mul(op(leaf.clone()), weights));
        let gradients = Tracked::backward(loss);
        Tracked::grad(&leaf, &gradients).expect("a leaf")
    };
    let slopes = weights.map(|weight| weight / 20.0);
    let places = Host {
        shape: vec![5, 4],
        values: (0..20).map(|at| REPEATED[at / 4] as f64).collect(),
    };
    let zeros = Host::zeros(&[5, 4]);
    let sums = zeros.scatter(0, &REPEATED, &slopes, Scatter::Add, MASK);
    let got = gradient(&|tensor| {
        Tracked::gather_float_alone(tensor, on.index(&REPEATED), 0, MASK.into())
    });
    is_floats(got, &sums);
    let got =
        gradient(&|tensor| Tracked::take_along_float_alone(tensor, on.ints(&places), 0, MASK));
    is_floats(got, &sums);
    let rows = slopes.gather(0, &REPEATED, MASK);
    let got = gradient(&|tensor| {
        Tracked::scatter_sum_float_alone(tensor, on.index(&REPEATED), 0, 5, MASK.into())
    });
    is_floats(got, &rows);
    for padding in [None, Some(REPEATED[1] as usize)] {
        let options = GatherOptions {
            padding,
            ..MASK.into()
        };
        let got = gradient(&|tensor| {
            Tracked::gather_backward_float(tensor, on.index(&REPEATED), 0, 5, options)
        });
        let mut want = rows.clone();
        for (at, &row) in REPEATED.iter().enumerate() {
            if Some(row as usize) == padding {
                want.values[4 * at..4 * at + 4].fill(0.0);
            }
        }
        is_floats(got, &want);
    }
    let got =
        gradient(&|tensor| Tracked::sum_along_float_alone(tensor, on.ints(&places), 0, 5, MASK));
    is_floats(got, &rows);
    let got = gradient(&|tensor| {
        let into = <Tracked as AutodiffBackend>::from_inner(on.floats(&host));
        let add = Scatter::Add;
        Tracked::scatter_float_alone(into, on.index(&REPEATED), tensor, 0, add, MASK.into())
    });
    is_floats(got, &rows);

    let sum = ScanOperation::Sum;
    let got = gradient(&|tensor| Tracked::scan_float(tensor, 1, sum, Determinism::Any));
    let mut want = slopes.clone();
    for at in (0..20).rev().filter(|at| at % 4 < 3) {
        want.values[at] += want.values[at + 1];
    }
    is_floats(got, &want);
    let (_, order) = model(&host, 1, true);
    let mut want = Host::zeros(&[5, 4]);
    for (at, place) in order.values.iter().enumerate() {
        want.values[at / 4 * 4 + *place as usize] = slopes.values[at];
    }
    is_floats(
        gradient(&|tensor| Tracked::sort_alone_float(tensor, 1, true)),
        &want,
    );
    is_floats(
        gradient(&|tensor| Tracked::top_k_float(tensor, 1, 4, true).0),
        &want,
    );
}
