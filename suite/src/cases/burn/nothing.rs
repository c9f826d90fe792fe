//! Rows, segments, bags and embeddings without elements, on the device and under autodiff; and their gradients.

use burn::tensor::{Int, Tensor};
use girih_burn::nn::{BagMode, EmbeddingBagConfig, EmbeddingConfig};
use girih_burn::{
    BagOptions, Bounds, Determinism, Error, GatherOptions, Grouping, Reduction, Scatter,
    ScatterOptions, SparseAdaGradConfig, SparseAdamConfig, SparseGrad, SparseSgdConfig,
    embedding_bag, gather, scatter, scatter_sum, segment_reduce,
};
use girih_testkit::{Rt, cases};

use super::{Host, assert_equals, device, floats, indices};

cases! {
    gathers,
    scatters,
    segments,
    bags,
    embeddings,
    gradients_of_few_rows,
}

/// Rows, columns, and indices: each with something that is not there.
const EMPTY: [(usize, usize, &[i64]); 5] = [
    (3, 2, &[]),
    (3, 0, &[2, 0]),
    (0, 2, &[]),
    (0, 2, &[0, 1]),
    (0, 0, &[]),
];

const REDUCTIONS: [Reduction; 5] = [
    Reduction::Sum,
    Reduction::Mean,
    Reduction::Max,
    Reduction::Min,
    Reduction::Prod,
];

/// The gradient of `leaf` in a loss that every element of a result is a part of is 0 everywhere.
fn has_no_slope<const D: usize>(result: &Tensor<D>, leaf: &Tensor<2>) {
    let gradients = result.backward();
    let gradient = leaf.grad(&gradients).expect("a leaf");
    assert_equals(gradient, &Host::zeros(&leaf.dims()));
}

fn gathers(rt: &Rt) -> Result<(), Error> {
    let tracked = device(rt).autodiff();
    for (rows, columns, index) in EMPTY {
        for determinism in [Determinism::Any, Determinism::RunToRun] {
            let options = GatherOptions {
                determinism,
                ..Bounds::Mask.into()
            };
            let table = Host::sample(&[rows, columns], 1);
            let want = Host::zeros(&[index.len(), columns]);
            let plain = device(rt);
            let found = gather(
                floats::<2>(&table, &plain),
                0,
                indices(index, &plain),
                options,
            )?;
            assert_equals(found.check()?, &want);
            let leaf = floats::<2>(&table, &tracked).require_grad();
            let found = gather(leaf.clone(), 0, indices(index, &tracked), options)?.check()?;
            assert_equals(found.clone(), &want);
            has_no_slope(&found, &leaf);
        }
    }
    Ok(())
}

fn scatters(rt: &Rt) -> Result<(), Error> {
    const MODES: [Scatter; 5] = [
        Scatter::Set,
        Scatter::Add,
        Scatter::Mul,
        Scatter::Min,
        Scatter::Max,
    ];
    for (rows, columns, index) in EMPTY {
        let (target, updates) = (
            Host::sample(&[rows, columns], 1),
            Host::sample(&[index.len(), columns], 2),
        );
        for mode in MODES {
            for device in [device(rt), device(rt).autodiff()] {
                let [into, added] = [&target, &updates].map(|host| floats::<2>(host, &device));
                let options = ScatterOptions::from(Bounds::Mask);
                let index = indices(index, &device);
                let found = scatter(into, 0, index, added, mode, options)?.check()?;
                assert_equals(found, &target);
            }
        }
        let tracked = device(rt).autodiff();
        let leaf = floats::<2>(&updates, &tracked).require_grad();
        let sums = scatter_sum(
            leaf.clone(),
            0,
            indices(index, &tracked),
            rows,
            Bounds::Mask,
        )?;
        let sums = sums.check()?;
        assert_equals(sums.clone(), &Host::zeros(&[rows, columns]));
        has_no_slope(&sums, &leaf);
    }
    Ok(())
}

