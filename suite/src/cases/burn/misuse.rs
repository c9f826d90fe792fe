//! Numbers that no memory has, lists of the wrong kind, tensors that are a part of another: an error each before anything is
//! launched, or a right result, and the next call works.

use burn::tensor::{DType, Device, Int, Tensor};
use girih_burn::{
    BagOptions, Bounds, Error, Grouping, Reduction, bincount, embedding_bag, gather, gather_matmul,
    grouped_matmul, histogram, matmul_scatter, paged_gather, scatter_sum, segment_reduce,
    sum_along_axis, top_k,
};
use girih_testkit::{Rt, cases, needs};

use super::{Host, assert_equals, device, floats, indices};

cases! {
    results_larger_than_any_memory needs [needs::ADD_F32],
    more_groups_than_are_looked_through,
    offsets_of_no_segment,
    indices_of_fewer_bits_than_ends needs [needs::U8],
    sums_by_indices_of_fewer_bits_than_ends needs [needs::U8, needs::ADD_F32],
    counts_of_a_part_of_a_tensor,
    more_than_there_are,
}

fn host(values: &[f64], shape: &[usize]) -> Host {
    Host {
        values: values.to_vec(),
        shape: shape.to_vec(),
    }
}

/// The call is refused in these words, and the next one works.
#[track_caller]
fn refused<T: std::fmt::Debug>(device: &Device, result: Result<T, Error>, message: &str) {
    let error = result.expect_err("the call is refused").to_string();
    assert!(
        error.contains(message),
        "`{error}` does not say `{message}`"
    );
    let rows = floats::<1>(&host(&[1.0, 2.0], &[2]), device);
    let found = gather(rows, 0, indices(&[1, 0], device), Bounds::Mask).expect("it works");
    assert_equals(found.into_inner(), &host(&[2.0, 1.0], &[2]));
}

fn results_larger_than_any_memory(rt: &Rt) {
    let device = device(rt);
    let most = usize::MAX;
    let rows = || floats::<2>(&Host::sample(&[2, 4], 90), &device);
    let index = || indices(&[0, 1], &device);
    let message = "the result counts 18446744073709551615";
    let found = scatter_sum(rows(), 0, index(), most, Bounds::Mask);
    refused(&device, found, message);
    let along = Tensor::<2, Int>::zeros([2, 4], &device);
    let found = sum_along_axis(rows(), 1, along, most, Bounds::Mask);
    refused(&device, found, message);
    let pages = floats::<3>(&Host::sample(&[2, 2, 4], 91), &device);
    let table = Tensor::<2, Int>::zeros([1, 2], &device);
    let found = paged_gather::<3, 2, _>(pages, table, index(), most, Bounds::Mask);
    refused(&device, found, message);
    let matrices = floats::<3>(&Host::sample(&[2, 4, 3], 92), &device);
    let factors = floats::<1>(&Host::sample(&[2], 93), &device);
    let found = matmul_scatter(rows(), matrices, index(), index(), factors, most);
    refused(&device, found, message);
    let ids = || Grouping::Ids {
        ids: index(),
        segments: most,
    };
    let message = "the number of segments counts 18446744073709551615";
    let found = segment_reduce(rows(), ids(), Reduction::Sum);
    refused(&device, found, message);
    let found = embedding_bag(rows(), index(), ids(), BagOptions::new(Reduction::Max));
    refused(&device, found, message);
    let found = bincount(index(), most);
    refused(&device, found, "bins counts 18446744073709551615");
}

fn more_groups_than_are_looked_through(rt: &Rt) {
    let device = device(rt);
    let groups = 65_536;
    let found = grouped_matmul(
        Tensor::zeros([1, 1], &device),
        Tensor::zeros([groups, 1, 1], &device),
        Tensor::zeros([groups], &device),
    );
    refused(
        &device,
        found,
        "ends counts 65536; grouped_matmul takes up to 65535",
    );
}

fn offsets_of_no_segment(rt: &Rt) {
    let device = device(rt);
    let rows = floats::<2>(&Host::sample(&[2, 4], 94), &device);
    let offsets = Grouping::Offsets(indices(&[], &device));
    let found = segment_reduce(rows, offsets, Reduction::Sum);
    refused(
        &device,
        found,
        "offsets has shape [0]; segment_reduce needs [1]",
    );
}

/// 300 rows, of two tokens in turn, the first ten of one group; ends that 8 bits do not have.
fn routes(device: &Device) -> (Tensor<1, Int>, Tensor<1, Int>, Vec<f64>) {
    let index: Vec<i64> = (0..300).map(|row| row % 2).collect();
    let products = index.iter().enumerate().map(|(row, token)| {
        let factor = if row < 10 { 10.0 } else { 100.0 };
        factor * (1 + token) as f64
    });
    let products = products.collect();
    let index = indices(&index, device).cast(DType::U8);
    (index, indices(&[10, 300], device), products)
}

fn indices_of_fewer_bits_than_ends(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let (index, ends, products) = routes(&device);
    let tokens = floats::<2>(&host(&[1.0, 2.0], &[2, 1]), &device);
    let matrices = floats::<3>(&host(&[10.0, 100.0], &[2, 1, 1]), &device);
    let found = gather_matmul(tokens, index, matrices, ends)?;
    assert_equals(found, &host(&products, &[300, 1]));
    Ok(())
}

fn sums_by_indices_of_fewer_bits_than_ends(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let (index, ends, _) = routes(&device);
    let rows = floats::<2>(&host(&[1.0; 300], &[300, 1]), &device);
    let matrices = floats::<3>(&host(&[10.0, 100.0], &[2, 1, 1]), &device);
    let factors = floats::<1>(&host(&[1.0; 300], &[300]), &device);
    let found = matmul_scatter(rows, matrices, ends, index, factors, 2)?;
    // Of each token five rows in the first group, and 145 in the second.
    assert_equals(found, &host(&[14_550.0; 2], &[2, 1]));
    Ok(())
}

fn counts_of_a_part_of_a_tensor(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let whole = indices(&[0, 1, 1, 2, 2, 2, 0, 0, 0, 0, 0, 0], &device);
    for (part, want) in [(0..3, [1.0, 2.0, 0.0]), (3..7, [1.0, 0.0, 3.0])] {
        let values = whole.clone().slice([part.clone()]);
        assert_equals(bincount(values, 3)?, &host(&want, &[3]));
        let values = whole.clone().float().slice([part]);
        assert_equals(histogram(values, 3, [0.0, 3.0])?, &host(&want, &[3]));
    }
    Ok(())
}

fn more_than_there_are(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    let values = || floats::<2>(&Host::sample(&[2, 3], 95), &device);
    refused(
        &device,
        top_k(values(), 1, 4, true),
        "k counts 4; top_k takes up to 3",
    );
    let (none, places) = top_k(values(), 1, 0, true)?;
    assert_eq!((none.dims(), places.dims()), ([2, 0], [2, 0]));
    assert_eq!(bincount(indices(&[1, 2], &device), 0)?.dims(), [0]);
    refused(
        &device,
        histogram(values(), 3, [1.0, 1.0]),
        "range is 1.0 to 1.0; histogram needs finite numbers",
    );
    Ok(())
}
