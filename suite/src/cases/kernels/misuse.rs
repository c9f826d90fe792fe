//! Tensors that no memory has, as every argument of every launcher: an error each that names the argument, no panic, and the next
//! call works.

use super::model::{handle, list};
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::{Bounds, Error, Result, device::Device};
use girih_kernels::{
    BagOptions, Bags, CompactOptions, Determinism, Duplicates, Grouping, MatmulOptions, Predicate,
    Reduction, Route, ScanOperation, ScanOperator, ScanOptions, ScatterMode, Segments, Side,
    SortOptions, SortOrder, SparseRows, SparseStep, UniqueOptions,
};
use girih_testkit::{Rt, cases};
use std::panic::{AssertUnwindSafe, catch_unwind};

cases! {
    gathers_refuse_them,
    scatters_refuse_them,
    sorts_refuse_them,
    scans_refuse_them,
    compactions_refuse_them,
    segments_refuse_them,
    sparse_steps_refuse_them,
    products_refuse_them,
}

/// A launcher with arguments that it takes.
struct Launcher<'a> {
    name: &'static str,
    arguments: Vec<(&'static str, TensorHandle)>,
    call: Box<dyn Fn(&[TensorHandle]) -> Result<()> + 'a>,
}

impl<'a> Launcher<'a> {
    fn new(
        name: &'static str,
        arguments: Vec<(&'static str, TensorHandle)>,
        call: impl Fn(&[TensorHandle]) -> Result<()> + 'a,
    ) -> Self {
        Self {
            name,
            arguments,
            call: Box::new(call),
        }
    }
}

/// Makes a tensor one that no memory has.
type Ruin = fn(&mut TensorHandle);

const COUNTLESS: &str = "more elements than can be counted";

const RUINS: [(&str, Ruin); 8] = [
    ("a stride too few", |tensor| {
        let strides: Vec<usize> = tensor.strides().iter().skip(1).copied().collect();
        tensor.metadata.strides = strides.as_slice().into();
    }),
    ("a stride past the buffer", |tensor| step(tensor, 1 << 20)),
    ("a stride past all integers", |tensor| {
        step(tensor, usize::MAX / 2 + 1);
    }),
    ("a start past the buffer", |tensor| {
        tensor.handle = tensor.handle.clone().offset_start(1 << 20);
    }),
    ("memory of another device", |tensor| {
        tensor.handle.service.device.index_id += 1;
    }),
    ("elements without a size", |tensor| {
        tensor.dtype = ElemType::Index;
    }),
    ("elements that are no numbers", |tensor| {
        tensor.dtype = ElemType::Bool;
    }),
    (COUNTLESS, |tensor| {
        let rank = tensor.shape().len();
        tensor.metadata.shape = vec![1usize << 40; rank.max(2)].into();
        tensor.metadata.strides = vec![0usize; rank.max(2)].as_slice().into();
    }),
];

/// Sets the first axis's stride.
fn step(tensor: &mut TensorHandle, stride: usize) {
    let mut strides: Vec<usize> = tensor.strides().iter().copied().collect();
    strides[0] = stride;
    tensor.metadata.strides = strides.as_slice().into();
}

/// Shapes that a launcher may take or refuse.
const SHAPES: [Ruin; 4] = [
    |tensor| reshape(tensor, &[]),
    |tensor| {
        let mut shape: Vec<usize> = tensor.shape().iter().copied().collect();
        shape[0] = 0;
        reshape(tensor, &shape);
    },
    |tensor| {
        let mut shape: Vec<usize> = tensor.shape().iter().copied().collect();
        shape.insert(0, 1);
        reshape(tensor, &shape);
    },
    |tensor| {
        let shape: Vec<usize> = tensor.shape().iter().map(|_| 0).collect();
        reshape(tensor, &shape);
    },
];

fn reshape(tensor: &mut TensorHandle, shape: &[usize]) {
    *tensor = TensorHandle::new_contiguous(shape.to_vec(), tensor.handle.clone(), tensor.dtype);
}

/// Gives each launcher each ruin of each argument.
fn refuse(launchers: Vec<Launcher<'_>>) -> std::result::Result<(), String> {
    let mut faults = vec![];
    for Launcher {
        name,
        arguments,
        call,
    } in &launchers
    {
        let tensors: Vec<TensorHandle> = arguments.iter().map(|(_, of)| of.clone()).collect();
        let attempt = |tensors: &[TensorHandle]| {
            catch_unwind(AssertUnwindSafe(|| call(tensors)))
                .map_err(|panic| format!("panics: {}", message(&*panic)))
        };
        let mut is_taken = |when: &str| match attempt(&tensors) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => faults.push(format!("{name} {when}: {error}")),
            Err(panic) => faults.push(format!("{name} {when} {panic}")),
        };
        is_taken("before");
        for (at, (argument, _)) in arguments.iter().enumerate() {
            for (what, ruin) in RUINS {
                let mut ruined = tensors.clone();
                ruin(&mut ruined[at]);
                let fault = match attempt(&ruined) {
                    Ok(Ok(())) => "accepts it".into(),
                    Ok(Err(Error::Server(error))) => format!("launches: {error}"),
                    // A type is refused for what the device lacks, whoever has it.
                    Ok(Err(Error::Device { .. })) => continue,
                    // So large a tensor may be refused for what another of the arguments is not.
                    Ok(Err(_)) if what == COUNTLESS => continue,
                    Ok(Err(error)) if error.to_string().contains(argument) => continue,
                    Ok(Err(error)) => format!("does not name it: {error}"),
                    Err(panic) => panic,
                };
                faults.push(format!("{name}, {argument} of {what}: {fault}"));
            }
            for (number, reshaped) in SHAPES.into_iter().enumerate() {
                let mut ruined = tensors.clone();
                reshaped(&mut ruined[at]);
                let shape = ruined[at].shape().clone();
                if let Err(panic) = attempt(&ruined) {
                    faults.push(format!(
                        "{name}, {argument} of shape {shape:?} ({number}): {panic}"
                    ));
                }
            }
        }
        let mut is_taken = |when: &str| match attempt(&tensors) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => faults.push(format!("{name} {when}: {error}")),
            Err(panic) => faults.push(format!("{name} {when} {panic}")),
        };
        is_taken("after");
    }
    assert!(!launchers.is_empty());
    match faults.is_empty() {
        true => Ok(()),
        false => Err(faults.join("\n")),
    }
}

fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "with no text".into())
}

/// What is read last of a device: an error there is a kernel's.
fn read(rt: &Rt, tensor: &TensorHandle) -> Result<()> {
    rt.client.read_one(tensor.handle.clone())?;
    Ok(())
}

fn floats(rt: &Rt, shape: &[usize]) -> TensorHandle {
    let count: usize = shape.iter().product();
    let values: Vec<f32> = (0..count).map(|at| at as f32).collect();
    handle(&rt.put_tensor(&values, shape))
}

fn ints(rt: &Rt, values: &[i32]) -> TensorHandle {
    list(&rt.put(values))
}

fn int_rows(rt: &Rt, values: &[i32], shape: &[usize]) -> TensorHandle {
    handle(&rt.put_tensor(values, shape))
}

const I32: fn() -> ElemType = i32::elem_type_native;
const U32: fn() -> ElemType = u32::elem_type_native;

fn gathers_refuse_them(rt: &Rt) -> std::result::Result<(), String> {
    use girih_kernels::{
        explain_gather, explain_paged_gather, explain_take_along_axis, gather, gather_backward,
        gather_into, page_rows, paged_gather, take_along_axis, take_along_axis_into,
    };
    let client = &rt.client;
    let (table, rows) = (floats(rt, &[3, 4]), floats(rt, &[2, 4]));
    let index = ints(rt, &[2, 0]);
    let along = int_rows(rt, &[2, 0, 1, 1, 0, 2], &[3, 2]);
    let taken = floats(rt, &[3, 2]);
    let pages = || {
        vec![
            ("pages", floats(rt, &[3, 2, 4])),
            ("table", int_rows(rt, &[2, 0, 1, 1], &[2, 2])),
            ("offsets", ints(rt, &[0, 3, 4])),
        ]
    };
    let both = |second| vec![("input", table.clone()), ("index", second)];
    let mut launchers = vec![
        Launcher::new("gather", both(index.clone()), |of| {
            read(
                rt,
                gather(client, &of[0], &of[1], 0, Bounds::Report)?.value(),
            )
        }),
        Launcher::new(
            "gather_into",
            vec![
                ("input", table.clone()),
                ("index", index.clone()),
                ("output", rows.clone()),
            ],
            |of| {
                gather_into(client, &of[0], &of[1], &of[2], 0, Bounds::Wrap)?.check()?;
                read(rt, &of[2])
            },
        ),
        Launcher::new("explain_gather", both(index.clone()), |of| {
            explain_gather(client, &of[0], &of[1], 0).map(|_| ())
        }),
        Launcher::new(
            "take_along_axis",
            vec![
                ("table", table.clone()),
                ("index", int_rows(rt, &[1; 6], &[3, 2])),
            ],
            |of| {
                read(
                    rt,
                    take_along_axis(client, &of[0], &of[1], 1, Bounds::Report)?.value(),
                )
            },
        ),
        Launcher::new(
            "take_along_axis_into",
            vec![
                ("table", table.clone()),
                ("index", along.clone()),
                ("output", taken.clone()),
            ],
            |of| {
                take_along_axis_into(client, &of[0], &of[1], &of[2], 1, Bounds::Clamp)?.check()?;
                read(rt, &of[2])
            },
        ),
        Launcher::new(
            "explain_take_along_axis",
            vec![("table", table.clone()), ("index", along.clone())],
            |of| explain_take_along_axis(client, &of[0], &of[1], 1).map(|_| ()),
        ),
        Launcher::new("paged_gather", pages(), |of| {
            let rows = paged_gather(client, &of[0], &of[1], &of[2], 5, Bounds::Report)?;
            read(rt, rows.value())
        }),
        Launcher::new("explain_paged_gather", pages(), |of| {
            explain_paged_gather(client, &of[0], &of[1], &of[2], 5).map(|_| ())
        }),
        Launcher::new("page_rows", pages().split_off(1), |of| {
            read(
                rt,
                page_rows(client, [3, 2], &of[0], &of[1], 5, Bounds::Mask)?.value(),
            )
        }),
    ];
    for determinism in [Determinism::Any, Determinism::RunToRun] {
        launchers.push(Launcher::new(
            "gather_backward",
            vec![("gradient", rows.clone()), ("index", index.clone())],
            move |of| {
                let bounds = Bounds::Mask;
                let sums = gather_backward(client, &of[0], &of[1], 0, 3, bounds, determinism)?;
                read(rt, &sums)
            },
        ));
    }
    refuse(launchers)
}

