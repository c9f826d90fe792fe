//! Segments, bags, sparse steps and products.

use super::super::model::list;
use super::{Launcher, Outcome, floats, int_rows, ints, read, refuse};
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::{Bounds, device::Device};
use girih_kernels::{
    BagOptions, Bags, Determinism, Grouping, MatmulOptions, Reduction, Route, SparseRows,
    SparseStep,
};
use girih_testkit::Rt;

pub(super) fn segments_refuse_them(rt: &Rt) -> Outcome {
    use girih_kernels::{
        embedding_bag, embedding_bag_backward, segment_reduce, segment_reduce_backward,
        segment_reduce_with_args,
    };
    let client = &rt.client;
    let values = || ("values", floats(rt, &[3, 4]));
    let ids = || ("ids", ints(rt, &[1, 0, 1]));
    let offsets = || ("offsets", ints(rt, &[0, 2, 3]));
    let (gradient, args) = (floats(rt, &[2, 4]), int_rows(rt, &[0; 8], &[2, 4]));
    let mut launchers = vec![
        Launcher::new("segment_reduce, offsets", vec![values(), offsets()], |of| {
            let grouping = Grouping::Offsets(&of[1]);
            read(
                rt,
                &segment_reduce(client, &of[0], grouping, Reduction::Mean)?,
            )
        }),
        Launcher::new("segment_reduce, ids", vec![values(), ids()], |of| {
            let grouping = Grouping::Ids {
                ids: &of[1],
                segments: 2,
            };
            let reduced = segment_reduce_with_args(client, &of[0], grouping, Reduction::Max)?;
            read(rt, &reduced.values)
        }),
        Launcher::new("segment_reduce, sorted", vec![values(), ids()], |of| {
            let grouping = Grouping::SortedIds {
                ids: &of[1],
                segments: 2,
            };
            read(
                rt,
                &segment_reduce(client, &of[0], grouping, Reduction::Prod)?,
            )
        }),
        Launcher::new(
            "segment_reduce_backward",
            vec![
                ("gradient", gradient.clone()),
                values(),
                ("args", args.clone()),
                offsets(),
            ],
            |of| {
                let grouping = Grouping::Offsets(&of[3]);
                let (max, args) = (Reduction::Max, Some(&of[2]));
                read(
                    rt,
                    &segment_reduce_backward(client, &of[0], &of[1], args, grouping, max)?,
                )
            },
        ),
    ];
    let bags = || {
        vec![
            ("table", floats(rt, &[3, 4])),
            ("index", ints(rt, &[2, 0, 1])),
            ("offsets", ints(rt, &[0, 2, 3])),
            ("weights", floats(rt, &[3])),
        ]
    };
    launchers.push(Launcher::new("embedding_bag", bags(), |of| {
        let options = BagOptions {
            weights: Some(&of[3]),
            padding: Some(1),
            bounds: Bounds::Report,
            ..BagOptions::new(Reduction::Sum)
        };
        let bags = embedding_bag(client, &of[0], &of[1], Grouping::Offsets(&of[2]), options)?;
        read(rt, &bags.value().values)
    }));
    for (reduction, kept, determinism) in [
        (Reduction::Max, ("args", args), Determinism::RunToRun),
        (
            Reduction::Mean,
            ("counts", list(&rt.put(&[2u32, 1]))),
            Determinism::Any,
        ),
    ] {
        let mut arguments = bags();
        arguments.extend([("gradient", gradient.clone()), kept]);
        launchers.push(Launcher::new(
            "embedding_bag_backward",
            arguments,
            move |of| {
                let options = BagOptions {
                    weights: Some(&of[3]),
                    ..BagOptions::new(reduction)
                };
                let kept = |is_kept: bool| is_kept.then(|| of[5].clone());
                let bags = Bags {
                    values: floats(rt, &[2, 4]),
                    args: kept(reduction == Reduction::Max),
                    counts: kept(reduction == Reduction::Mean),
                };
                let grouping = Grouping::Offsets(&of[2]);
                let found = embedding_bag_backward(
                    client,
                    &of[4],
                    &of[0],
                    &of[1],
                    grouping,
                    options,
                    &bags,
                    determinism,
                )?;
                read(rt, &found.table.expect("it was asked for"))
            },
        ));
    }
    refuse(launchers)
}

