//! Calls on tensors without elements, of every launcher that has no such case beside its others.

use super::model::{handle, list};
use super::segment::model::read;
use cubecl::std::tensor::TensorHandle;
use girih::{Bounds, Error};
use girih_kernels::{
    Duplicates, Grouping, Reduction, ScatterMode, ScatterOptions, ScatterPath, SegmentReduced,
    SparseRows, SparseStep, add_along_axis, gather, gather_into, page_rows, scatter_into,
    segment_reduce_backward, segment_reduce_with_args, sparse_step,
};
use girih_testkit::{Rt, cases, check::same, needs};

cases! {
    of_gathers_in_every_axis,
    of_scatters_by_every_path,
    of_scatters_into_no_places_are_reported,
    of_sums_along_an_axis needs [needs::ADD_F32],
    of_pages,
    of_segments_backwards,
    of_steps,
}

type Outcome = Result<(), String>;

const BOUNDS: [Bounds; 4] = [Bounds::Mask, Bounds::Clamp, Bounds::Wrap, Bounds::Report];

fn text(error: impl ToString) -> String {
    error.to_string()
}

/// Ones of a shape.
fn ones(rt: &Rt, shape: &[usize]) -> TensorHandle {
    handle(&rt.put_tensor(&vec![1f32; shape.iter().product()], shape))
}

fn index(rt: &Rt, values: &[i32]) -> TensorHandle {
    list(&rt.put(values))
}

/// An axis of a tensor without elements, or without indices.
fn of_gathers_in_every_axis(rt: &Rt) -> Outcome {
    let client = &rt.client;
    for (shape, axis) in [
        ([3, 0, 4], 0),
        ([3, 0, 4], 2),
        ([0, 3, 4], 1),
        ([0, 3, 4], 2),
        ([3, 4, 0], 0),
        ([0, 0, 0], 1),
        ([3, 4, 5], 1),
    ] {
        // Without indices nothing is gathered of what has elements either.
        let places = if shape.contains(&0) {
            vec![0, 2]
        } else {
            vec![]
        };
        let (input, index) = (ones(rt, &shape), index(rt, &places));
        let mut want = shape;
        want[axis] = places.len();
        for bounds in [Bounds::Assume].into_iter().chain(BOUNDS) {
            let found = gather(client, &input, &index, axis, bounds).map_err(text)?;
            let found = found.into_inner();
            assert_eq!(found.shape().as_slice(), want);
            assert!(want.contains(&0), "{want:?}");
            let again = gather_into(client, &input, &index, &found, axis, bounds).map_err(text)?;
            drop(again);
        }
    }
    Ok(())
}

/// Every way of a scatter that its mode allows.
fn ways(mode: ScatterMode) -> Vec<(Duplicates, Option<ScatterPath>)> {
    use ScatterPath::{Atomic, Combined, Privatised, Sorted};
    let paths = [
        None,
        Some(Atomic),
        Some(Combined),
        Some(Privatised),
        Some(Sorted),
    ];
    let promises: &[Duplicates] = match mode {
        ScatterMode::Set => &[
            Duplicates::Unordered,
            Duplicates::FirstWins,
            Duplicates::LastWins,
        ],
        _ => &[Duplicates::Unordered, Duplicates::Deterministic],
    };
    let ways = promises
        .iter()
        .flat_map(|&promise| paths.map(|path| (promise, path)));
    ways.collect()
}

const MODES: [ScatterMode; 5] = [
    ScatterMode::Set,
    ScatterMode::Add,
    ScatterMode::Mul,
    ScatterMode::Min,
    ScatterMode::Max,
];

fn of_scatters_by_every_path(rt: &Rt) -> Outcome {
    let client = &rt.client;
    for (shape, places) in [
        ([3, 4], vec![]),
        ([0, 4], vec![]),
        ([0, 4], vec![0, 1]),
        ([3, 0], vec![2, 0]),
        ([0, 0], vec![]),
    ] {
        for mode in MODES {
            for (duplicates, path) in ways(mode) {
                let values = vec![5f32; shape.iter().product()];
                let target = rt.put_tensor(&values, &shape);
                let updates = ones(rt, &[places.len(), shape[1]]);
                for bounds in [Bounds::Mask, Bounds::Clamp, Bounds::Wrap] {
                    let options = ScatterOptions {
                        bounds,
                        duplicates,
                        path,
                    };
                    let index = index(rt, &places);
                    let into = handle(&target);
                    match scatter_into(client, &into, &index, &updates, 0, mode, options) {
                        Ok(done) => done.check().map_err(text)?,
                        // What the device or the mode has not got is refused as it is of more.
                        Err(Error::Device { .. } | Error::Argument { .. }) => {}
                        Err(error) => {
                            return Err(format!("{shape:?}, {mode:?}, {options:?}: {error}"));
                        }
                    }
                }
                same(&rt.read_tensor(&target).map_err(text)?, &values)?;
            }
        }
    }
    Ok(())
}