fn scatters_refuse_them(rt: &Rt) -> std::result::Result<(), String> {
    use girih_kernels::{
        ScatterOptions, add_along_axis, explain_scatter, scatter_into, supports_add_along_axis,
    };
    let client = &rt.client;
    let all = || {
        vec![
            ("target", floats(rt, &[3, 4])),
            ("index", ints(rt, &[2, 0])),
            ("updates", floats(rt, &[2, 4])),
        ]
    };
    let mut launchers = vec![Launcher::new("explain_scatter", all(), |of| {
        let mode = ScatterMode::Add;
        explain_scatter(client, &of[0], &of[1], &of[2], 0, mode, Bounds::Mask).map(|_| ())
    })];
    for (mode, duplicates) in [
        (ScatterMode::Set, Duplicates::Unordered),
        (ScatterMode::Set, Duplicates::FirstWins),
        (ScatterMode::Add, Duplicates::Unordered),
        (ScatterMode::Mul, Duplicates::Deterministic),
    ] {
        launchers.push(Launcher::new("scatter_into", all(), move |of| {
            let options = ScatterOptions {
                bounds: Bounds::Report,
                ..duplicates.into()
            };
            scatter_into(client, &of[0], &of[1], &of[2], 0, mode, options)?.check()?;
            read(rt, &of[0])
        }));
    }
    if supports_add_along_axis(client, f32::elem_type_native(), I32()).is_ok() {
        launchers.push(Launcher::new(
            "add_along_axis",
            vec![
                ("table", floats(rt, &[3, 4])),
                ("index", int_rows(rt, &[1, 0, 2, 3, 1, 1], &[3, 2])),
                ("updates", floats(rt, &[3, 2])),
            ],
            |of| {
                add_along_axis(client, &of[0], &of[1], &of[2], 1, Bounds::Report)?.check()?;
                read(rt, &of[0])
            },
        ));
    }
    refuse(launchers)
}