fn segments(rt: &Rt) -> Result<(), Error> {
    let tracked = device(rt).autodiff();
    for reduction in REDUCTIONS {
        for (rows, columns, offsets) in [
            (0, 2, &[0, 0][..]),
            (4, 0, &[0, 4]),
            (4, 2, &[0]),
            (0, 0, &[0]),
        ] {
            let leaf = floats::<2>(&Host::sample(&[rows, columns], 3), &tracked).require_grad();
            let by = Grouping::Offsets(indices(offsets, &tracked));
            let found = segment_reduce(leaf.clone(), by, reduction)?;
            assert_eq!(found.dims(), [offsets.len() - 1, columns]);
            has_no_slope(&found, &leaf);
        }
        let none = floats::<2>(&Host::zeros(&[0, 3]), &tracked);
        let found = segment_reduce(none.clone(), Grouping::Length(2), reduction)?;
        assert_eq!(found.dims(), [0, 3]);
        let ids = indices(&[], &tracked);
        let by = Grouping::Ids { ids, segments: 2 };
        assert_eq!(segment_reduce(none, by, reduction)?.dims(), [2, 3]);
    }
    Ok(())
}

fn bags(rt: &Rt) -> Result<(), Error> {
    let tracked = device(rt).autodiff();
    for reduction in [Reduction::Sum, Reduction::Mean, Reduction::Max] {
        for determinism in [Determinism::Any, Determinism::RunToRun] {
            for (rows, columns, index) in EMPTY {
                for offsets in [vec![0], vec![0, index.len() as i64]] {
                    let leaf = floats::<2>(&Host::sample(&[rows, columns], 4), &tracked);
                    let leaf = leaf.require_grad();
                    let options = BagOptions {
                        determinism,
                        ..BagOptions::new(reduction)
                    };
                    let by = Grouping::Offsets(indices(&offsets, &tracked));
                    let index = indices(index, &tracked);
                    let found = embedding_bag(leaf.clone(), index, by, options)?.check()?;
                    let want = Host::zeros(&[offsets.len() - 1, columns]);
                    assert_equals(found.clone(), &want);
                    has_no_slope(&found, &leaf);
                }
            }
        }
    }
    Ok(())
}

/// The numbers of a batch of none, and of lines of none.
fn embeddings(rt: &Rt) -> Result<(), Error> {
    let tracked = device(rt).autodiff();
    for shape in [[0, 4], [3, 0]] {
        let words = || Tensor::<2, Int>::zeros(shape, &tracked);
        let embedding = EmbeddingConfig::new(5, 2).init(&tracked);
        let vectors = embedding.forward(words());
        assert_eq!(vectors.dims(), [shape[0], shape[1], 2]);
        has_no_slope(&vectors, &embedding.weight.val());
        for mode in [BagMode::Sum, BagMode::Mean, BagMode::Max] {
            let bags = EmbeddingBagConfig::new(5, 2).with_mode(mode).init(&tracked);
            assert_equals(bags.forward(words())?, &Host::zeros(&[shape[0], 2]));
            let none = indices(&[], &tracked);
            let found = bags.forward_ragged(none, indices(&[0, 0], &tracked), None)?;
            assert_equals(found, &Host::zeros(&[1, 2]));
        }
    }
    Ok(())
}

fn gradients_of_few_rows(rt: &Rt) -> Result<(), Error> {
    let device = device(rt);
    for (index, columns) in [(&[][..], 2), (&[1, 0], 0)] {
        let gradient = || {
            let rows = floats::<2>(&Host::sample(&[index.len(), columns], 5), &device);
            SparseGrad::new(indices(index, &device), rows, 3, None, Bounds::Mask)
        };
        assert_eq!(gradient()?.rows().dims(), [index.len(), columns]);
        assert_equals(gradient()?.to_dense()?, &Host::zeros(&[3, columns]));
        let table = EmbeddingConfig::new(3, columns).init(&device);
        let values = |of: &girih_burn::nn::Embedding| {
            let data = of.weight.val().to_data();
            data.try_to_vec::<f32>().expect("f32")
        };
        let before = values(&table);
        let table = SparseSgdConfig::new()
            .init()
            .step(0.5, table, gradient()?)?;
        let table = SparseAdaGradConfig::new()
            .init()
            .step(0.5, table, gradient()?)?;
        let table = SparseAdamConfig::new()
            .init()
            .step(0.5, table, gradient()?)?;
        assert_eq!(values(&table), before);
    }
    Ok(())
}