/// An index has no place in a target without any: the first of them is named.
fn of_scatters_into_no_places_are_reported(rt: &Rt) -> Outcome {
    let (target, updates) = (ones(rt, &[0, 4]), ones(rt, &[2, 4]));
    for mode in [ScatterMode::Set, ScatterMode::Max] {
        let index = index(rt, &[7, 0]);
        let done = scatter_into(
            &rt.client,
            &target,
            &index,
            &updates,
            0,
            mode,
            Bounds::Report,
        );
        match done.map_err(text)?.check() {
            Err(Error::OutOfRange(found)) => assert_eq!((found.position, found.index), (0, 7)),
            other => return Err(format!("{mode:?}: {other:?}")),
        }
    }
    Ok(())
}

fn of_sums_along_an_axis(rt: &Rt) -> Outcome {
    for (table, given) in [
        ([3, 4], [3, 0]),
        ([0, 4], [0, 2]),
        ([3, 0], [3, 2]),
        ([0, 0], [0, 0]),
    ] {
        let values = vec![2f32; table.iter().product()];
        let into = rt.put_tensor(&values, &table);
        let places = rt.put_tensor(&vec![0i32; given.iter().product()], &given);
        let (places, updates) = (handle(&places), ones(rt, &given));
        for bounds in [Bounds::Mask, Bounds::Clamp, Bounds::Wrap] {
            let sums = handle(&into);
            let done = add_along_axis(&rt.client, &sums, &places, &updates, 1, bounds);
            done.map_err(text)?.check().map_err(text)?;
        }
        same(&rt.read_tensor(&into).map_err(text)?, &values)?;
    }
    Ok(())
}

/// Rows of no sequences, of sequences without rows, and of pages that are not there.
fn of_pages(rt: &Rt) -> Outcome {
    for (pages, table, offsets, want) in [
        ([4, 2], [0, 3], vec![0], vec![]),
        ([4, 2], [2, 1], vec![0, 0, 0], vec![]),
        ([4, 2], [0, 0], vec![0], vec![-1, -1]),
        ([0, 2], [1, 1], vec![0, 2], vec![-1, -1]),
    ] {
        let entries = rt.put_tensor(&vec![0i32; table.iter().product()], &table);
        let (entries, offsets) = (handle(&entries), index(rt, &offsets));
        let rows = want.len();
        let found = page_rows(&rt.client, pages, &entries, &offsets, rows, Bounds::Mask);
        let found = found.map_err(text)?.into_inner();
        same(&read::<i32>(rt, &found)?, &want)?;
    }
    Ok(())
}

fn of_segments_backwards(rt: &Rt) -> Outcome {
    let client = &rt.client;
    for (rows, columns, offsets) in [(0, 3, vec![0, 0]), (4, 0, vec![0, 4]), (0, 0, vec![0])] {
        let (values, by) = (ones(rt, &[rows, columns]), index(rt, &offsets));
        let segments = offsets.len() - 1;
        for reduction in [Reduction::Sum, Reduction::Mean, Reduction::Max] {
            let by = Grouping::Offsets(&by);
            let reduced = segment_reduce_with_args(client, &values, by, reduction).map_err(text)?;
            let slopes = ones(rt, &[segments, columns]);
            let SegmentReduced { args, .. } = reduced;
            let args = args.as_ref();
            let back = segment_reduce_backward(client, &slopes, &values, args, by, reduction);
            assert_eq!(back.map_err(text)?.shape().as_slice(), [rows, columns]);
        }
    }
    Ok(())
}

fn of_steps(rt: &Rt) -> Outcome {
    let (rate, epsilon) = (0.5, 1e-5);
    let steps = [
        SparseStep::Sgd { rate },
        SparseStep::Adagrad { rate, epsilon },
    ];
    for step in steps {
        for (shape, places) in [([3, 4], vec![]), ([0, 4], vec![-1]), ([3, 0], vec![0, 2])] {
            let values = vec![2f32; shape.iter().product()];
            let parameter = rt.put_tensor(&values, &shape);
            let state = ones(rt, &shape);
            let states = vec![&state; step.states()];
            let gradient = SparseRows {
                index: index(rt, &places),
                rows: ones(rt, &[places.len(), shape[1]]),
            };
            sparse_step(&rt.client, &handle(&parameter), &states, &gradient, step).map_err(text)?;
            same(&rt.read_tensor(&parameter).map_err(text)?, &values)?;
        }
    }
    Ok(())
}