pub(super) fn sparse_steps_refuse_them(rt: &Rt) -> Outcome {
    use girih_kernels::{combine_rows, sparse_step};
    let client = &rt.client;
    refuse(vec![
        Launcher::new(
            "combine_rows",
            vec![
                ("gradient", floats(rt, &[3, 4])),
                ("index", ints(rt, &[2, 0, 2])),
            ],
            |of| {
                read(
                    rt,
                    &combine_rows(client, &of[0], &of[1], 9, None, Bounds::Mask)?.rows,
                )
            },
        ),
        Launcher::new(
            "sparse_step",
            vec![
                ("parameter", floats(rt, &[3, 4])),
                ("state", floats(rt, &[3, 4])),
                ("index", ints(rt, &[2, 0])),
                ("gradient", floats(rt, &[2, 4])),
            ],
            |of| {
                let gradient = SparseRows {
                    index: of[2].clone(),
                    rows: of[3].clone(),
                };
                let step = SparseStep::Adagrad {
                    rate: 0.1,
                    epsilon: 1e-8,
                };
                sparse_step(client, &of[0], &[&of[1]], &gradient, step)?;
                read(rt, &of[0])
            },
        ),
    ])
}

pub(super) fn products_refuse_them(rt: &Rt) -> Outcome {
    use girih_kernels::{
        explain_gather_matmul_scatter, explain_grouped_matmul, explain_matmul, gather_matmul,
        gather_matmul_scatter_into, grouped_inner_matmul, grouped_matmul, grouped_matmul_into,
        matmul, matmul_into,
    };
    let client = &rt.client;
    let options = MatmulOptions::default;
    let (a, b) = (|| ("a", floats(rt, &[3, 4])), || ("b", floats(rt, &[4, 5])));
    let bs = || ("b", floats(rt, &[2, 4, 5]));
    let ends = || ("ends", ints(rt, &[1, 3]));
    let out = || ("the result", floats(rt, &[3, 5]));
    let mut launchers = vec![
        Launcher::new("matmul", vec![a(), b(), ("bias", floats(rt, &[5]))], |of| {
            let options = MatmulOptions {
                bias: Some(&of[2]),
                ..options()
            };
            read(rt, &matmul(client, &of[0], &of[1], &options)?)
        }),
        Launcher::new("matmul_into", vec![a(), b(), out()], |of| {
            matmul_into(client, &of[0], &of[1], &of[2], &options())?;
            read(rt, &of[2])
        }),
        Launcher::new("explain_matmul", vec![a(), b()], |of| {
            explain_matmul(client, &of[0], &of[1], &options()).map(|_| ())
        }),
        Launcher::new("grouped_matmul", vec![a(), bs(), ends()], |of| {
            read(
                rt,
                &grouped_matmul(client, &of[0], &of[1], &of[2], &options())?,
            )
        }),
        Launcher::new("explain_grouped_matmul", vec![a(), bs(), ends()], |of| {
            explain_grouped_matmul(client, &of[0], &of[1], &of[2], &options()).map(|_| ())
        }),
        Launcher::new(
            "grouped_matmul_into",
            vec![a(), bs(), ends(), out()],
            |of| {
                grouped_matmul_into(client, &of[0], &of[1], &of[2], &of[3], &options())?;
                read(rt, &of[3])
            },
        ),
        Launcher::new("grouped_inner_matmul", vec![a(), b(), ends()], |of| {
            read(
                rt,
                &grouped_inner_matmul(client, &of[0], &of[1], &of[2], &options())?,
            )
        }),
        Launcher::new(
            "gather_matmul",
            vec![a(), ("gather", ints(rt, &[2, 0, 1])), bs(), ends()],
            |of| {
                let ends = Some(&of[3]);
                let bounds = Bounds::Report;
                let found =
                    gather_matmul(client, &of[0], &of[1], &of[2], ends, bounds, &options())?;
                read(rt, found.value())
            },
        ),
    ];
    let routed = || {
        vec![
            a(),
            bs(),
            ("target", floats(rt, &[3, 5])),
            ends(),
            ("gather", ints(rt, &[2, 0, 1])),
            ("scatter", ints(rt, &[1, 1, 0])),
            ("weights", floats(rt, &[3])),
        ]
    };
    fn route(of: &[TensorHandle]) -> Route<'_> {
        Route {
            ends: Some(&of[3]),
            gather: Some(&of[4]),
            scatter: Some(&of[5]),
            weights: Some(&of[6]),
        }
    }
    if Device::of(client).adds_atomically(f32::elem_type_native(), 1) {
        launchers.push(Launcher::new(
            "gather_matmul_scatter_into",
            routed(),
            |of| {
                let (bounds, options) = (Bounds::Report, options());
                let (route, [a, b, c]) = (route(of), [&of[0], &of[1], &of[2]]);
                gather_matmul_scatter_into(client, a, b, c, &route, bounds, &options)?.check()?;
                read(rt, &of[2])
            },
        ));
        launchers.push(Launcher::new(
            "explain_gather_matmul_scatter",
            routed(),
            |of| {
                let (bounds, options) = (Bounds::Report, options());
                let (route, [a, b, c]) = (route(of), [&of[0], &of[1], &of[2]]);
                explain_gather_matmul_scatter(client, a, b, c, &route, bounds, &options).map(|_| ())
            },
        ));
    }
    refuse(launchers)
}