/// An order of the tests' own.
struct Descending;

#[cube]
impl SortOrder for Descending {
    fn is_before<A: Numeric>(first: A, second: A) -> bool {
        second < first
    }
}

fn sorts_refuse_them(rt: &Rt) -> std::result::Result<(), String> {
    use girih_kernels::{
        argsort, argsort_by, bincount, bins_of, histogram, search_sorted, sort, sort_by,
        sort_pairs, sort_pairs_by, sort_with_indices, top_k, unique,
    };
    let client = &rt.client;
    let options = SortOptions::default;
    let keys = || vec![("keys", floats(rt, &[3, 4]))];
    let pairs = || {
        let mut pairs = keys();
        pairs.push(("payload", floats(rt, &[3, 4])));
        pairs
    };
    let values = || vec![("values", int_rows(rt, &[0, 1, 2, 9, -1, 1], &[3, 2]))];
    let mut launchers = vec![
        Launcher::new("sort", keys(), |of| {
            read(rt, &sort(client, &of[0], 0, &options())?)
        }),
        Launcher::new("sort_pairs", pairs(), |of| {
            read(rt, &sort_pairs(client, &of[0], &of[1], 0, &options())?.1)
        }),
        Launcher::new("argsort", keys(), |of| {
            read(rt, &argsort(client, &of[0], 0, U32(), &options())?)
        }),
        Launcher::new("sort_with_indices", keys(), |of| {
            read(
                rt,
                &sort_with_indices(client, &of[0], 0, I32(), &options())?.1,
            )
        }),
        Launcher::new("sort_by", keys(), |of| {
            read(rt, &sort_by::<Descending>(client, &of[0], 0)?)
        }),
        Launcher::new("sort_pairs_by", pairs(), |of| {
            read(
                rt,
                &sort_pairs_by::<Descending>(client, &of[0], &of[1], 0)?.1,
            )
        }),
        Launcher::new("argsort_by", keys(), |of| {
            read(rt, &argsort_by::<Descending>(client, &of[0], 0, U32())?)
        }),
        Launcher::new("top_k", keys(), |of| {
            read(rt, &top_k(client, &of[0], 0, 2, true, U32())?.1)
        }),
        Launcher::new(
            "search_sorted",
            vec![
                ("sorted", floats(rt, &[3, 4])),
                ("values", floats(rt, &[3, 2])),
            ],
            |of| {
                read(
                    rt,
                    &search_sorted(client, &of[0], &of[1], Side::Left, U32())?,
                )
            },
        ),
        Launcher::new("bincount", values(), |of| {
            read(rt, &bincount(client, &of[0], None, 3)?)
        }),
        Launcher::new("histogram", values(), |of| {
            read(rt, &histogram(client, &of[0], None, 3, [0.0, 1.0])?)
        }),
        Launcher::new("bins_of", values(), |of| {
            read(rt, &bins_of(client, &of[0], 3, None)?)
        }),
        Launcher::new("unique", vec![("input", floats(rt, &[3, 4]))], |of| {
            let options = UniqueOptions {
                counts: true,
                inverse: true,
                ..UniqueOptions::default()
            };
            unique(client, &of[0], options)?
                .values
                .read(client)
                .map(|_| ())
        }),
    ];
    if Device::of(client).adds_atomically(f32::elem_type_native(), 1) {
        let mut weighted = values();
        weighted.push(("weights", floats(rt, &[3, 2])));
        launchers.push(Launcher::new("bincount", weighted, |of| {
            read(rt, &bincount(client, &of[0], Some(&of[1]), 3)?)
        }));
    }
    refuse(launchers)
}

