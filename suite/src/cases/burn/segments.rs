//! Segments: results and gradients against the host's, by central differences.

use burn::tensor::{Int, Tensor};
use girih_burn::{Error, Grouping, Reduction, segment_reduce};
use girih_testkit::{Rt, cases};

use super::bags::{TOLERANCE, combined, host_loss};
use super::{Host, assert_matches, device, floats, host::finite_differences, indices, total};

cases! {
    by_offsets_and_their_gradients,
    by_ids,
    of_integers,
}

/// The segments of rows that these entries are of.
fn host_segments(values: &Host, members: &[Vec<usize>], reduction: Reduction) -> Host {
    let columns = values.shape[1];
    let segments: Vec<Vec<Vec<f64>>> = members
        .iter()
        .map(|rows| {
            let row = |row: &usize| values.values[row * columns..(row + 1) * columns].to_vec();
            rows.iter().map(row).collect()
        })
        .collect();
    let of_none = match reduction {
        Reduction::Prod => 1.0,
        _ => 0.0,
    };
    combined(reduction, columns, &segments, of_none)
}

fn segments(
    rt: &Rt,
    grouping: impl Fn(&burn::tensor::Device) -> Grouping,
    members: &[Vec<usize>],
    reduction: Reduction,
) -> Result<(), Error> {
    let device = device(rt).autodiff();
    let values = Host::sample(&[9, 4], 8).map(|value| value / 8.0);
    let slopes = Host::sample(&[members.len(), 4], 9);
    let leaf = floats::<2>(&values, &device).require_grad();
    let result = segment_reduce(leaf.clone(), grouping(&device), reduction)?;
    assert_matches(
        result.clone(),
        &host_segments(&values, members, reduction),
        TOLERANCE,
    );
    let loss = total((result + 1.0).powi_scalar(2) * floats::<2>(&slopes, &device));
    let want = finite_differences(&values, |values| {
        host_loss(&host_segments(values, members, reduction), &slopes)
    });
    assert_matches(leaf.grad(&loss.backward()).expect("a leaf"), &want, 1e-2);
    Ok(())
}

const REDUCTIONS: [Reduction; 5] = [
    Reduction::Sum,
    Reduction::Mean,
    Reduction::Max,
    Reduction::Min,
    Reduction::Prod,
];

fn by_offsets_and_their_gradients(rt: &Rt) -> Result<(), Error> {
    let members = [vec![0, 1, 2, 3], vec![4], vec![5, 6, 7]];
    for reduction in REDUCTIONS {
        let by = |device: &_| Grouping::Offsets(indices(&[0, 4, 5, 8], device));
        segments(rt, by, &members, reduction)?;
        let three = [vec![0, 1, 2], vec![3, 4, 5], vec![6, 7, 8]];
        segments(rt, |_| Grouping::Length(3), &three, reduction)?;
    }
    Ok(())
}

fn by_ids(rt: &Rt) -> Result<(), Error> {
    let members = [vec![1, 4, 8], vec![0, 2], vec![3, 6, 7]];
    for reduction in REDUCTIONS {
        let by = |device: &_| Grouping::Ids {
            ids: indices(&[1, 0, 1, 2, 0, 9, 2, 2, 0], device),
            segments: 3,
        };
        segments(rt, by, &members, reduction)?;
    }
    let sorted = [vec![1, 2], vec![3, 4, 5], vec![6]];
    let by = |device: &_| Grouping::SortedIds {
        ids: indices(&[-1, 0, 0, 1, 1, 1, 2, 3, 3], device),
        segments: 3,
    };
    segments(rt, by, &sorted, Reduction::Sum)
}

fn of_integers(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let values = || Tensor::<2, Int>::from_ints([[3, -4], [5, 1], [-2, 6], [7, 7]], &device);
    for (reduction, want) in [
        (Reduction::Sum, [8, -3, 0, 0, 5, 13]),
        (Reduction::Max, [5, 1, i32::MIN, i32::MIN, 7, 7]),
        (Reduction::Min, [3, -4, i32::MAX, i32::MAX, -2, 6]),
        (Reduction::Prod, [15, -4, 1, 1, -14, 42]),
    ] {
        let by = Grouping::Offsets(indices(&[0, 2, 2, 4], &device));
        let found = segment_reduce(values(), by, reduction)?.to_data();
        let found: Vec<i32> = found.iter::<i32>().collect();
        assert_eq!(found, want, "{reduction:?}");
    }
    // Between ops that are fused, on a tracked device.
    let tracked = device.clone().autodiff();
    let doubled = Tensor::<1, Int>::from_ints([1, 2, 3, 4], &tracked) * 2;
    let ids = indices(&[1, 0, 1, 9], &tracked);
    let sums = segment_reduce(doubled, Grouping::Ids { ids, segments: 2 }, Reduction::Sum)? + 1;
    let found: Vec<i32> = sums.to_data().iter::<i32>().collect();
    assert_eq!(found, [5, 9]);
    let refused = segment_reduce(values(), Grouping::Length(2), Reduction::Mean);
    assert_eq!(
        refused.expect_err("no mean").to_string(),
        format!(
            "values has elements of type {}; segment_reduce needs f16, bf16, f32 or f64 for a mean",
            burn::backend::cubecl::dtype_to_storage_type(values().dtype())
        )
    );
    Ok(())
}