/// An operation of the tests' own.
struct Last;

#[cube]
impl ScanOperator for Last {
    fn identity<A: Numeric>() -> A {
        A::from_int(0)
    }

    fn combine<A: Numeric>(_first: A, second: A) -> A {
        second
    }
}

fn scans_refuse_them(rt: &Rt) -> std::result::Result<(), String> {
    use girih_kernels::{scan, scan_into, scan_with};
    let client = &rt.client;
    let input = || ("input", floats(rt, &[3, 4]));
    let into = || vec![input(), ("output", floats(rt, &[3, 4]))];
    let flags = int_rows(rt, &[1, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 0], &[3, 4]);
    refuse(vec![
        Launcher::new("scan", vec![input()], |of| {
            read(
                rt,
                &scan(
                    client,
                    &of[0],
                    0,
                    ScanOperation::Sum,
                    ScanOptions::exclusive(),
                )?,
            )
        }),
        Launcher::new("scan, flags", vec![input(), ("flags", flags)], |of| {
            let options = ScanOptions::inclusive().segments(Segments::Flags(&of[1]));
            read(rt, &scan(client, &of[0], 1, ScanOperation::Max, options)?)
        }),
        Launcher::new(
            "scan, offsets",
            vec![input(), ("offsets", ints(rt, &[0, 2]))],
            |of| {
                let options = ScanOptions::inclusive().segments(Segments::Offsets(&of[1]));
                read(
                    rt,
                    &scan(client, &of[0], 1, ScanOperation::Product, options)?,
                )
            },
        ),
        Launcher::new("scan_into", into(), |of| {
            let (operation, options) = (ScanOperation::Min, ScanOptions::inclusive());
            scan_into(client, &of[0], &of[1], 1, operation, options)?;
            read(rt, &of[1])
        }),
        Launcher::new("scan_with", into(), |of| {
            scan_with::<Last>(client, &of[0], &of[1], 0, ScanOptions::exclusive())?;
            read(rt, &of[1])
        }),
    ])
}

/// A predicate of the tests' own.
struct AboveTwo;

#[cube]
impl Predicate for AboveTwo {
    fn holds<E: Numeric>(value: E) -> bool {
        value > E::from_int(2)
    }
}

fn compactions_refuse_them(rt: &Rt) -> std::result::Result<(), String> {
    use girih_kernels::{nonzero, partition, run_length, select, select_by, unique_consecutive};
    let client = &rt.client;
    let options = CompactOptions::default();
    let input = || vec![("input", floats(rt, &[3, 2]))];
    let masked = || {
        let mut masked = input();
        masked.push(("mask", int_rows(rt, &[1, 0, 0, 1, 1, 0], &[3, 2])));
        masked
    };
    refuse(vec![
        Launcher::new("select", masked(), |of| {
            select(client, &of[0], &of[1], options)?
                .count(client)
                .map(|_| ())
        }),
        Launcher::new("partition", masked(), |of| {
            partition(client, &of[0], &of[1], options)?
                .rejected
                .count(client)
                .map(|_| ())
        }),
        Launcher::new("select_by", input(), |of| {
            select_by::<AboveTwo>(client, &of[0], options)?
                .count(client)
                .map(|_| ())
        }),
        Launcher::new("nonzero", input(), |of| {
            nonzero(client, &of[0], options)?.count(client).map(|_| ())
        }),
        Launcher::new("unique_consecutive", input(), |of| {
            unique_consecutive(client, &of[0], options)?
                .values
                .count(client)
                .map(|_| ())
        }),
        Launcher::new("run_length", input(), |of| {
            run_length(client, &of[0], options)?
                .lengths
                .count(client)
                .map(|_| ())
        }),
    ])
}

fn segments_refuse_them(rt: &Rt) -> std::result::Result<(), String> {
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
                read(rt, &found.table)
            },
        ));
    }
    refuse(launchers)
}

fn sparse_steps_refuse_them(rt: &Rt) -> std::result::Result<(), String> {
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

fn products_refuse_them(rt: &Rt) -> std::result::Result<(), String> {
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
